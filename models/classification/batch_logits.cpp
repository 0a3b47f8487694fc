#include "models/classification/batch_logits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace vkformer {

Program& BatchLogits::program(const BatchShape& shape) {
  for (const auto& [known, program] : programs_)
    if (known == shape) return *program;
  Graph graph;
  graph.mark_output(add_logits(graph, model_, add_inputs(graph, model_, shape)), "logits");
  programs_.emplace_back(shape, backend_.compile(std::move(graph), store_, {}, workspace_));
  return *programs_.back().second;
}

std::vector<float> BatchLogits::of(const DataBatch& batch) {
  Feed feed = batch.view().feed;
  std::erase_if(feed, [](const auto& input) { return input.first == "targets"; });
  check_feed(model_, batch.shape, feed);
  Program& run = program(batch.shape);
  write_feed(run, feed);
  run.run();
  std::vector<float> logits = run.read("logits");
  check_results(logits, logits.size() / static_cast<size_t>(batch.shape.rows));
  return logits;
}

std::vector<std::pair<std::string, const Program*>> BatchLogits::programs() const {
  std::vector<std::pair<std::string, const Program*>> named;
  for (const auto& [shape, program] : programs_) named.emplace_back(batch_text(shape), program.get());
  return named;
}

std::string batch_text(const BatchShape& shape) {
  return fmt::format("{} text{} of {} tokens", shape.rows, shape.rows == 1 ? "" : "s", shape.positions);
}

std::vector<double> softmax_of(std::span<const float> logits) {
  const auto largest = static_cast<double>(*std::ranges::max_element(logits));
  std::vector<double> shares;
  double sum = 0;
  for (float logit : logits) sum += shares.emplace_back(std::exp(static_cast<double>(logit) - largest));
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace vkformer
