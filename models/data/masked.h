#pragma once
// Texts with some of their tokens hidden, as training data of a masked language model (BERT: Devlin et al. 2018). Each
// batch draws anew, so that each epoch hides other tokens (RoBERTa: Liu et al. 2019).

#include "models/data/length_data.h"
#include "models/data/token_texts.h"

namespace vkformer {

/// Which tokens of a text are to be predicted, and what stands in their places: the mask (80 %), an ordinary token
/// (10 %; BERT draws special ones, too, but padding within a text is none), or they themselves (10 %).
struct Masking {
  double share = 0.15;            ///< chance of an ordinary token to be chosen; of a text that has some at least one is
  int32_t mask = 0;               ///< an id
  std::vector<int32_t> ordinary;  ///< sorted ids of the tokens that are chosen, and drawn
  uint32_t seed = 0;

  bool is_ordinary(int32_t id) const;
  /// Whether a text has anything to predict.
  bool applies_to(std::span<const int32_t> text) const;
};

/// The token that stands where a word is hidden. Throws Error when there is none; `name`: of the tokenizer.
int32_t mask_id(const Tokenizer& tokenizer, const std::string& name);
/// The ids that have a token, sorted, without the tokenizer's special ones and without `special`.
std::vector<int32_t> ordinary_ids(const Tokenizer& tokenizer, std::initializer_list<int32_t> special);

class MaskedData : public LengthData {
 public:
  struct Settings {
    LengthBatches::Settings batches;
    TextInputs inputs;
    Masking masking;
  };
  /// Batches have "targets" [B, T]: the ids of the chosen tokens, ignored_target elsewhere. Throws Error when there is
  /// no training text.
  MaskedData(TokenTexts training, TokenTexts validation, Settings settings);

 private:
  BatchShape shape_of(const LengthBatches::Bucket& bucket) const override;
  DataBatch assemble(const BatchShape& shape, LengthData::Split split, std::span<const uint32_t> examples,
                     int64_t number) const override;

  TokenTexts training_, validation_;
  Settings settings_;
};

}  // namespace vkformer
