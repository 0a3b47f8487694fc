#include "models/families/decoder/layer_inputs.h"

#include <cmath>

#include "shaders/elementwise/elementwise.h"
#include "shaders/embedding/embedding.h"
#include "shaders/reshape/reshape.h"
#include "shaders/slice/slice.h"

namespace vkformer {

namespace {

constexpr const char* table = "model.embed_tokens_per_layer.weight";
constexpr const char *projection = "model.per_layer_model_projection", *norm = "model.per_layer_projection_norm";
constexpr const char *gate = ".per_layer_input_gate", *output = ".per_layer_projection";

int64_t all_columns(const Decoder& d) { return std::ssize(d.layers) * d.layer_inputs.width; }

}  // namespace

Value all_layer_inputs(Layers& layers, const Decoder& decoder, Value x) {
  Graph& graph = layers.graph();
  const Graph::Scope scope(graph, "layer_inputs");
  const auto [P, vocabulary] = decoder.layer_inputs;
  const int64_t columns = all_columns(decoder);
  const Value rows = embedding(graph, layers.tensor(table, {vocabulary, columns}), layers.pass().ids,
                               {.scale = std::sqrt(static_cast<double>(P))});
  const Value projected = layers.linear(x, projection, columns,
                                        {.bias = false, .scale = 1 / std::sqrt(static_cast<double>(decoder.width))});
  const Shape shape = graph.shape(projected), each{shape.elements() / P, P};
  const Value sum =
      layers.rms_norm_sum(reshape(graph, projected, each), norm, decoder.epsilon, 0, {reshape(graph, rows, each)});
  return reshape(graph, scale(graph, sum, std::sqrt(0.5)), shape);
}

Value from_layer_input(Layers& layers, const Decoder& decoder, Value x, Value inputs, int64_t layer,
                       const std::string& name) {
  Graph& graph = layers.graph();
  const int64_t P = decoder.layer_inputs.width;
  const Value gated = gated_unit(graph, decoder.gate, layers.linear(x, name + gate, P, {.bias = false}),
                                 slice(graph, inputs, layer * P, P));
  return layers.linear(gated, name + output, decoder.width, {.bias = false});
}

void add_all_layer_inputs(ParameterList& list, const Decoder& decoder) {
  list.normal(table, {decoder.layer_inputs.vocabulary, all_columns(decoder)});
  list.linear(projection, decoder.width, all_columns(decoder), false);
  list.rms_norm(norm, decoder.layer_inputs.width);
}

void add_layer_input(ParameterList& list, const Decoder& decoder, const std::string& name) {
  list.linear(name + gate, decoder.width, decoder.layer_inputs.width, false);
  list.linear(name + output, decoder.layer_inputs.width, decoder.width, false);
  list.rms_norm(name + layer_input_norm, decoder.width);
}

}  // namespace vkformer
