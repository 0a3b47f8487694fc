#include "models/classification/classifier.h"

#include <algorithm>
#include <cmath>

#include "runtime/check.h"

namespace vkformer {

namespace {

std::vector<double> softmax_of(std::span<const float> logits) {
  const auto largest = static_cast<double>(*std::ranges::max_element(logits));
  std::vector<double> shares;
  double sum = 0;
  for (float logit : logits) sum += shares.emplace_back(std::exp(static_cast<double>(logit) - largest));
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace

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
  if (texts.ids.empty()) return;
  const std::vector<ExampleLength> lengths = texts.lengths();
  const LengthBatches batches(lengths, {.positions = positions, .most_shapes = 4, .padding = 0.1});
  for (const LengthBatches::Batch& batch : batches.in_order(lengths)) {
    const BatchShape shape = text_shape(batches.buckets()[batch.bucket], inputs);
    const auto rows = classifier.probabilities(text_batch(shape, texts, batch.examples, inputs));
    for (size_t i = 0; i < batch.examples.size(); ++i) take(batch.examples[i], rows[i]);
  }
}

}  // namespace vkformer
