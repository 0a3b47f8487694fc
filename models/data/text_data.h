#pragma once
// Texts and what an encoder's head is to make of each, as training data.

#include "models/data/length_data.h"
#include "models/data/token_texts.h"

namespace vkformer {

class TextData : public LengthData {
 public:
  struct Split {
    TokenTexts texts;
    std::vector<std::vector<int32_t>> targets;  ///< of each text
    /// Of each text, where logits are no classes' of which one holds; all targets are 0 then.
    std::vector<std::vector<float>> wanted = {};
  };
  struct Settings {
    LengthBatches::Settings batches;
    TextInputs inputs;
    int64_t targets = 1;  ///< of a row: 1 for a class, 2 for an answer's ends; 0: one of each position
  };
  /// Batches have "targets" [B], [B, 2] or [B, T]; those that no text has are ignored. With `wanted`
  /// numbers they have "wanted" and "shares", too, see build_loss_and_gradients(). Throws Error when there is
  /// no training text.
  TextData(Split training, Split validation, const Settings& settings);

  const TextInputs& inputs() const { return settings_.inputs; }

 private:
  BatchShape shape_of(const LengthBatches::Bucket& bucket) const override;
  DataBatch assemble(const BatchShape& shape, LengthData::Split split, std::span<const uint32_t> examples,
                     int64_t number) const override;

  Split training_, validation_;
  Settings settings_;
};

}  // namespace vkformer
