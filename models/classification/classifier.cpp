#include "models/classification/classifier.h"

#include "runtime/check.h"

namespace vkformer {

Classifier::Classifier(Backend& backend, const Model& model, std::shared_ptr<Store> store,
                       std::shared_ptr<Workspace> workspace)
    : logits_(backend, model, std::move(store), std::move(workspace)) {
  check(model.task == Task::classify, "this {} model gives no class of a text; train one with --labels", model.family);
}

std::vector<std::vector<double>> Classifier::probabilities(const DataBatch& batch) {
  const std::vector<float> logits = logits_.of(batch);
  const size_t classes = logits.size() / static_cast<size_t>(batch.shape.rows);
  std::vector<std::vector<double>> rows;
  for (std::span<const float> rest(logits); !rest.empty(); rest = rest.subspan(classes))
    rows.push_back(softmax_of(rest.first(classes)));
  return rows;
}

void classify_by_length(Classifier& classifier, const TokenTexts& texts, const TextInputs& inputs, int64_t positions,
                        const std::function<void(size_t text, const std::vector<double>& probabilities)>& take) {
  for_batches_by_length(texts, inputs, positions, [&](const DataBatch& batch, std::span<const uint32_t> examples) {
    const auto rows = classifier.probabilities(batch);
    for (size_t i = 0; i < examples.size(); ++i) take(examples[i], rows[i]);
  });
}

}  // namespace vkformer
