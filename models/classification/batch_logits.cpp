#include "models/classification/batch_logits.h"

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
  return run.read("logits");
}

}  // namespace vkformer
