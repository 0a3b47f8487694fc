#pragma once
// What a model of masked words must be better than to have learned more than how frequent words are.

#include <cstdint>
#include <span>

namespace vkformer {

/// Of guesses that know the frequencies of tokens alone.
struct UnigramBaseline {
  double entropy = 0;   ///< in nats: their least loss
  double accuracy = 0;  ///< share of the most frequent token, 0 to 1
};

/// `counts`: how often each token occurs, at least one of them once.
UnigramBaseline unigram_baseline(std::span<const int64_t> counts);

}  // namespace vkformer
