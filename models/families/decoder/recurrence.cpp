#include "models/families/decoder/recurrence.h"

#include <cmath>

#include "shaders/reshape/reshape.h"

namespace vkformer {

namespace {

Value state_of(Layers& layers, int64_t index, const char* what, const Shape& shape) {
  return layers.graph().persistent(fmt::format("state.{}.{}", index, what), shape, Role::state);
}

}  // namespace

Value convolved(Layers& layers, const CausalConvolution& of, int64_t index) {
  Graph& graph = layers.graph();
  const Value position = layers.pass().position;
  if (!position) return causal_convolution(graph, of);
  const Shape x = graph.shape(of.x);
  const Value tail = state_of(layers, index, "tail", {x[0], graph.shape(of.weight)[1] - 1, x[2]});
  return continued_convolution(graph, of, tail, position);
}

Value recurred(Layers& layers, const GatedDeltaRule& of, int64_t index) {
  Graph& graph = layers.graph();
  const Value position = layers.pass().position;
  if (!position) return gated_delta_rule(graph, of);
  const Shape shape{graph.shape(of.x)[0], of.heads.values(), of.heads.key_width};
  return continued_delta_rule(graph, of, state_of(layers, index, "matrix", shape), position);
}

void add_convolution(ParameterList& list, const std::string& name, int64_t columns, int64_t positions, bool bias) {
  const auto uniform = [&] {
    list.last().start = ParameterSpec::Start::uniform;
    list.last().deviation = 1 / std::sqrt(static_cast<double>(positions));
  };
  list.normal(name + ".weight", {columns, 1, positions});
  uniform();
  if (!bias) return;
  list.zeros(name + ".bias", {columns});
  uniform();
}

Value convolution_weight(Layers& layers, const std::string& name, int64_t columns, int64_t positions) {
  return reshape(layers.graph(), layers.tensor(name + ".weight", {columns, 1, positions}), {columns, positions});
}

void add_rates(ParameterList& list, const std::string& name, int64_t heads,
               float (*rate)(int64_t head, int64_t heads)) {
  list.zeros(name + ".A_log", {heads});
  list.last().start = ParameterSpec::Start::computed;
  list.last().computed = [heads, rate] {
    std::vector<float> values;
    for (int64_t head = 0; head < heads; ++head) values.push_back(std::log(rate(head, heads)));
    return values;
  };
}

}  // namespace vkformer
