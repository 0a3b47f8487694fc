#pragma once
// How well a tagger in training tags words that it is not trained on.

#include "models/data/tagged_texts.h"
#include "models/data/word_windows.h"
#include "models/score/tags.h"
#include "models/text/tokenizer.h"
#include "tools/cli/job_scorer.h"

namespace vkformer {

/// "accuracy 93.10 %", and where there are entities their precision, recall and F1.
std::string scores_text(const TagScores& scores, bool entities);

/// The windows of some texts, of at most `most` tokens.
WordWindows windows_of_texts(const TaggedTexts& texts, const Tokenizer& tokenizer, int64_t most);

/// "accuracy" and, where tags mark entities, "entity_precision", "entity_recall" and "entity_f1", 0 to 1. Texts are
/// scored as wholes, whatever windows they take.
class TagScorer : public JobScorer {
 public:
  struct Settings {
    TextInputs inputs;
    int64_t context = 0;       ///< most tokens of a window
    int64_t positions = 4096;  ///< of a batch
    size_t texts = 200;        ///< of an evaluation that is not of the whole split, spread evenly
  };
  /// `names`: of the classes. The model must outlive it.
  TagScorer(const Model& model, Tokenizer tokenizer, TaggedTexts texts, std::vector<std::string> names,
            const Settings& settings)
      : model_(model),
        tokenizer_(std::move(tokenizer)),
        texts_(std::move(texts)),
        names_(std::move(names)),
        settings_(settings) {}

  std::vector<std::string> metrics() const override;
  JobScores score(Backend& backend, Trainer& trainer, bool whole_split) const override;

 private:
  const Model& model_;
  Tokenizer tokenizer_;
  TaggedTexts texts_;
  std::vector<std::string> names_;
  Settings settings_;
};

}  // namespace vkformer
