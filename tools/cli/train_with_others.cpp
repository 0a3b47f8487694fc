// `vkformer train` in several processes.

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "models/parameters.h"
#include "runtime/host/machine.h"
#include "tools/cli/content_print.h"
#include "tools/cli/end_signals.h"
#include "tools/cli/output.h"
#include "tools/cli/prepared_training.h"
#include "tools/cli/processes.h"
#include "tools/cli/shared_training.h"

namespace vkformer {

namespace {

/// What all processes must have in common, by what it is called.
std::vector<std::pair<const char*, std::string>> in_common(PreparedTraining& training) {
  std::string files, blocks, weights;
  for (const RunFile& file : training.state.files) files += fmt::format("{} {}\n", file.role, file.print);
  for (size_t i = 0; i < training.trainer->plan().trained_blocks(); ++i) {
    const std::vector<float> values = training.trainer->store().read(block_name("parameters", i));
    blocks += fmt::format("{} ", values.size());
    weights += content_print({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)}) + '\n';
  }
  return {{"another version of vkformer", VKFORMER_VERSION},
          {"other settings", settings_of(training.flags).dump()},
          {"another iteration to begin at", std::to_string(training.state.iteration)},
          {"other files", files},
          {"another model for the adapter", training.state.base_print},
          {"other limits of what its device may allocate", blocks},
          {"other weights to begin with", weights}};
}

void check_in_common(PreparedTraining& training, ProcessGroup& group) {
  std::vector<std::pair<const char*, std::string>> facts;
  group.together([&] { facts = in_common(training); });
  for (const auto& [difference, own] : facts) {
    const std::vector<std::string> all = group.gather(own);
    for (size_t i = 1; i < all.size(); ++i)
      check(all[i] == all[0], "process {} has {} than process 0; all need the same command, files and folders", i,
            difference);
  }
}

void print_processes(const std::vector<std::string>& hosts, const std::vector<std::string>& devices) {
  const auto alike = [](const auto& texts) { return std::ranges::count(texts, texts[0]) == std::ssize(texts); };
  if (alike(hosts) && alike(devices)) return print("{} processes, each on {}\n", devices.size(), devices[0]);
  for (size_t i = 0; i < devices.size(); ++i) print("process {} on {}, {}\n", i, hosts[i], devices[i]);
}

void help(PreparedTraining& training) {
  ignore_end_signals();  // launchers signal all; it is process 0 that ends the run
  try {
    begin(training);
    follow(training.job, *training.backend, *training.trainer);
  } catch (const std::exception& error) {
    // Where the others wait for this one there is no way on, and launchers end all when one goes without a word to MPI.
    mute(false);
    say("vkformer: process {}: {}", training.trainer->group().rank(), error.what());
    std::_Exit(1);
  }
}

void train_in_group(ProcessLink& link, TrainFlags flags) {
  ProcessGroup group(link);
  PreparedTraining training{.flags = std::move(flags)};
  CommonFlags& common = training.flags.common;
  if (!group.leads()) common.quiet = true;
  const std::vector<std::string> hosts = group.gather(host::machine_name());
  group.together([&] {
    common.device = device_of_process(common.device, hosts, group.rank());
    prepare(training, group);
  });
  if (!training.trainer) return;
  check_in_common(training, group);
  const std::vector<std::string> devices = group.gather(training.backend->describe());
  if (!group.leads()) return help(training);
  const Lead lead(group);
  if (!common.quiet && !common.json && group.size() > 1) print_processes(hosts, devices);
  run(training);
}

}  // namespace

void train_with_others(ProcessLink& link, TrainFlags flags) {
  mute(link.rank() != 0);
  try {
    train_in_group(link, std::move(flags));
  } catch (const std::exception&) {
    // Process 0 has heard of it, too, and says so. Others fail in silence: launchers end all for one that fails, and
    // process 0 may not have come to its words.
    if (link.rank() == 0) throw;
  }
}

}  // namespace vkformer
