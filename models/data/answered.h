#pragma once
// Windows of questions with their contexts, and where the answers are, as training data.

#include <array>

#include "models/data/length_data.h"
#include "models/data/token_texts.h"

namespace vkformer {

class AnswerData : public LengthData {
 public:
  struct Split {
    TokenTexts texts;                          ///< of the windows
    std::vector<std::array<int32_t, 2>> ends;  ///< of each window's answer, see AnswerWindow
  };
  struct Settings {
    LengthBatches::Settings batches;
    TextInputs inputs;
  };
  /// Batches have "targets" [B, 2]. Throws Error when there is no training window.
  AnswerData(Split training, Split validation, const Settings& settings);

 private:
  BatchShape shape_of(const LengthBatches::Bucket& bucket) const override;
  DataBatch assemble(const BatchShape& shape, LengthData::Split split, std::span<const uint32_t> examples,
                     int64_t number) const override;

  Split training_, validation_;
  Settings settings_;
};

}  // namespace vkformer
