#include "models/generation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "runtime/check.h"
#include "runtime/random.h"
#include "shaders/embedding/embedding.h"
#include "shaders/reshape/reshape.h"

namespace vkformer {

int32_t sample(std::span<const float> logits, const SamplingSettings& settings, uint64_t draw) {
  if (settings.temperature == 0)
    return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  // Sorted by logit; the id breaks ties, so that the order is the same everywhere.
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto logit = [&](int32_t id) { return static_cast<double>(logits[static_cast<size_t>(id)]); };
  std::sort(ids.begin(), ids.end(),
            [&](int32_t a, int32_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
  if (settings.top_k > 0) ids.resize(std::min(ids.size(), static_cast<size_t>(settings.top_k)));
  std::vector<double> weights;
  double total = 0;
  for (int32_t id : ids) {
    weights.push_back(std::exp((logit(id) - logit(ids[0])) / settings.temperature));
    total += weights.back();
  }
  if (settings.top_p < 1) {
    // The smallest set of tokens whose probabilities reach top_p.
    double sum = 0;
    size_t kept = 0;
    while (kept < weights.size() && sum < settings.top_p * total) sum += weights[kept++];
    ids.resize(std::max<size_t>(kept, 1));
    total = std::accumulate(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(ids.size()), 0.0);
  }
  constexpr uint32_t sampling_stream = 0x73616d70;  // apart from the streams of dropout and initialisation
  double target = uniform(settings.seed, sampling_stream, draw) * total;
  for (size_t i = 0; i < ids.size(); ++i)
    if ((target -= weights[i]) < 0) return ids[i];
  return ids.back();
}

Generator::Generator(Backend& backend, const Model& model, int64_t capacity)
    : backend_(backend),
      model_(model),
      capacity_(capacity > 0 ? std::min(capacity, model.context) : model.context),
      blocks_(parameter_blocks(model.parameters, backend.facts().max_allocation)) {
  StoreLayout layout;
  add_model(layout, model, blocks_);
  for (const CacheSpec& cache : model.caches) {
    const TensorType type{{1, capacity_, cache.columns}, DType::f32};
    layout.add_block("block of " + cache.name, std::vector<StoreLayout::Part>{{cache.name, type}});
  }
  store_ = backend.make_store(layout);
  write_constants(*store_, model);
}

// The prompt is padded to `positions`: what padding writes into the cache lies behind the last token, and is
// overwritten before any query sees it.
std::unique_ptr<Program> Generator::make_program(int64_t positions) {
  Graph graph;
  const Value ids = graph.input("ids", {1, positions}, DType::i32);
  const Value position = graph.input("position", {1}, DType::i32);
  Value hidden = model_.hidden(graph, {.ids = ids, .position = position, .capacity = capacity_});
  hidden = reshape(graph, hidden, {positions, graph.shape(hidden)[-1]});
  if (positions > 1) hidden = embedding(graph, hidden, graph.input("last", {1}, DType::i32));
  graph.mark_output(model_.head(graph, hidden), "logits");
  return backend_.compile(std::move(graph), store_);
}

std::vector<float> Generator::run(Program& program, std::span<const int32_t> tokens) {
  for (int32_t token : tokens)
    check(token >= 0 && token < model_.vocabulary, "token {} is outside the vocabulary of {}", token,
          model_.vocabulary);
  check(position_ + static_cast<int64_t>(tokens.size()) <= capacity_,
        "{} positions are taken, {} more don't fit into the context of {}", position_, tokens.size(), capacity_);
  const int64_t positions = program.graph().shape(program.graph().find("ids")).elements();
  std::vector<int32_t> padded(tokens.begin(), tokens.end());
  padded.resize(static_cast<size_t>(positions), 0);
  program.write("ids", padded);
  program.write("position", std::vector<int32_t>{static_cast<int32_t>(position_)});
  if (positions > 1) program.write("last", std::vector<int32_t>{static_cast<int32_t>(tokens.size()) - 1});
  program.run();
  position_ += static_cast<int64_t>(tokens.size());
  return program.read("logits");
}

std::vector<float> Generator::prefill(std::span<const int32_t> prompt) {
  check(!prompt.empty(), "the prompt is empty; give at least one token");
  check(static_cast<int64_t>(prompt.size()) <= capacity_, "the prompt has {} tokens, the context only {}; shorten it",
        prompt.size(), capacity_);
  position_ = 0;
  // Powers of two keep the number of recorded programs small.
  const auto padded = static_cast<int64_t>(std::bit_ceil(std::max<uint64_t>(prompt.size(), 8)));
  auto& program = prefills_[std::min(padded, capacity_)];
  if (!program) program = make_program(std::min(padded, capacity_));
  last_prefill_ = program.get();
  return run(*program, prompt);
}

std::vector<float> Generator::decode(int32_t token) {
  if (!decode_) decode_ = make_program(1);
  return run(*decode_, std::span(&token, 1));
}

}  // namespace vkformer
