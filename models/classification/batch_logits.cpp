#include "models/classification/batch_logits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/stored_weights.h"
#include "shaders/top_k/top_k.h"

namespace vkformer {

void mark_results(Graph& graph, Value logits, bool likeliest) {
  if (!likeliest) {
    graph.mark_output(logits, "logits");
    return;
  }
  const TopK best = top_k(graph, logits, 1);
  graph.mark_output(best.values, "largest");
  graph.mark_output(best.indices, "likeliest");
}

std::vector<int32_t> read_likeliest(const Program& program) {
  check_results(program.read("largest"), 1);
  return program.read_ints("likeliest");
}

Program& BatchLogits::program(const BatchShape& shape, bool likeliest) {
  for (const Recorded& known : programs_)
    if (known.shape == shape && known.likeliest == likeliest) return *known.program;
  Graph graph;
  mark_results(graph, add_logits(graph, model_, add_inputs(graph, model_, shape)), likeliest);
  programs_.push_back(
      {shape, likeliest,
       backend_.compile(as_stored(std::move(graph), model_, backend_.facts()), store_, {}, workspace_)});
  return *programs_.back().program;
}

Feed inputs_of(const Model& model, const DataBatch& batch) {
  Feed feed = batch.view().feed;
  // What only losses read.
  std::erase_if(feed, [](const auto& input) {
    return input.first == "targets" || input.first == "wanted" || input.first == "shares";
  });
  check_feed(model, batch.shape, feed);
  return feed;
}

Program& BatchLogits::run(const DataBatch& batch, bool likeliest) {
  const Feed feed = inputs_of(model_, batch);
  Program& chosen = program(batch.shape, likeliest);
  write_feed(chosen, feed);
  chosen.run();
  return chosen;
}

std::vector<float> BatchLogits::of(const DataBatch& batch) {
  std::vector<float> logits = run(batch, false).read("logits");
  check_results(logits, logits.size() / static_cast<size_t>(batch.shape.rows));
  return logits;
}

std::vector<int32_t> BatchLogits::likeliest(const DataBatch& batch) { return read_likeliest(run(batch, true)); }

std::vector<std::pair<std::string, const Program*>> BatchLogits::programs() const {
  std::vector<std::pair<std::string, const Program*>> named;
  for (const Recorded& recorded : programs_) named.emplace_back(batch_text(recorded.shape), recorded.program.get());
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

std::vector<double> sigmoids_of(std::span<const float> logits) {
  std::vector<double> shares;
  for (const float logit : logits) shares.push_back(1 / (1 + std::exp(-static_cast<double>(logit))));
  return shares;
}

}  // namespace vkformer
