#include "models/embedding/embedder.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "models/adapters/lora.h"
#include "models/classification/batch_logits.h"
#include "models/stored_weights.h"
#include "runtime/check.h"
#include "shaders/matmul/matmul.h"

namespace vkformer {

std::vector<float> of_length_one(std::span<const float> vector) {
  double squares = 0;
  for (const float x : vector) squares += static_cast<double>(x) * static_cast<double>(x);
  // A vector of zeros has no direction: it stays as it is.
  const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
  std::vector<float> scaled;
  for (const float x : vector) scaled.push_back(static_cast<float>(static_cast<double>(x) * scale));
  return scaled;
}

Model without_head(Model model) {
  check(!model.has_encoder(), "a {} model makes no embeddings; encoders and decoders do", model.family);
  model.task = Task::states;
  model.head = [](Graph&, const Pass&, Value hidden) { return hidden; };
  Graph graph;
  add_logits(graph, model, add_inputs(graph, model, {}));
  graph = adapted(std::move(graph), model);
  std::set<std::string> used;
  for (const Value tensor : graph.persistents()) used.insert(graph.info(tensor).name);
  std::erase_if(model.parameters, [&](const ParameterSpec& parameter) {
    return !used.contains(parameter.name) && !used.contains(parameter.joint);
  });
  if (!model.adapter) return model;
  auto adapter = std::make_shared<Adapter>(*model.adapter);
  std::erase_if(adapter->products, [&](const LowRankProduct& product) { return !used.contains(product.weight); });
  model.adapter = std::move(adapter);
  return model;
}

Embedder::Embedder(Backend& backend, const Model& model, std::shared_ptr<Store> store,
                   std::shared_ptr<Workspace> workspace, Pooling pooling, std::vector<DenseLayer> dense)
    : backend_(backend),
      model_(model),
      store_(std::move(store)),
      workspace_(std::move(workspace)),
      pooling_(pooling),
      dense_(std::move(dense)) {
  check(model.task == Task::states || model.task == Task::vector, "the {} model has a head", model.family);
}

Program& Embedder::program(const BatchShape& shape) {
  for (const Recorded& known : programs_)
    if (known.shape == shape) return *known.program;
  Graph graph;
  Value pooled = add_logits(graph, model_, add_inputs(graph, model_, shape));
  // A vector of each row comes back, not of each token.
  if (model_.task == Task::states)
    pooled = matmul(graph, graph.input("weights", {shape.rows, 1, shape.positions}), pooled);
  graph.mark_output(pooled, "pooled");
  graph = as_stored(std::move(graph), model_, backend_.facts());
  programs_.push_back({shape, backend_.compile(std::move(graph), store_, {}, workspace_)});
  return *programs_.back().program;
}

std::vector<std::vector<float>> Embedder::embeddings(const DataBatch& batch, size_t rows) {
  const Feed feed = inputs_of(model_, batch);
  Program& chosen = program(batch.shape);
  write_feed(chosen, feed);
  if (model_.task == Task::states) {
    const auto length = static_cast<size_t>(batch.shape.positions);
    chosen.write("weights", pooling_weights(batch.values("mask"), length, pooling_));
  }
  chosen.run();
  const std::vector<float> pooled = chosen.read("pooled");
  const size_t width = pooled.size() / static_cast<size_t>(batch.shape.rows);
  check_results(pooled, width);
  std::vector<std::vector<float>> embeddings;
  for (size_t row = 0; row < rows; ++row) {
    const std::span own = std::span(pooled).subspan(row * width, width);
    std::vector<float> vector(own.begin(), own.end());
    for (const DenseLayer& layer : dense_) vector = layer.of(vector);
    embeddings.push_back(of_length_one(vector));
  }
  return embeddings;
}

std::vector<std::pair<std::string, const Program*>> Embedder::programs() const {
  std::vector<std::pair<std::string, const Program*>> named;
  for (const Recorded& recorded : programs_) named.emplace_back(batch_text(recorded.shape), recorded.program.get());
  return named;
}

void embed_by_length(Embedder& embedder, const TokenTexts& texts, const TextInputs& inputs, int64_t positions,
                     const std::function<void(size_t text, std::vector<float> embedding)>& take) {
  for_batches_by_length(texts, inputs, positions, [&](const DataBatch& batch, std::span<const uint32_t> examples) {
    auto rows = embedder.embeddings(batch, examples.size());
    for (size_t i = 0; i < examples.size(); ++i) take(examples[i], std::move(rows[i]));
  });
}

double similarity(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

}  // namespace vkformer
