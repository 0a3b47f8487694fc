// `train --labels`: rows of texts and labels become a classifier.

#include "models/data/labelled.h"
#include "models/data/labelled_rows.h"
#include "models/families/config_keys.h"
#include "models/score/label_baselines.h"
#include "runtime/check.h"
#include "tools/cli/encoder_job.h"
#include "tools/cli/label_score.h"

namespace vkformer {

namespace {

LabelData::Split encode_rows(const LabelledRows& rows, const std::vector<std::string>& names,
                             const Tokenizer& tokenizer, int64_t most) {
  LabelData::Split split{.texts = {}, .classes = classes_of_rows(rows, names)};
  for (const LabelledRow& row : rows.rows)
    split.texts.add(tokenizer, row.first, rows.pairs ? std::optional<std::string_view>(row.second) : std::nullopt, most,
                    fmt::format("{}:{}", rows.name, row.line));
  return split;
}

std::string baselines_text(const LabelledRows& training, const LabelData::Split& trained,
                           const LabelledRows& validation, const LabelData::Split& valid) {
  const auto classed = [](const LabelledRows& rows, const LabelData::Split& split) {
    ClassedTexts texts{.texts = {}, .classes = split.classes};
    for (const LabelledRow& row : rows.rows) texts.texts.push_back(row.first + '\n' + row.second);
    return texts;
  };
  return fmt::format("\nto beat in validation: majority {:.1f} %, bag of words (naive Bayes) {:.1f} %",
                     100 * majority_accuracy(trained.classes, valid.classes),
                     100 * naive_bayes_accuracy(classed(training, trained), classed(validation, valid)));
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
  const std::vector<std::string> names =
      checkpoint.empty() ? label_names(training) : classes_of(JsonObject::load(checkpoint / "config.json"), 2);
  TrainJob job = encoder_job(flags, checkpoint, text,
                             {.architecture = "SequenceClassification",
                              .classes = names,
                              .own = {"classifier", "logits_proj"},
                              .shared = {"pooler", "sequence_summary"}});
  const Model& model = *job.model;

  LabelData::Split trained = encode_rows(training, names, text.tokenizer, flags.context);
  LabelData::Split valid = encode_rows(validation, names, text.tokenizer, flags.context);
  job.summary = fmt::format("{} rows of {:.1f} tokens, {} labels", trained.classes.size(),
                            static_cast<double>(trained.texts.tokens()) / static_cast<double>(trained.classes.size()),
                            names.size());
  if (validated) job.summary += fmt::format(", {} rows for validation", valid.classes.size());
  if (const int64_t cut = trained.texts.cut + valid.texts.cut; cut > 0)
    job.summary += fmt::format("; {} cut at {} tokens (--context)", cut, flags.context);
  if (validated) job.summary += baselines_text(training, trained, validation, valid);
  const TextInputs inputs =
      text_inputs(model, std::max(trained.texts.largest_segment(), valid.texts.largest_segment()));
  auto data = std::make_unique<LabelData>(
      std::move(trained), std::move(valid),
      LabelData::Settings{
          .batches = {.positions = flags.batch_tokens, .most_rows = flags.batch, .seed = flags.settings.seed},
          .inputs = inputs});
  job.summary += '\n' + data->describe("rows");
  if (validated) job.scorer = std::make_unique<LabelScorer>(model, *data, names, flags.evaluation_batches);
  job.data = std::move(data);
  return job;
}

}  // namespace vkformer
