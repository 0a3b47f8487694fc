// What runs and commands of vkformer's own leave to later ones, and what comes from other machines.

#include <nlohmann/json.hpp>

#include "models/adapters/adapter_files.h"
#include "models/families/registry.h"
#include "runtime/device_facts.h"
#include "runtime/files/facts_file.h"
#include "runtime/files/json_file.h"
#include "runtime/tuning.h"
#include "tests/fuzz/readers.h"
#include "tools/cli/train_state.h"

namespace fuzz {

namespace {

using namespace vkformer;

void read_state(std::string_view data) {
  TrainFlags flags;
  load_state(written("checkpoint-000002/state.json", data).parent_path(), flags);
  settings_of(flags);
}

/// The config of an adapter; then, behind a line feed, the length of its tensors' header and the header.
void read_adapter(std::string_view data) {
  const size_t end = std::min(data.find('\n'), data.size());
  const std::string_view header = data.substr(std::min(end + 1, data.size()));
  const uint64_t length = header.size();
  written("adapter/adapter_config.json", data.substr(0, end));
  written(
      "adapter/adapter_model.safetensors",
      std::string(reinterpret_cast<const char*>(&length), sizeof length).append(header).append(std::string(512, 0)));
  Model model = make_model(JsonObject::parse(
      R"({"model_type": "gpt2", "vocab_size": 9, "n_positions": 4, "n_embd": 4, "n_layer": 1, "n_head": 1})",
      "config.json"));
  AdapterFiles(folder() / "adapter").adapt(model);
}

void read_facts(std::string_view data) { load_facts(written("facts.json", data)); }

void read_tuning(std::string_view data) {
  std::string ignored;
  Tuning::load(written("tuning.json", data), DeviceFacts(), ignored);
  require(ignored.find('\n') == ignored.npos);
}

void read_report(std::string_view data) {
  const std::string file = written("report.json", data);
  compare_reports(file, file);
}

void read_profile(std::string_view data) {
  const std::string file = written("profile.json", data);
  compare_profiles({.compared = {file, file}});
}

constexpr Reader readers[] = {{"state", read_state},   {"adapter", read_adapter}, {"facts", read_facts},
                              {"tuning", read_tuning}, {"report", read_report},   {"profile", read_profile}};

}  // namespace

const std::span<const Reader> readers_of_runs = readers;

}  // namespace fuzz
