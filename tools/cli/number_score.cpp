#include "tools/cli/number_score.h"

#include <algorithm>

#include "models/classification/classifier.h"
#include "models/score/label_sets.h"
#include "models/score/numbers.h"
#include "tools/cli/end_signals.h"

namespace vkformer {

namespace {

std::vector<double> first_of(std::span<const std::vector<double>> rows) {
  std::vector<double> numbers;
  for (const std::vector<double>& row : rows) numbers.push_back(row.front());
  return numbers;
}

}  // namespace

JobScores score_numbers(Task task, std::span<const std::vector<double>> predicted,
                        std::span<const std::vector<double>> right) {
  const nlohmann::json notes = {{"rows", right.size()}};
  if (task == Task::score && right.front().size() > 1) {
    const LabelSetScores scores = score_label_sets(predicted, right);
    return {.values = {{"micro_f1", scores.micro_f1}, {"macro_f1", scores.macro_f1}, {"exact_match", scores.exact}},
            .notes = notes,
            .text = fmt::format("  micro F1 {:.4f}, macro F1 {:.4f}, all labels right in {:.2f} % of {} rows\n",
                                scores.micro_f1, scores.macro_f1, 100 * scores.exact, right.size())};
  }
  const std::vector<double> numbers = first_of(predicted), wanted = first_of(right);
  if (task == Task::score) {
    const double precision = average_precision(numbers, wanted);
    double accuracy = 0;
    for (size_t i = 0; i < numbers.size(); ++i) accuracy += (numbers[i] > 0.5) == (wanted[i] > 0.5);
    accuracy /= static_cast<double>(numbers.size());
    return {.values = {{"average_precision", precision}, {"accuracy", accuracy}},
            .notes = notes,
            .text = fmt::format("  average precision {:.4f}, accuracy {:.2f} % of {} rows\n", precision, 100 * accuracy,
                                right.size())};
  }
  const double error = mean_squared_error(numbers, wanted), pearson = pearson_correlation(numbers, wanted),
               spearman = spearman_correlation(numbers, wanted);
  return {
      .values = {{"pearson", pearson}, {"spearman", spearman}, {"mean_squared_error", error}},
      .notes = notes,
      .text = fmt::format("  mean squared error {:.4g}, correlation {:.4f} (Pearson), {:.4f} (Spearman) of {} rows\n",
                          error, pearson, spearman, right.size())};
}

std::vector<std::string> NumberScorer::metrics() const {
  if (model_.task == Task::number) return {"pearson", "spearman"};
  if (labels_ > 1) return {"micro_f1", "macro_f1", "exact_match"};
  return {"average_precision", "accuracy"};
}

JobScores NumberScorer::score(Backend& backend, Trainer& trainer, bool whole_split) const {
  Classifier classifier(backend, model_, trainer.shared_store(), trainer.workspace());
  const int64_t all = data_.validation_batches(), used = whole_split ? all : std::min(all, batches_);
  std::vector<std::vector<double>> predicted, right;
  for (int64_t i = 0; i < used; ++i) {
    interrupt_if_asked();
    const DataBatch batch = data_.validation_batch(i, used);
    const std::vector<int32_t>& targets = batch.values("targets");
    const std::vector<float>& wanted = batch.numbers("wanted");
    const auto rows = classifier.probabilities(batch);
    for (size_t row = 0; row < rows.size(); ++row) {
      const size_t first = row * labels_;
      if (targets[first] == ignored_target) continue;
      predicted.push_back(rows[row]);
      right.emplace_back(wanted.begin() + static_cast<std::ptrdiff_t>(first),
                         wanted.begin() + static_cast<std::ptrdiff_t>(first + labels_));
    }
  }
  return score_numbers(model_.task, predicted, right);
}

}  // namespace vkformer
