#pragma once
// Texts and a class for each, as training data of a classifier.

#include "models/data/length_data.h"
#include "models/data/token_texts.h"

namespace vkformer {

class LabelData : public LengthData {
 public:
  struct Split {
    TokenTexts texts;
    std::vector<int32_t> classes;  ///< of each text
  };
  struct Settings {
    LengthBatches::Settings batches;
    TextInputs inputs;
  };
  /// Batches have "targets" [B]. Throws Error when there is no training text.
  LabelData(Split training, Split validation, const Settings& settings);

 private:
  BatchShape shape_of(const LengthBatches::Bucket& bucket) const override;
  DataBatch assemble(const BatchShape& shape, LengthData::Split split, std::span<const uint32_t> examples,
                     int64_t number) const override;

  Split training_, validation_;
  Settings settings_;
};

}  // namespace vkformer
