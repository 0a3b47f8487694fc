#pragma once
// What lets a model that writes see: an encoder of pictures, and layers that make of its states what stands in a text
// in place of tokens' embeddings. LLaVA (Liu et al. 2023, "Visual Instruction Tuning"; 1.5: two layers between them).

#include "models/model.h"

namespace vkformer {

/// The part of a model that sees; the part that writes is what make_model() gives for the same config.
struct Eyes {
  /// Of a picture's patches, pass.source [1, ..], hidden() makes what stands in a text: [1, positions, C].
  Model model;
  int64_t positions = 0;  ///< that a picture takes in a text
  int32_t token = 0;      ///< stands for one in a text

  int64_t weight_bytes() const;  ///< in a store
};

/// Whether a config.json is of a model that sees and writes, of a kind that make_eyes() makes.
bool has_eyes(const JsonObject& config);

/// Throws Error naming file and key for a config of another kind, and for values that can't be.
Eyes make_eyes(const JsonObject& config);

}  // namespace vkformer
