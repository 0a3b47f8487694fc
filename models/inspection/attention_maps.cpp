#include "models/inspection/attention_maps.h"

#include <array>

#include "models/adapters/lora.h"
#include "models/parameters.h"
#include "models/stored_weights.h"
#include "runtime/check.h"
#include "shaders/attention/attention.h"

namespace vkformer {

namespace {

/// Families with an encoder call its use by the decoder "cross"; of the others, those that look back only are decoders.
AttentionMap::Kind kind_of(const Node& node) {
  if (node.scope.ends_with("cross")) return AttentionMap::Kind::cross;
  return looks_back(node) ? AttentionMap::Kind::decoder : AttentionMap::Kind::encoder;
}

/// "layers.3.qk_norm" is 3: the first number in a scope.
int64_t layer_in(const std::string& scope) {
  const size_t digits = scope.find_first_of("0123456789");
  return digits == scope.npos ? 0 : std::stoll(scope.substr(digits));
}

std::string output_of(size_t map) { return fmt::format("attention.{}", map); }

/// Appends the weights of all attentions so far, as outputs. Without their values.
std::vector<AttentionMap> mark_attentions(Graph& graph, bool recurrent) {
  std::vector<AttentionMap> maps;
  std::array<int64_t, 3> layers{};
  const std::vector<Node> nodes = graph.nodes();
  for (const Node& node : nodes) {
    if (!is_attention(node)) continue;
    const Value weights = attention_weights(graph, node);
    graph.mark_output(weights, output_of(maps.size()));
    const Shape& shape = graph.shape(weights);
    const AttentionMap::Kind kind = kind_of(node);
    const int64_t among_all = layers[static_cast<size_t>(kind)]++;
    maps.push_back({.kind = kind,
                    .layer = recurrent ? layer_in(node.scope) : among_all,
                    .heads = shape[1],
                    .queries = shape[2],
                    .keys = shape[3]});
  }
  return maps;
}

}  // namespace

std::string_view name_of(AttentionMap::Kind kind) {
  constexpr std::array<std::string_view, 3> names = {"encoder", "decoder", "cross"};
  return names[static_cast<size_t>(kind)];
}

std::vector<AttentionMap> attention_maps(Backend& backend, const Model& model, std::shared_ptr<Store> weights,
                                         const InspectedText& text) {
  const BatchShape batch{.rows = 1,
                         .positions = std::ssize(text.ids),
                         .source_positions = std::ssize(text.source),
                         .segments = !text.segments.empty()};
  Feed feed = {{"ids", text.ids}};
  if (!text.source.empty()) feed.emplace_back("source", text.source);
  if (batch.segments) feed.emplace_back("segments", text.segments);
  check_feed(model, batch, feed);
  Graph graph;
  Pass pass = add_inputs(graph, model, batch);
  if (model.has_encoder()) pass.memory = model.encode(graph, pass);
  model.hidden(graph, pass);
  std::vector<AttentionMap> maps = mark_attentions(graph, model.recurrent);
  check(!maps.empty(), "this {} model has no attention, only states", model.family);

  graph = with_stored_types(adapted(std::move(graph), model), model);
  const auto program = backend.compile(std::move(graph), std::move(weights));
  write_feed(*program, feed);
  program->run();
  for (size_t i = 0; i < maps.size(); ++i) {
    maps[i].weights = program->read(output_of(i));
    check_results(maps[i].weights, static_cast<size_t>(maps[i].keys));
  }
  return maps;
}

}  // namespace vkformer
