#include "models/families/decoder/mamba.h"

#include "models/families/decoder/recurrence.h"
#include "shaders/delta_gates/delta_gates.h"
#include "shaders/reshape/reshape.h"
#include "shaders/slice/slice.h"

namespace vkformer {

namespace {

/// States are S = exp(g) S + B (step x)': the delta rule without its correction, with C for queries, B for keys and x
/// for values.
DeltaHeads heads_of_mamba(const Decoder& decoder) {
  const Decoder::Mamba& mamba = decoder.mamba;
  return {.key_heads = mamba.groups,
          .heads = mamba.heads,
          .key_width = mamba.state_width,
          .value_width = mamba.head_width,
          .values_first = true,
          .corrects = false};
}

/// Of x [B, T, H Dv], each group of heads by itself where the decoder says so.
Value normed(Layers& layers, const Decoder& decoder, Value x, const std::string& name) {
  const int64_t groups = decoder.mamba.normed_by_group ? decoder.mamba.groups : 1;
  if (groups == 1) return layers.rms_norm(x, name, decoder.epsilon);
  Graph& graph = layers.graph();
  const Shape all = graph.shape(x);
  const int64_t each = all.columns() / groups;
  const Value gains = reshape(graph, layers.tensor(name + ".weight", {all.columns()}), {groups, each});
  const Value grouped = reshape(graph, x, {all[0], all[1], groups, each});
  return reshape(graph, rms_norm(graph, grouped, gains, static_cast<float>(decoder.epsilon)), all);
}

}  // namespace

Value mamba(Layers& layers, const Decoder& decoder, Value x, const std::string& name, int64_t index, Value residual) {
  Graph& graph = layers.graph();
  const Decoder::Mamba& sizes = decoder.mamba;
  const DeltaHeads heads = heads_of_mamba(decoder);
  const int64_t columns = heads.columns(), values = heads.values(), H = heads.heads;
  const Value projected = layers.linear(x, name + ".in_proj", values + columns + H, {.bias = sizes.bias});
  const auto of_heads = [&](const char* parameter) { return layers.tensor(name + parameter, {H}); };
  const Value gates =
      step_gates(graph, slice(graph, projected, values + columns, H), of_heads(".A_log"), of_heads(".dt_bias"));
  const Value seen =
      convolved(layers,
                {.x = slice(graph, projected, values, columns),
                 .weight = convolution_weight(layers, name + ".conv1d", columns, sizes.positions),
                 .bias = sizes.convolution_bias ? layers.tensor(name + ".conv1d.bias", {columns}) : Value{},
                 .activation = Activation::silu,
                 .texts = layers.pass().texts},
                index);
  const Value read = recurred(
      layers, {.x = seen, .gates = gates, .texts = layers.pass().texts, .skip = of_heads(".D"), .heads = heads}, index);
  const Value gated = gated_unit(graph, Gate::silu, slice(graph, projected, 0, values), read);
  return layers.linear(normed(layers, decoder, gated, name + ".norm"), name + ".out_proj", decoder.width,
                       {.bias = sizes.bias, .scale = decoder.residual_scale, .residual = residual});
}

void add_mamba(ParameterList& list, const Decoder& decoder, const std::string& name) {
  const Decoder::Mamba& sizes = decoder.mamba;
  const DeltaHeads heads = heads_of_mamba(decoder);
  list.linear(name + ".in_proj", decoder.width, heads.values() + heads.columns() + heads.heads, sizes.bias);
  add_convolution(list, name + ".conv1d", heads.columns(), sizes.positions, sizes.convolution_bias);
  add_rates(list, name, heads.heads, [](int64_t head, int64_t) { return static_cast<float>(head + 1); });
  list.ones(name + ".dt_bias", {heads.heads});
  list.ones(name + ".D", {heads.heads});
  list.rms_norm(name + ".norm", heads.values());
  list.linear(name + ".out_proj", heads.values(), decoder.width, sizes.bias);
}

}  // namespace vkformer
