#pragma once
// What lets a model that writes see: an encoder of pictures, and layers that make of its states what stands in a text
// in place of tokens' embeddings. LLaVA (Liu et al. 2023, "Visual Instruction Tuning"; 1.5: two layers between them),
// Idefics 3 (Laurençon et al. 2024) and SmolVLM (Marafioti et al. 2025), which join neighbouring states, and Gemma 3
// (Gemma Team 2025), which takes their means.

#include <string>

#include "models/model.h"

namespace vkformer {

/// The part of a model that sees; the part that writes is what make_model() gives for the same config.
struct Eyes {
  /// Of a view's patches, pass.source [1, ..], hidden() makes what stands in a text: [1, positions, C].
  Model model;
  int64_t positions = 0;                ///< that a view takes in a text
  int32_t token = 0;                    ///< stands for a position of a picture in what is run
  bool tiled = false;                   ///< a picture is one view or more (Idefics 3), with tokens between them
  std::string mark = {};                ///< stands for a picture in a text as it is written; empty: the token does
  std::string before = {}, after = {};  ///< around a picture's positions, of one that is not tiled

  int64_t weight_bytes() const;  ///< in a store
  /// What stands in a text for a picture in tiles (rows 0: a single view), as transformers' processors write it;
  /// `position` is the token.
  std::string text_of(const std::string& position, int64_t rows, int64_t columns) const;
};

/// Whether a config.json is of a model that sees and writes, of a kind that make_eyes() makes.
bool has_eyes(const JsonObject& config);

/// Throws Error naming file and key for a config of another kind, and for values that can't be.
Eyes make_eyes(const JsonObject& config);

}  // namespace vkformer
