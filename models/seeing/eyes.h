#pragma once
// What lets a model that writes see: an encoder of pictures, and layers that make of its states what stands in a text
// in place of tokens' embeddings. LLaVA (Liu et al. 2023, "Visual Instruction Tuning"; 1.5: two layers between them),
// Idefics 3 (Laurençon et al. 2024) and SmolVLM (Marafioti et al. 2025), which join neighbouring states, and Gemma 3
// (Gemma Team 2025), which takes their means.

#include <map>
#include <optional>
#include <span>
#include <string>

#include "models/model.h"

namespace vkformer {

/// A view as the program of eyes takes it.
struct View {
  int64_t size = 0;  ///< which program: see AnySize; 0: there is one for all
  std::map<std::string, std::vector<float>> floats = {};
  std::map<std::string, std::vector<int32_t>> integers = {};
  std::vector<int32_t> order = {};  ///< rows of what it gives that stand in a text, in this order; empty: all
};

/// Of eyes that take pictures of any size in whole multiples.
struct AnySize {
  int64_t factor = 0;                  ///< pixels: height and width are multiples of it
  int64_t parts = 1;                   ///< how many times the text's columns a position has: see Pass::pictured
  std::string row_end = "", end = "";  ///< that a text has behind each row of positions but the last, and behind that
  /// A position stands for factor x factor pixels. `pixels`: [3, height, width].
  std::function<View(std::span<const float> pixels, int64_t height, int64_t width)> view;
  /// For views of one size: its output "states" [rows, parts * C].
  std::function<Graph(int64_t size)> graph;
};

/// The part of a model that sees; the part that writes is what make_model() gives for the same config.
struct Eyes {
  /// Of a view's patches, pass.source [1, ..], hidden() makes what stands in a text: [1, positions, C]. Its config is
  /// that of the whole, with what a GGUF file of eyes says where the given one leaves it out.
  Model model;
  int64_t positions = 0;                ///< that a view takes in a text
  int32_t token = 0;                    ///< stands for a position of a picture in what is run
  bool tiled = false;                   ///< a picture is one view or more (Idefics 3), with tokens between them
  std::string mark = {};                ///< stands for a picture in a text as it is written; empty: the token does
  std::string before = {}, after = {};  ///< around a picture's positions, of one that is not tiled

  std::optional<AnySize> any_size = {};  ///< then hidden() and `positions` mean nothing

  int64_t weight_bytes() const;  ///< in a store
  /// Of views of a size, with the output "states".
  Graph graph(int64_t size) const;
  /// What stands in a text for a picture in tiles (rows 0: a single view), as transformers' processors write it;
  /// `position` is the token.
  std::string text_of(const std::string& position, int64_t rows, int64_t columns) const;
};

/// Whether a config.json is of a model that sees and writes, of a kind that make_eyes() makes.
bool has_eyes(const JsonObject& config);

/// Throws Error naming file and key for a config of another kind, and for values that can't be.
Eyes make_eyes(const JsonObject& config);

}  // namespace vkformer
