#include "models/embedding/embedder.h"
#include "models/embedding/pair_scale.h"
#include "models/families/vision/two_towers.h"
#include "models/verify/recorded_case.h"

namespace vkformer {

namespace {

/// What one tower gives for the batch.
void compare_vectors(const RecordedCase& recorded, const std::shared_ptr<Store>& store, const Model& tower,
                     const char* name) {
  const double tolerance = recorded.limit("logits_relative_to_max");
  BatchShape shape = recorded.batch();
  if (!tower.reads_ids()) shape.mask = false;
  Graph graph;
  graph.mark_output(add_logits(graph, tower, add_inputs(graph, tower, shape)), name);
  const auto program = recorded.backend().compile(std::move(graph), store);
  for (const auto& input : recorded.feed())
    if ((input.first == "source") == tower.sees()) write_feed(*program, {input});
  program->run();
  const std::vector<float> vectors = program->read(name);
  std::vector<float> units;
  const size_t width = vectors.size() / static_cast<size_t>(shape.rows);
  for (size_t first = 0; first < vectors.size(); first += width) {
    const std::vector<float> unit = of_length_one(std::span(vectors).subspan(first, width));
    units.insert(units.end(), unit.begin(), unit.end());
  }
  recorded.compare(name, units, tolerance);
}

}  // namespace

void verify_match(const RecordedCase& recorded) {
  const Model& model = recorded.model();
  const double tolerance = recorded.limit("logits_relative_to_max");
  const auto store = recorded.load();
  compare_vectors(recorded, store, picture_tower(model), "image_embeds");
  compare_vectors(recorded, store, text_tower(model), "text_embeds");
  Graph graph;
  graph.mark_output(add_logits(graph, model, add_inputs(graph, model, recorded.batch())), "logits");
  const auto program = recorded.backend().compile(std::move(graph), store);
  write_feed(*program, recorded.feed());
  program->run();
  const std::vector<float> cosines = program->read("logits");
  recorded.compare("logits", cosines, tolerance);
  const PairScale scale(model, *store);
  std::vector<float> logits;
  for (const float cosine : cosines) logits.push_back(static_cast<float>(scale.logit(static_cast<double>(cosine))));
  recorded.compare("logits_per_image", logits, tolerance);
}

}  // namespace vkformer
