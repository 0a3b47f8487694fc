#include "models/families/decoder/mixture.h"

#include "shaders/expert_matmul/expert_matmul.h"
#include "shaders/expert_sum/expert_sum.h"
#include "shaders/router/router.h"

namespace vkformer {

namespace {

// The joint tensors of a layer's experts.
constexpr const char *all_gates = ".experts.gate_up_proj", *all_downs = ".experts.down_proj";

}  // namespace

Value mixture(Layers& layers, const Decoder& decoder, Value x, const std::string& name, Value residual) {
  Graph& graph = layers.graph();
  const Decoder::Experts& experts = decoder.experts;
  const Value logits = layers.linear(x, name + ".gate", experts.count, {.bias = false});
  const Routing routing = router(graph, logits, experts.chosen, experts.normalised);
  const Value gates = layers.tensor(name + all_gates, {experts.count, 2 * experts.inner, decoder.width});
  const Value downs = layers.tensor(name + all_downs, {experts.count, decoder.width, experts.inner});
  const Value gated = gated_unit(graph, decoder.gate, expert_matmul(graph, x, gates, routing.chosen));
  return expert_sum(graph, expert_matmul(graph, gated, downs, routing.chosen), routing.weights, residual);
}

void add_mixture(ParameterList& list, const Decoder& decoder, const std::string& name) {
  const Decoder::Experts& experts = decoder.experts;
  const auto expert = [&](int64_t i) { return fmt::format("{}.experts.{}", name, i); };
  list.linear(name + ".gate", decoder.width, experts.count, false);
  for (int64_t i = 0; i < experts.count; ++i)
    for (const char* part : {experts.gate, experts.up}) {
      list.linear(join_names(expert(i), part), decoder.width, experts.inner, false);
      list.last().joint = name + all_gates;
    }
  for (int64_t i = 0; i < experts.count; ++i) {
    list.linear(join_names(expert(i), experts.down), experts.inner, decoder.width, false);
    list.last().joint = name + all_downs;
  }
}

}  // namespace vkformer
