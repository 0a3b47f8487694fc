#pragma once
// A model as a GGUF file.

#include <filesystem>

#include "models/gguf/mixture.h"
#include "models/model.h"
#include "models/weights.h"

namespace vkformer {

/// What a file does not have as it was asked for.
struct GgufLosses {
  std::vector<std::string> left_out;  ///< tensors for which the format has no place
  TypeFallbacks fallbacks;
};

/// Writes a model of a folder, with its tokenizer when it has one. Throws Error for what the format can't say, before
/// anything is written. `change`: see Weights::save().
GgufLosses write_model_as_gguf(const std::filesystem::path& file, const Model& model, const Weights& weights,
                               const std::filesystem::path& folder, const Mixture& mixture,
                               const LoadProgress& progress = {}, const Weights::Change& change = {});

}  // namespace vkformer
