#include "tools/cli/tag_score.h"

#include <algorithm>

#include "models/classification/tagger.h"
#include "tools/cli/end_signals.h"

namespace vkformer {

std::string scores_text(const TagScores& scores, bool entities) {
  std::string text = fmt::format("accuracy {:.2f} %", 100 * scores.accuracy());
  if (!entities) return text;
  const LabelScore& found = scores.entities();
  return text + fmt::format(", entities: precision {:.2f} %, recall {:.2f} %, F1 {:.4f}", 100 * found.precision(),
                            100 * found.recall(), found.f1());
}

WordWindows windows_of_texts(const TaggedTexts& texts, const Tokenizer& tokenizer, int64_t most) {
  WordWindows windows;
  for (const TaggedText& text : texts.texts)
    windows.add(tokenizer, text.words, most, fmt::format("{}:{}", texts.name, text.lines.front()));
  return windows;
}

std::vector<std::string> TagScorer::metrics() const {
  if (!marks_entities(names_)) return {"accuracy"};
  return {"accuracy", "entity_f1"};
}

JobScores TagScorer::score(Backend& backend, Trainer& trainer, bool whole_split) const {
  const size_t all = texts_.texts.size(), used = whole_split ? all : std::min(all, settings_.texts);
  TaggedTexts chosen{.name = texts_.name, .texts = {}};
  for (size_t i = 0; i < used; ++i) chosen.texts.push_back(texts_.texts[i * all / used]);
  Tagger tagger(backend, model_, trainer.shared_store(), trainer.workspace());
  const auto tagged = tag_words(tagger, windows_of_texts(chosen, tokenizer_, settings_.context), settings_.inputs,
                                settings_.positions, [](size_t) { interrupt_if_asked(); });
  TagScores scores;
  for (size_t i = 0; i < used; ++i) {
    std::vector<std::string> hypotheses;
    for (const WordTag& word : tagged[i]) hypotheses.push_back(names_[word.tag]);
    scores.add(chosen.texts[i].tags, hypotheses);
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
