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
    : backend_(backend), model_(model), store_(std::move(store)), workspace_(std::move(workspace)) {
  check(model.task == Task::classify, "this {} model gives no class of a text; train one with --labels", model.family);
}

Program& Classifier::program(const BatchShape& shape) {
  for (const auto& [known, program] : programs_)
    if (known == shape) return *program;
  Graph graph;
  graph.mark_output(add_logits(graph, model_, add_inputs(graph, model_, shape)), "logits");
  programs_.emplace_back(shape, backend_.compile(std::move(graph), store_, {}, workspace_));
  return *programs_.back().second;
}

std::vector<std::vector<double>> Classifier::probabilities(const DataBatch& batch) {
  Feed feed = batch.view().feed;
  std::erase_if(feed, [](const auto& input) { return input.first == "targets"; });
  check_feed(model_, batch.shape, feed);
  Program& run = program(batch.shape);
  write_feed(run, feed);
  run.run();
  const std::vector<float> logits = run.read("logits");
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
