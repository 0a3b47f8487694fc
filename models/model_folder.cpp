#include "models/model_folder.h"

#include <algorithm>
#include <cstdlib>

#include "models/adapters/adapter_files.h"
#include "models/families/registry.h"
#include "models/model_files.h"
#include "models/stored_weights.h"
#include "models/weights.h"
#include "runtime/check.h"
#include "runtime/files/checkpoint.h"
#include "runtime/files/mapped_file.h"

namespace vkformer {

namespace {

/// What a folder of Hugging Face's cache (models--OWNER--NAME) holds: the snapshot that its main branch is at.
std::optional<std::filesystem::path> cached_snapshot(const std::filesystem::path& folder) {
  const auto branch = folder / "refs" / "main";
  if (!std::filesystem::is_regular_file(branch)) return std::nullopt;
  std::string commit(MappedFile(branch).text());
  while (!commit.empty() && std::isspace(static_cast<unsigned char>(commit.back()))) commit.pop_back();
  const auto snapshot = folder / "snapshots" / commit;
  check(!commit.empty() && commit.find('/') == commit.npos && std::filesystem::is_directory(snapshot),
        "'{}' names a snapshot that is not there; download the model again", branch.generic_string());
  return snapshot;
}

/// Where Hugging Face's tools keep what they downloaded of their hub's OWNER/NAME; empty for what is no such name.
std::filesystem::path downloaded(const std::filesystem::path& name) {
  if (std::ranges::distance(name) != 2 || name.has_root_path() || std::filesystem::exists(name.parent_path()))
    return {};
  const auto folder = "models--" + name.parent_path().generic_string() + "--" + name.filename().generic_string();
  for (const auto& [variable, below] : {std::pair{"HF_HUB_CACHE", ""},
                                        {"HF_HOME", "hub"},
                                        {"XDG_CACHE_HOME", "huggingface/hub"},
                                        {"HOME", ".cache/huggingface/hub"},
                                        {"USERPROFILE", ".cache/huggingface/hub"}})
    if (const char* value = std::getenv(variable); value != nullptr && *value != 0)
      return std::filesystem::path(value) / below / folder;
  return {};
}

/// GGUF files of a folder, a sharded one's first shard: of eyes, or all others.
std::vector<std::filesystem::path> gguf_files(const std::filesystem::path& folder, bool eyes) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().generic_string();
    const bool later_shard = name.find("-of-") != name.npos && name.find("-00001-of-") == name.npos;
    const bool of_eyes = name.find("mmproj") != name.npos;  // as llama.cpp tells them
    if (is_gguf(entry.path()) && !later_shard && of_eyes == eyes) files.push_back(entry.path());
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
    const std::filesystem::path hub = downloaded(given);
    if (std::filesystem::exists(hub)) return resolve_model_folder(hub);
    fail("there is no '{}'; give a model folder, a run folder or a .gguf file{}", given.generic_string(),
         hub.empty() ? ""
                     : fmt::format(" (nor has {} it; nothing is downloaded here: `hf download {}` does)",
                                   hub.parent_path().generic_string(), given.generic_string()));
  }
  check(std::filesystem::is_directory(given), "'{}' is not a folder; give a model folder, a run folder or a .gguf file",
        given.generic_string());
  if (std::filesystem::exists(given / "config.json")) return given;
  if (const auto snapshot = cached_snapshot(given)) return resolve_model_folder(*snapshot);
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
  if (!asked.empty() || !is_gguf(model) || !std::filesystem::is_directory(given)) return asked;
  const std::vector<std::filesystem::path> files = gguf_files(model.parent_path(), true);
  return files.size() == 1 ? files.front() : std::filesystem::path();
}

std::filesystem::path resolve_adapter_folder(const std::filesystem::path& as_given) {
  const auto given = as_given.has_filename() ? as_given : as_given.parent_path();  // whose name counts, as above
  return is_adapter_folder(given) ? given : latest_checkpoint(given).value_or(given);
}

std::filesystem::path resolve_tokenizer_folder(const std::filesystem::path& given) {
  if (!std::filesystem::exists(given) && std::filesystem::exists(downloaded(given))) return resolve_model_folder(given);
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
