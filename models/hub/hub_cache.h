#pragma once
// Names of models on Hugging Face's hub, and where its tools keep what was downloaded of them:
// models--OWNER--NAME/{refs/BRANCH, blobs/ID, snapshots/COMMIT/FILE} (huggingface_hub, "Understand caching").

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace vkformer {

struct HubName {
  std::string owner, name;
  std::string quant;  ///< of one of its GGUF files, as "Q4_K_M"; empty: not said
  std::string model() const { return owner + "/" + name; }
};

/// OWNER/NAME or OWNER/NAME:QUANT; nothing for what can't be such a name.
std::optional<HubName> parse_hub_name(std::string_view text);

/// Below it lie the tools' folders: HF_HOME, or huggingface in the user's cache. Empty where nothing says where that
/// is.
std::filesystem::path hub_home();
/// The folder of all models: HF_HUB_CACHE, or hub in hub_home().
std::filesystem::path hub_cache();
/// What is kept of this one there; it need not exist. Empty like hub_cache().
std::filesystem::path hub_folder(const HubName& name);

/// The snapshot that the main branch of such a folder is at, or where it has none the only one; nothing when it is no
/// such folder. Throws Error for a
/// snapshot that is not there.
std::optional<std::filesystem::path> hub_snapshot(const std::filesystem::path& folder);

}  // namespace vkformer
