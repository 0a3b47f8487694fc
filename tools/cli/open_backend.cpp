#include <cstdlib>
#include <set>

#include "runtime/files/facts_file.h"
#include "runtime/host/machine.h"
#include "runtime/split/split_backend.h"
#include "tools/cli/busy_watch.h"
#include "tools/cli/common_flags.h"
#include "tools/cli/memory_limits.h"
#include "tools/cli/output.h"
#include "tools/cli/tune.h"

namespace vkformer {

bool widen_vectors(const DeviceFacts& facts) {
  if (!facts.wider_vectors_pay || std::getenv("LP_NATIVE_VECTOR_WIDTH")) return false;
  return host::set_variable("LP_NATIVE_VECTOR_WIDTH", "512");
}

std::unique_ptr<Backend> open_device(const std::string& device, BackendOptions options) {
  // What the first opening says holds for the second.
  options.note = [said = std::make_shared<std::set<std::string>>()](const std::string& line) {
    if (said->insert(line).second) say("{}", line);
  };
  auto backend = make_backend(device, options);
  if (widen_vectors(backend->facts())) {
    backend.reset();  // the driver reads the width when it is loaded, and only once loaded does it tell its version
    backend = make_backend(device, options);
  }
  return backend;
}

std::unique_ptr<Backend> open_backend(const CommonFlags& flags, BackendOptions options, bool tuning_written) {
  if (!flags.facts.empty()) options.limits = load_facts(flags.facts);
  options.memory = memory_limits(flags.device_memory, flags.host_memory);
  options.segment_seconds = flags.segment_seconds;
  options.shares = flags.shares;
  if (!flags.shares.empty() && devices_of(flags.device).size() == 1)
    throw UsageError("--tensor-split shares a model between several devices, as --device 0,1 names them");
  if (!flags.profile.empty()) options.profile = options.profile_details = true;
  if (!flags.quiet) options.note_layers = [](const std::string& line) { say("{}", line); };
  auto backend = open_device(flags.device, std::move(options));
  if (!flags.quiet) {
    say("{}", backend->describe());
    if (flags.watch_compiling) static const BusyWatch watch(compiled_kernels());  // to the end of the command
  }
  use_tuning(*backend, flags, tuning_written || flags.tune);
  return backend;
}

}  // namespace vkformer
