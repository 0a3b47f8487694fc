#include "tools/cli/tag_score.h"

#include <algorithm>

#include "models/classification/tagger.h"

namespace vkformer {

namespace {

/// The words of a batch: where they begin, and their tags.
struct BatchWords {
  std::vector<std::vector<int32_t>> positions;
  std::vector<std::vector<std::string>> tags;

  BatchWords(const DataBatch& batch, const std::vector<std::string>& names) {
    const auto& targets =
        std::ranges::find(batch.inputs, "targets", [](const auto& input) { return input.first; })->second;
    for (size_t row = 0, at = 0; row < static_cast<size_t>(batch.shape.rows); ++row) {
      positions.emplace_back();
      tags.emplace_back();
      for (int32_t position = 0; position < batch.shape.positions; ++position, ++at) {
        if (targets[at] == ignored_target) continue;
        positions.back().push_back(position);
        tags.back().push_back(names[static_cast<size_t>(targets[at])]);
      }
    }
  }
};

}  // namespace

std::string scores_text(const TagScores& scores, bool entities) {
  std::string text = fmt::format("accuracy {:.2f} %", 100 * scores.accuracy());
  if (!entities) return text;
  const LabelScore& found = scores.entities();
  return text + fmt::format(", entities: precision {:.2f} %, recall {:.2f} %, F1 {:.4f}", 100 * found.precision(),
                            100 * found.recall(), found.f1());
}

JobScores TagScorer::score(Backend& backend, Trainer& trainer, bool whole_split) const {
  Tagger tagger(backend, model_, trainer.shared_store(), trainer.workspace());
  const int64_t all = data_.validation_batches(), used = whole_split ? all : std::min(all, batches_);
  TagScores scores;
  for (int64_t i = 0; i < used; ++i) {
    const DataBatch batch = data_.validation_batch(i, used);
    const BatchWords words(batch, names_);
    const auto rows = tagger.tags(batch, words.positions);
    for (size_t row = 0; row < rows.size(); ++row) {
      std::vector<std::string> hypotheses;
      for (const WordTag& word : rows[row]) hypotheses.push_back(names_[word.tag]);
      scores.add(words.tags[row], hypotheses);
    }
  }
  const bool entities = marks_entities(names_);
  JobScores result{.values = {{"accuracy", scores.accuracy()}},
                   .notes = {{"words", scores.words()}},
                   .text = fmt::format("  {} of {} words\n", scores_text(scores, entities), scores.words())};
  if (!entities) return result;
  result.values["entity_precision"] = scores.entities().precision();
  result.values["entity_recall"] = scores.entities().recall();
  result.values["entity_f1"] = scores.entities().f1();
  return result;
}

}  // namespace vkformer
