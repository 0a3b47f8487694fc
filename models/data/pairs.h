#pragma once
// Pairs of a source and a target, such as sentences and their translations, as training data of an encoder-decoder.

#include "models/data/length_data.h"

namespace vkformer {

/// Token ids, with what the tokenizer puts around a text (its end).
struct TokenPairs {
  std::vector<std::vector<int32_t>> sources, targets;
};

class PairData : public LengthData {
 public:
  struct Settings {
    LengthBatches::Settings batches;
    int32_t padding = 0;        ///< the id of padding
    int32_t decoder_start = 0;  ///< the decoder's first id
  };
  /// Throws Error when there is no training pair.
  PairData(TokenPairs training, TokenPairs validation, const Settings& settings);

 private:
  BatchShape shape_of(const LengthBatches::Bucket& bucket) const override;
  DataBatch assemble(const BatchShape& shape, Split split, std::span<const uint32_t> examples,
                     int64_t number) const override;

  TokenPairs training_, validation_;
  Settings settings_;
};

}  // namespace vkformer
