// `train --tags`: words and their tags become a tagger.

#include "models/data/tagged_texts.h"
#include "models/data/word_windows.h"
#include "models/score/tags.h"
#include "tools/cli/encoder_job.h"
#include "tools/cli/output.h"
#include "tools/cli/tag_score.h"

namespace vkformer {

namespace {

/// How many words there are.
int64_t count_words(const TaggedTexts& texts) {
  int64_t words = 0;
  for (const TaggedText& text : texts.texts) words += std::ssize(text.words);
  return words;
}

std::string baseline_text(const TaggedTexts& training, const TaggedTexts& validation, bool entities) {
  FrequentTags frequent;
  for (const TaggedText& text : training.texts) frequent.add(text.words, text.tags);
  TagScores scores;
  for (const TaggedText& text : validation.texts) scores.add(text.tags, frequent.tag(text.words));
  return fmt::format("\nto beat in validation, each word's most frequent tag: {}", scores_text(scores, entities));
}

}  // namespace

TrainJob tags_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint) {
  const auto texts_of = [](const RunFile& file) { return read_tagged_texts(file.content, file.path); };
  const TaggedTexts training = texts_of(*find_file(files, "tags"));
  const RunFile* validated = find_file(files, "valid tags");
  TaggedTexts validation = validated ? texts_of(*validated) : TaggedTexts();
  EncoderText text = EncoderText::load(flags, checkpoint, "--tags");
  const std::vector<std::string> names = checkpoint.empty() ? tag_names(training) : classes_of_run(flags, checkpoint);
  TrainJob job = encoder_job(
      flags, checkpoint, text,
      {.architecture = "TokenClassification", .classes = names, .own = {"classifier"}, .shared = {"head."}});

  const auto classes = classes_of_words(training, names), valid_classes = classes_of_words(validation, names);
  const WordWindows windows = windows_of_texts(training, text.tokenizer, flags.context),
                    valid_windows = windows_of_texts(validation, text.tokenizer, flags.context);
  job.summary = fmt::format("{} of {}, {:.2f} tokens a word, {}", counted(std::ssize(training.texts), "text"),
                            counted(count_words(training), "word"),
                            static_cast<double>(windows.texts.tokens()) / static_cast<double>(count_words(training)),
                            counted(std::ssize(names), "tag"));
  if (validated)
    job.summary += fmt::format(", {} of {} for validation", counted(std::ssize(validation.texts), "text"),
                               counted(count_words(validation), "word"));
  if (const int64_t split = windows.split + valid_windows.split; split > 0)
    job.summary += fmt::format("; {} in windows of {} tokens (--context)", split, flags.context);
  const bool entities = marks_entities(names);
  if (validated) job.summary += baseline_text(training, validation, entities);
  auto data = encoder_data(flags, *job.model, {windows.texts, windows.targets(classes)},
                           {valid_windows.texts, valid_windows.targets(valid_classes)}, 0);
  job.summary += '\n' + data->describe("texts");
  if (validated && flags.score_lines > 0)
    job.scorer = std::make_unique<TagScorer>(*job.model, std::move(text.tokenizer), std::move(validation), names,
                                             TagScorer::Settings{.inputs = data->inputs(),
                                                                 .context = flags.context,
                                                                 .positions = flags.batch_tokens,
                                                                 .texts = static_cast<size_t>(flags.score_lines)});
  job.data = std::move(data);
  return job;
}

}  // namespace vkformer
