#include "models/embedding/embedder.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/check.h"

namespace vkformer {

namespace {

/// Adds one token's hidden state to a sum.
void add_state(std::vector<double>& sum, std::span<const float> state) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(state[i]);
}

std::vector<float> of_length_one(const std::vector<double>& vector) {
  double squares = 0;
  for (const double x : vector) squares += x * x;
  // A vector of zeros has no direction: it stays as it is.
  const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
  std::vector<float> scaled;
  for (const double x : vector) scaled.push_back(static_cast<float>(x * scale));
  return scaled;
}

}  // namespace

Model without_head(Model model) {
  check(!model.has_encoder(), "a {} model makes no embeddings; encoders and decoders do", model.family);
  model.task = Task::states;
  model.head = [](Graph&, const Pass&, Value hidden) { return hidden; };
  Graph graph;
  add_logits(graph, model, add_inputs(graph, model, {}));
  std::set<std::string> used;
  for (const Value tensor : graph.persistents()) used.insert(graph.info(tensor).name);
  std::erase_if(model.parameters, [&](const ParameterSpec& parameter) {
    return !used.contains(parameter.name) && !used.contains(parameter.joint);
  });
  return model;
}

Embedder::Embedder(Backend& backend, const Model& model, std::shared_ptr<Store> store,
                   std::shared_ptr<Workspace> workspace, Pooling pooling)
    : states_(backend, model, std::move(store), std::move(workspace)), pooling_(pooling) {
  check(model.task == Task::states, "the {} model has a head", model.family);
}

std::vector<std::vector<float>> Embedder::embeddings(const DataBatch& batch, size_t rows) {
  const std::vector<float> states = states_.of(batch);
  const std::vector<int32_t>& mask = batch.values("mask");
  const auto length = static_cast<size_t>(batch.shape.positions);
  const size_t width = states.size() / mask.size();
  std::vector<std::vector<float>> embeddings;
  for (size_t row = 0; row < rows; ++row) {
    const auto present = std::span(mask).subspan(row * length, length);
    const auto first = static_cast<size_t>(std::ranges::find(present, 1) - present.begin());
    const auto count = static_cast<size_t>(std::ranges::count(present, 1));
    const size_t from = pooling_ == Pooling::last ? first + count - 1 : first;
    const size_t to = pooling_ == Pooling::first ? first + 1 : first + count;
    std::vector<double> sum(width);
    for (size_t t = from; t < to; ++t) add_state(sum, std::span(states).subspan((row * length + t) * width, width));
    embeddings.push_back(of_length_one(sum));
  }
  return embeddings;
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
