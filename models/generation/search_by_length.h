#pragma once
// Many sources through an encoder-decoder: those of like length together, through as few recorded programs as pay.

#include <functional>
#include <map>

#include "models/data/length_batches.h"
#include "models/generation/prepared_search.h"
#include "models/weights.h"

namespace vkformer {

struct SearchByLength {
  /// What runs over pieces of many sources have in common.
  struct Kept {
    /// Those of the batches, for the sources of all pieces; further ones may be added behind them. Must outlive it.
    const LengthBatches* shapes = nullptr;
    std::shared_ptr<Workspace> workspace = nullptr;                ///< of all; nullptr: each has its own
    std::map<size_t, std::unique_ptr<Generator>> generators = {};  ///< what was recorded, by the shape's number
    size_t sources = 0;                                            ///< of the pieces that were run
  };
  GenerationConfig config;
  /// Most tokens to write for a source of n tokens, where the config does not say: factor * n + more.
  double factor = 2;
  int64_t more = 10;
  int64_t positions = 2048;              ///< of a batch: sources times beams times the longest source
  int64_t most_lengths = 4;              ///< recorded shapes
  std::optional<DType> cache_type = {};  ///< see GeneratorShape
  /// Called at each step; may be empty.
  std::function<void()> on_step = {};
  /// Called with each shape's generator when it has run, before it goes; may be empty. Of those that are kept it is
  /// leave() that lets them go.
  std::function<void(const Generator&, int64_t rows, int64_t length)> ran = {};

  /// Gives the hypotheses of each source, best first, in whatever order they end. `weights`: see Generator. Throws
  /// Error like prepare_search.
  void run(Backend& backend, const Model& model, const std::shared_ptr<Store>& weights,
           const std::vector<std::vector<int32_t>>& sources,
           const std::function<void(size_t source, std::vector<Hypothesis> best)>& take) const;
  /// The same of one piece of the sources, with the results that it has among all of them. What is recorded stays for
  /// the next piece, side by side if the device has the memory.
  void run(Backend& backend, const Model& model, const std::shared_ptr<Store>& weights,
           const std::vector<std::vector<int32_t>>& sources,
           const std::function<void(size_t source, std::vector<Hypothesis> best)>& take, Kept& kept) const;
  void leave(Kept& kept) const;

 private:
  /// The generator of that shape, which is recorded if there is none.
  Generator& generator(Backend& backend, const Model& model, const std::shared_ptr<Store>& weights,
                       const PreparedSearch& prepared, size_t shape, Kept& kept) const;
};

}  // namespace vkformer
