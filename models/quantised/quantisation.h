#pragma once
// How the weights of a folder are quantised, as its config.json says.

#include <filesystem>
#include <map>
#include <optional>

#include "runtime/files/json_file.h"

namespace vkformer {

/// What errors say to do about a folder that can't be read.
inline constexpr std::string_view other_than_quantised = "take the original model, or a GGUF file of it";

/// What of it can't be seen in the tensors.
struct Quantisation {
  std::string method;                         ///< as the config calls it: "gptq"; "mlx" of MLX
  bool symmetric = false;                     ///< GPTQ: all zeros are the middle of the codes
  bool zeros_less_one = false;                ///< GPTQ: how zeros are stored
  std::vector<int64_t> int_bits;              ///< compressed-tensors: of its groups
  int64_t block_rows = 0, block_columns = 0;  ///< that share a scale; 0: as the scales' shape says, of as many
  std::map<std::string, int64_t, std::less<>> layer_columns = {};  ///< MLX: of layers that have their own
};

/// Nothing where weights are floats, or blocks that the model's family reads itself (gpt-oss). Throws Error naming what
/// is not supported.
std::optional<Quantisation> quantisation_of(const JsonObject& config);

/// Whether the config says anything of the kind.
bool is_quantised(const JsonObject& config);

/// The config with what older folders say in a file beside it: AutoGPTQ's quantize_config.json, AutoAWQ's
/// quant_config.json, modelopt's hf_quant_config.json.
JsonObject with_quantisation_beside(const JsonObject& config, const std::filesystem::path& folder);

/// Removes what the config says about it.
void erase_quantisation(nlohmann::json& config);

}  // namespace vkformer
