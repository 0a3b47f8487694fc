#include "models/classification/classifier.h"

#include "runtime/check.h"

namespace vkformer {

bool classifies(const Model& model) { return model.task == Task::classify || model.task == Task::score; }

bool gives_numbers(const Model& model) { return model.task == Task::number; }

Classifier::Classifier(Backend& backend, const Model& model, std::shared_ptr<Store> store,
                       std::shared_ptr<Workspace> workspace)
    : task_(model.task), logits_(backend, model, std::move(store), std::move(workspace)) {
  check(classifies(model) || gives_numbers(model), "this {} model gives no class of a text; train one with --labels",
        model.family);
}

std::vector<std::vector<float>> Classifier::logits_of(const DataBatch& batch) {
  const std::vector<float> logits = logits_.of(batch);
  const size_t classes = logits.size() / static_cast<size_t>(batch.shape.rows);
  std::vector<std::vector<float>> rows;
  for (auto row = logits.begin(); row != logits.end(); row += static_cast<ptrdiff_t>(classes))
    rows.emplace_back(row, row + static_cast<ptrdiff_t>(classes));
  return rows;
}

std::vector<double> Classifier::probabilities_of(std::span<const float> logits) const {
  if (task_ == Task::number) return {logits.begin(), logits.end()};
  return task_ == Task::score ? sigmoids_of(logits) : softmax_of(logits);
}

std::vector<std::vector<double>> Classifier::probabilities(const DataBatch& batch) {
  std::vector<std::vector<double>> rows;
  for (const std::vector<float>& logits : logits_of(batch)) rows.push_back(probabilities_of(logits));
  return rows;
}

void classify_by_length(Classifier& classifier, const TokenTexts& texts, const TextInputs& inputs, int64_t positions,
                        const std::function<void(size_t text, std::span<const float> logits)>& take) {
  for_batches_by_length(texts, inputs, positions, [&](const DataBatch& batch, std::span<const uint32_t> examples) {
    const auto rows = classifier.logits_of(batch);
    for (size_t i = 0; i < examples.size(); ++i) take(examples[i], rows[i]);
  });
}

}  // namespace vkformer
