#pragma once
// Words and a tag for each, as training data of a tagger.

#include "models/data/length_data.h"
#include "models/data/word_windows.h"

namespace vkformer {

class TagData : public LengthData {
 public:
  struct Split {
    WordWindows windows;
    std::vector<std::vector<int32_t>> classes;  ///< of each word, text by text
  };
  struct Settings {
    LengthBatches::Settings batches;
    TextInputs inputs;
  };
  /// Batches have "targets" [B, T]: at each word's first sub-word its class, else what is ignored. Throws Error when
  /// there is no training text.
  TagData(Split training, Split validation, const Settings& settings);

 private:
  BatchShape shape_of(const LengthBatches::Bucket& bucket) const override;
  DataBatch assemble(const BatchShape& shape, LengthData::Split split, std::span<const uint32_t> examples,
                     int64_t number) const override;

  Split training_, validation_;
  Settings settings_;
};

}  // namespace vkformer
