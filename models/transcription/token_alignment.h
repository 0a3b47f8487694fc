#pragma once
// What a decoder's heads look at, and how likely it finds them, while it reads tokens that are known.

#include <map>

#include "models/generation/generation.h"
#include "models/transcription/word_times.h"

namespace vkformer {

struct TokenAlignment {
  HeadWeights weights;
  std::vector<double> probabilities;  ///< of each token but the first, among those of text
};

class TokenAligner {
 public:
  /// `generator`, of one source, and its model must outlive this object. Tokens of text are below `text_end`.
  TokenAligner(const Model& model, Generator& generator, std::vector<CrossHead> heads, int32_t text_end)
      : model_(model), generator_(generator), heads_(std::move(heads)), text_end_(text_end) {}

  /// Of what the generator's encode() has read last; `ids` fit into the model's context.
  TokenAlignment align(std::span<const int32_t> ids);

 private:
  const Model& model_;
  Generator& generator_;
  std::vector<CrossHead> heads_;
  int32_t text_end_;
  std::map<int64_t, std::unique_ptr<Program>> programs_;  ///< by their positions
};

}  // namespace vkformer
