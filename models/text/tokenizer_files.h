#pragma once
// The files of a tokenizer in a model's folder.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace vkformer {

/// Writes `tokenizer` as tokenizer.json and, with `settings` added, the tokenizer_config.json by which transformers'
/// AutoTokenizer loads it, each in one step (see AtomicFile). The folder must be there. Throws Error.
void write_tokenizer_files(const std::filesystem::path& folder, std::string_view tokenizer,
                           const nlohmann::ordered_json& settings);

}  // namespace vkformer
