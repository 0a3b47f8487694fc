// `train --labels`: rows of texts and labels become a classifier, of which one label holds or several may, a reranker,
// or what gives a number.

#include "models/data/labelled_rows.h"
#include "models/families/config_keys.h"
#include "models/score/label_baselines.h"
#include "runtime/check.h"
#include "tools/cli/encoder_job.h"
#include "tools/cli/label_score.h"
#include "tools/cli/number_score.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

constexpr std::string_view class_head = "ForSequenceClassification";

/// What the labels are, and the names that the model has for them.
struct LabelKind {
  Problem problem = Problem::one_class;
  std::vector<std::string> names;

  bool one_class() const { return problem == Problem::one_class; }
  /// One number a row, of how well two texts go together or whatever else.
  bool one_number() const { return !one_class() && names.size() == 1; }
};

/// That of a model which has such a head already.
LabelKind kind_of_config(const JsonObject& config) {
  LabelKind kind{.problem = Problem::one_class, .names = classes_of(config, 1)};
  kind.problem = problem_of(config, kind.names.size());
  return kind;
}

bool has_class_head(const JsonObject& config) {
  return config.has("architectures") && config.value()["architectures"].dump().find(class_head) != std::string::npos;
}

LabelKind kind_of_labels(const TrainFlags& flags, const std::filesystem::path& checkpoint, const LabelledRows& rows) {
  if (!checkpoint.empty()) return kind_of_config(config_of_run(flags, checkpoint));
  std::string kind = flags.label_kind;
  std::vector<std::string> one_name{"LABEL_0"};
  if (const JsonObject config = first_config(flags); !flags.from.empty() && has_class_head(config)) {
    const LabelKind known = kind_of_config(config);
    if (known.one_number()) one_name = known.names;
    if (kind.empty() && known.one_number()) kind = known.problem == Problem::number ? "number" : "relevance";
  }
  if (kind.empty()) kind = rows.lists ? "several" : have_numbers(rows) ? "number" : "one";
  if (kind == "number") return {Problem::number, one_name};
  if (kind == "relevance") return {Problem::each_class, one_name};
  const std::vector<std::string> names = label_names(rows);
  if (kind == "several") return {Problem::each_class, names};
  check(!rows.lists, "{} has lists of labels, of which several hold; leave out --label-kind one", rows.name);
  return {Problem::one_class, names};
}

/// Numbers of each row: the label, or one of each name.
std::vector<std::vector<float>> numbers_of(const LabelledRows& rows, const LabelKind& kind) {
  if (!kind.one_number()) return sets_of_rows(rows, kind.names);
  std::vector<std::vector<float>> numbers;
  for (const float number : numbers_of_rows(rows)) {
    check(kind.problem == Problem::number || (number >= 0 && number <= 1),
          "{}:{}: {} does not lie between 0 and 1, as how relevant a text is does", rows.name,
          rows.rows[numbers.size()].line, number);
    numbers.push_back({number});
  }
  return numbers;
}

TextData::Split encode_rows(const LabelledRows& rows, const LabelKind& kind, const Tokenizer& tokenizer, int64_t most) {
  TextData::Split split;
  for (const LabelledRow& row : rows.rows)
    split.texts.add(tokenizer, row.first, rows.pairs ? std::optional<std::string_view>(row.second) : std::nullopt, most,
                    fmt::format("{}:{}", rows.name, row.line));
  if (kind.one_class()) {
    for (const int32_t one : classes_of_rows(rows, kind.names)) split.targets.push_back({one});
    return split;
  }
  split.wanted = numbers_of(rows, kind);
  split.targets.assign(split.wanted.size(), std::vector<int32_t>(kind.names.size(), 0));
  return split;
}

ClassedTexts classed(const LabelledRows& rows, const TextData::Split& split) {
  ClassedTexts texts;
  for (const std::vector<int32_t>& target : split.targets) texts.classes.push_back(target.front());
  for (const LabelledRow& row : rows.rows) texts.texts.push_back(row.first + '\n' + row.second);
  return texts;
}

/// What says the same of every text gets: the mean of each number, which is what most rows have where it is yes or no.
std::string constant_baseline(Task task, const TextData::Split& training, const TextData::Split& validation) {
  std::vector<double> means(training.wanted.front().size(), 0);
  for (const std::vector<float>& row : training.wanted)
    for (size_t i = 0; i < row.size(); ++i)
      means[i] += static_cast<double>(row[i]) / static_cast<double>(training.wanted.size());
  std::vector<std::vector<double>> right;
  for (const std::vector<float>& row : validation.wanted) right.emplace_back(row.begin(), row.end());
  return "\nto beat in validation, by the means of training:" +
         score_numbers(task, std::vector(right.size(), means), right).text;
}

std::string labels_text(const LabelKind& kind) {
  if (kind.problem == Problem::number) return "a number each";
  if (kind.one_number()) return "each relevant or not";
  return counted(std::ssize(kind.names), "label") + (kind.one_class() ? "" : ", of which several may hold");
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
  const LabelKind kind = kind_of_labels(flags, checkpoint, training);
  if (!kind.one_class() && flags.label_smoothing > 0)
    throw UsageError("--label-smoothing is for labels of which one holds; leave it out");
  TrainJob job = encoder_job(flags, checkpoint, text,
                             {.architecture = "SequenceClassification",
                              .classes = kind.names,
                              .problem = kind.problem,
                              .own = {"classifier", "logits_proj", "classification_head", "score."},
                              .shared = {"pooler", "sequence_summary", "head."}});
  TextData::Split trained = encode_rows(training, kind, text.tokenizer, flags.context),
                  valid = encode_rows(validation, kind, text.tokenizer, flags.context);
  job.summary = fmt::format("{} of {:.1f} tokens, {}", counted(std::ssize(trained.targets), "row"),
                            static_cast<double>(trained.texts.tokens()) / static_cast<double>(trained.targets.size()),
                            labels_text(kind));
  if (validated) job.summary += fmt::format(", {} for validation", counted(std::ssize(valid.targets), "row"));
  if (const int64_t cut = trained.texts.cut + valid.texts.cut; cut > 0)
    job.summary += fmt::format("; {} cut at {} tokens (--context)", cut, flags.context);
  if (validated && kind.one_class()) {
    const ClassedTexts known = classed(training, trained), others = classed(validation, valid);
    job.summary +=
        fmt::format("\nto beat in validation: majority {:.1f} %, bag of words (naive Bayes) {:.1f} %",
                    100 * majority_accuracy(known.classes, others.classes), 100 * naive_bayes_accuracy(known, others));
  } else if (validated) {
    job.summary += constant_baseline(job.model->task, trained, valid);
    job.summary.pop_back();  // its line end
  }
  const auto labels = static_cast<int64_t>(kind.names.size());
  auto data = encoder_data(flags, *job.model, std::move(trained), std::move(valid), kind.one_class() ? 1 : labels);
  job.summary += '\n' + data->describe("rows");
  if (validated && kind.one_class())
    job.scorer = std::make_unique<LabelScorer>(*job.model, *data, kind.names, flags.evaluation_batches);
  else if (validated)
    job.scorer = std::make_unique<NumberScorer>(*job.model, *data, kind.names.size(), flags.evaluation_batches);
  job.data = std::move(data);
  return job;
}

}  // namespace vkformer
