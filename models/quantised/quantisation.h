#pragma once
// How the weights of a folder are quantised, as its config.json says.

#include <map>
#include <optional>

#include "runtime/files/json_file.h"

namespace vkformer {

/// What of it can't be seen in the tensors.
struct Quantisation {
  std::string method;                         ///< as the config calls it: "gptq"; "mlx" of MLX
  int64_t bits = 0;                           ///< of GPTQ and AWQ
  bool symmetric = false;                     ///< GPTQ: all zeros are the middle of the codes
  bool zeros_less_one = false;                ///< GPTQ: how zeros are stored
  std::vector<int64_t> int_bits;              ///< compressed-tensors: of its groups
  int64_t block_rows = 0, block_columns = 0;  ///< that share a scale; 0: as the scales' shape says, of as many
};

/// Nothing where weights are floats, or blocks that the model's family reads itself (gpt-oss). Throws Error naming what
/// is not supported.
std::optional<Quantisation> quantisation_of(const JsonObject& config);

/// Whether the config says anything of the kind.
bool is_quantised(const JsonObject& config);

/// Removes what the config says about it.
void erase_quantisation(nlohmann::json& config);

}  // namespace vkformer
