#include "models/model_folder.h"

#include <algorithm>

#include "models/adapters/adapter_files.h"
#include "models/families/registry.h"
#include "models/hub/gguf_names.h"
#include "models/hub/hub_cache.h"
#include "models/model_files.h"
#include "models/stored_weights.h"
#include "models/weights.h"
#include "runtime/check.h"
#include "runtime/files/checkpoint.h"

namespace vkformer {

namespace {

std::optional<HubName> hub_name(const std::filesystem::path& given) { return parse_hub_name(given.generic_string()); }

/// Of a snapshot of the hub, whose files may lie in folders: the one that is meant, its first shard.
std::filesystem::path gguf_in_snapshot(const std::filesystem::path& snapshot, const HubName& name) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(snapshot))
    if (is_gguf(entry.path())) names.push_back(entry.path().lexically_relative(snapshot).generic_string());
  check(!names.empty(), "nothing of {} was downloaded but files beside a model's; download it again", name.model());
  try {
    return snapshot / meant_gguf(names, name.quant).front();
  } catch (const Error& error) {
    fail("{}, downloaded: {}", name.model(), error.what());
  }
}

/// The model's folder or GGUF file; nothing when it was not downloaded.
std::optional<std::filesystem::path> downloaded(const HubName& name) {
  const auto snapshot = hub_snapshot(hub_folder(name));
  if (!snapshot) return std::nullopt;
  if (name.quant.empty() && std::filesystem::exists(*snapshot / "config.json")) return snapshot;
  return gguf_in_snapshot(*snapshot, name);
}

/// GGUF files of a folder, a sharded one's first shard: of eyes, or all others.
std::vector<std::filesystem::path> gguf_files(const std::filesystem::path& folder, bool eyes) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().generic_string();
    if (is_gguf(entry.path()) && !is_later_shard(name) && is_mmproj_name(name) == eyes) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

/// The GGUF file of a folder that has only one.
std::optional<std::filesystem::path> only_gguf(const std::filesystem::path& folder) {
  const std::vector<std::filesystem::path> files = gguf_files(folder, false);
  if (files.empty()) return std::nullopt;
  check(files.size() <= 1, "'{}' holds {} GGUF files; name one, like {}", folder.generic_string(), files.size(),
        files.front().generic_string());
  return files.front();
}

}  // namespace

std::filesystem::path resolve_model_folder(const std::filesystem::path& as_given) {
  if (std::filesystem::is_regular_file(as_given) && is_gguf(as_given)) return as_given;
  const auto given = as_given.has_filename() ? as_given : as_given.parent_path();  // FOLDER/ is FOLDER, by its name too
  if (!std::filesystem::exists(given)) {
    const auto name = hub_name(given);
    if (const auto model = name ? downloaded(*name) : std::nullopt) return *model;
    fail("there is no '{}'; give a model folder, a run folder or a .gguf file{}", given.generic_string(),
         name && !std::filesystem::exists(given.parent_path())
             ? fmt::format(", or get it first: vkformer download {}", given.generic_string())
             : "");
  }
  check(std::filesystem::is_directory(given), "'{}' is not a folder; give a model folder, a run folder or a .gguf file",
        given.generic_string());
  if (std::filesystem::exists(given / "config.json")) return given;
  if (const auto snapshot = hub_snapshot(given)) return resolve_model_folder(*snapshot);
  if (const auto file = only_gguf(given)) return *file;
  const auto latest = latest_checkpoint(given);
  const std::filesystem::path& folder = latest.value_or(given);
  check(
      !is_adapter_folder(folder),
      "'{}' holds an adapter and no model; give its model, and this folder by --adapter, or merge them first (vkformer "
      "convert MODEL NEW --merge)",
      given.generic_string());
  check(latest.has_value(), "'{}' has neither a config.json nor a checkpoint of a run", given.generic_string());
  return *latest;
}

std::filesystem::path resolve_mmproj(const std::string& asked, const std::filesystem::path& given,
                                     const std::filesystem::path& model) {
  if (!asked.empty() || !is_gguf(model) || std::filesystem::is_regular_file(given)) return asked;
  const auto name = std::filesystem::exists(given) ? std::nullopt : hub_name(given);
  const std::vector<std::filesystem::path> files =
      gguf_files(name ? *hub_snapshot(hub_folder(*name)) : model.parent_path(), true);
  return files.size() == 1 ? files.front() : std::filesystem::path();
}

std::filesystem::path resolve_adapter_folder(const std::filesystem::path& as_given) {
  const auto given = as_given.has_filename() ? as_given : as_given.parent_path();  // whose name counts, as above
  if (const auto name = std::filesystem::exists(given) ? std::nullopt : hub_name(given))
    return hub_snapshot(hub_folder(*name)).value_or(given);
  return is_adapter_folder(given) ? given : latest_checkpoint(given).value_or(given);
}

std::filesystem::path resolve_tokenizer_folder(const std::filesystem::path& given) {
  if (!std::filesystem::exists(given) && hub_name(given)) return resolve_model_folder(given);
  check(std::filesystem::exists(given),
        "there is no '{}'; give a folder with a tokenizer: a model, a run, or what tokens wrote",
        given.generic_string());
  if (is_gguf(given) || has_model_json(given, tokenizer_file)) return given;
  const auto holds = [&](const char* file) { return std::filesystem::exists(given / file); };
  return holds("latest") || holds("refs") ? resolve_model_folder(given) : given;
}

void store_weights_as(Model& model, const std::filesystem::path& files, const std::string& dtype) {
  if (dtype.empty() && stays_as_filed(files)) {
    store_weights_as(model, Weights(model.parameters, files));
  } else if (const DType type = dtype.empty() ? DType::f32 : weight_type(dtype); type != DType::f32) {
    store_weights_as(model, type);
  }
}

}  // namespace vkformer
