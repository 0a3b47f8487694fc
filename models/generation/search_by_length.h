#pragma once
// Many sources through an encoder-decoder: those of like length together, through as few recorded programs as pay.

#include <functional>

#include "models/generation/prepared_search.h"
#include "models/weights.h"

namespace vkformer {

struct SearchByLength {
  GenerationConfig config;
  /// Most tokens to write for a source of n tokens, where the config does not say: factor * n + more.
  double factor = 2;
  int64_t more = 10;
  int64_t positions = 2048;              ///< of a batch: sources times beams times the longest source
  int64_t most_lengths = 4;              ///< recorded shapes
  std::optional<DType> cache_type = {};  ///< see GeneratorShape
  /// Called at each step; may be empty.
  std::function<void()> on_step = {};
  /// Called with each shape's generator when it has run, before it goes; may be empty.
  std::function<void(const Generator&, int64_t rows, int64_t length)> ran = {};

  /// Gives the hypotheses of each source, best first, in whatever order they end. `weights`: see Generator. Throws
  /// Error like prepare_search.
  void run(Backend& backend, const Model& model, const std::shared_ptr<Store>& weights,
           const std::vector<std::vector<int32_t>>& sources,
           const std::function<void(size_t source, std::vector<Hypothesis> best)>& take) const;
};

}  // namespace vkformer
