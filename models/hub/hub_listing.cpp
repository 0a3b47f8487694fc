#include "models/hub/hub_listing.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>

#include "models/hub/gguf_names.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"

namespace vkformer {

namespace {

bool is_digits(std::string_view text, size_t count) {
  return text.size() == count && text.find_first_not_of("0123456789abcdef") == text.npos;
}

/// A name, or several below each other, that stay in a folder on every system.
bool stays_inside(const std::string& path) {
  if (path.empty() || path.front() == '/' || path.find_first_of("\\:") != path.npos ||
      std::ranges::any_of(path, [](unsigned char c) { return c < 32 || c == 127; }))
    return false;
  return std::ranges::none_of(std::filesystem::path(path),
                              [](const auto& part) { return part.empty() || part == "." || part == ".."; });
}

bool is_one_of(std::string_view ending, std::initializer_list<std::string_view> endings) {
  return std::ranges::find(endings, ending) != endings.end();
}

/// Beside the weights: configurations, tokenizers of all kinds, templates, and sentence-transformers' modules
/// (1_Pooling/config.json).
bool is_beside_weights(const std::filesystem::path& path) {
  const std::string ending = path.extension().generic_string(), folder = path.parent_path().generic_string();
  const bool module = folder.size() > 2 && std::isdigit(static_cast<unsigned char>(folder[0])) && folder[1] == '_' &&
                      folder.find('/') == folder.npos;
  if (module) return is_one_of(ending, {".json", ".safetensors", ".bin"});
  return folder.empty() && is_one_of(ending, {".json", ".txt", ".model", ".spm", ".jinja", ".tiktoken"});
}

/// "model.safetensors", "model-00001-of-00002.safetensors", "adapter_model.safetensors". The same weights in another
/// form are not wanted: Mistral's consolidated.*, Whisper's model.fp32-*.
bool is_weights(std::string_view path, std::string_view ending) {
  if (!path.ends_with(ending)) return false;
  path.remove_suffix(ending.size());
  return is_one_of(path, {"model", "adapter_model", "pytorch_model"}) || path.starts_with("model-") ||
         path.starts_with("pytorch_model-");
}

std::vector<HubFile> gguf_files(const HubListing& listing, std::string_view quant) {
  std::vector<std::string> names;
  std::vector<HubFile> wanted;
  const auto file_of = [&](const std::string& name) { return *std::ranges::find(listing.files, name, &HubFile::path); };
  std::optional<HubFile> eyes;
  for (const HubFile& file : listing.files) {
    if (!file.path.ends_with(".gguf")) continue;
    if (!is_mmproj_name(file.path)) {
      names.push_back(file.path);
    } else if (const bool half = has_quant(file.path, "F16") || has_quant(file.path, "BF16"),
               other = eyes && (has_quant(eyes->path, "F16") || has_quant(eyes->path, "BF16"));
               !eyes || half > other || (half == other && file.size < eyes->size)) {
      eyes = file;
    }
  }
  for (const std::string& name : meant_gguf(names, quant)) wanted.push_back(file_of(name));
  if (eyes) wanted.push_back(*eyes);
  return wanted;
}

}  // namespace

HubListing parse_hub_listing(std::string_view reply, const std::string& name) {
  const JsonObject model = JsonObject::parse(reply, name);
  HubListing listing{.commit = require_string(model, "sha"), .files = {}};
  check(is_digits(listing.commit, 40), "{}: sha is no commit", name);
  for (const JsonObject& entry : require_objects(model, "siblings")) {
    HubFile file{.path = require_string(entry, "rfilename"), .size = 0, .id = {}};
    check(stays_inside(file.path), "{}: a file's path leads out of its folder", entry.name());
    const bool large = entry.has("lfs");
    const JsonObject content = large ? require_object(entry, "lfs") : entry;
    file.size = static_cast<uint64_t>(require_integer(content, "size", 0, int64_t{1} << 53));
    file.id = require_string(content, large ? "sha256" : "blobId");
    check(is_digits(file.id, large ? 64 : 40), "{}: a file's id is no hash", entry.name());
    listing.files.push_back(std::move(file));
  }
  return listing;
}

std::vector<HubFile> wanted_files(const HubListing& listing, std::string_view quant) {
  const auto any = [&](std::string_view ending) {
    return std::ranges::any_of(listing.files, [&](const HubFile& file) { return is_weights(file.path, ending); });
  };
  const bool gguf =
      std::ranges::any_of(listing.files, [](const HubFile& file) { return file.path.ends_with(".gguf"); });
  check(quant.empty() || gguf, "it has no GGUF files; leave out ':{}'", quant);
  const std::string_view weights = any(".safetensors") ? ".safetensors" : ".bin";
  if (gguf && (!quant.empty() || !any(weights))) return gguf_files(listing, quant);
  check(any(weights), "it has neither safetensors, nor pytorch_model.bin, nor GGUF files");
  std::vector<HubFile> wanted;
  for (const HubFile& file : listing.files)
    if (is_beside_weights(file.path) || is_weights(file.path, weights)) wanted.push_back(file);
  return wanted;
}

}  // namespace vkformer
