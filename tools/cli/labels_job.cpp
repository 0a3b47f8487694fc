// `train --labels`: rows of texts and labels become a classifier.

#include "models/data/labelled_rows.h"
#include "models/score/label_baselines.h"
#include "runtime/check.h"
#include "tools/cli/encoder_job.h"
#include "tools/cli/label_score.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

TextData::Split encode_rows(const LabelledRows& rows, const std::vector<int32_t>& classes, const Tokenizer& tokenizer,
                            int64_t most) {
  TextData::Split split;
  for (const LabelledRow& row : rows.rows)
    split.texts.add(tokenizer, row.first, rows.pairs ? std::optional<std::string_view>(row.second) : std::nullopt, most,
                    fmt::format("{}:{}", rows.name, row.line));
  for (const int32_t one : classes) split.targets.push_back({one});
  return split;
}

ClassedTexts classed(const LabelledRows& rows, const std::vector<int32_t>& classes) {
  ClassedTexts texts{.texts = {}, .classes = classes};
  for (const LabelledRow& row : rows.rows) texts.texts.push_back(row.first + '\n' + row.second);
  return texts;
}

std::string baselines_text(const ClassedTexts& training, const ClassedTexts& validation) {
  return fmt::format("\nto beat in validation: majority {:.1f} %, bag of words (naive Bayes) {:.1f} %",
                     100 * majority_accuracy(training.classes, validation.classes),
                     100 * naive_bayes_accuracy(training, validation));
}

}  // namespace

TrainJob labels_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint) {
  const auto rows_of = [](const RunFile& file) { return read_labelled_rows(file.content, file.path); };
  const LabelledRows training = rows_of(*find_file(files, "labels"));
  const RunFile* validated = find_file(files, "valid labels");
  const LabelledRows validation = validated ? rows_of(*validated) : LabelledRows();
  check(!validated || training.pairs == validation.pairs, "{} has {} of a row, {} has {}", training.name,
        training.pairs ? "two texts" : "one text", validation.name, validation.pairs ? "two" : "one");
  const EncoderText text = EncoderText::load(flags, checkpoint, "--labels");
  const std::vector<std::string> names = checkpoint.empty() ? label_names(training) : classes_of_run(flags, checkpoint);
  TrainJob job = encoder_job(flags, checkpoint, text,
                             {.architecture = "SequenceClassification",
                              .classes = names,
                              .own = {"classifier", "logits_proj", "classification_head", "score."},
                              .shared = {"pooler", "sequence_summary", "head."}});
  const std::vector<int32_t> classes = classes_of_rows(training, names),
                             valid_classes = classes_of_rows(validation, names);
  TextData::Split trained = encode_rows(training, classes, text.tokenizer, flags.context);
  TextData::Split valid = encode_rows(validation, valid_classes, text.tokenizer, flags.context);
  job.summary = fmt::format("{} of {:.1f} tokens, {}", counted(std::ssize(classes), "row"),
                            static_cast<double>(trained.texts.tokens()) / static_cast<double>(classes.size()),
                            counted(std::ssize(names), "label"));
  if (validated) job.summary += fmt::format(", {} for validation", counted(std::ssize(valid_classes), "row"));
  if (const int64_t cut = trained.texts.cut + valid.texts.cut; cut > 0)
    job.summary += fmt::format("; {} cut at {} tokens (--context)", cut, flags.context);
  if (validated) job.summary += baselines_text(classed(training, classes), classed(validation, valid_classes));
  auto data = encoder_data(flags, *job.model, std::move(trained), std::move(valid), 1);
  job.summary += '\n' + data->describe("rows");
  if (validated) job.scorer = std::make_unique<LabelScorer>(*job.model, *data, names, flags.evaluation_batches);
  job.data = std::move(data);
  return job;
}

}  // namespace vkformer
