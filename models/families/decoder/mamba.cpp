#include "models/families/decoder/mamba.h"

#include "models/families/decoder/recurrence.h"
#include "shaders/delta_gates/delta_gates.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/reshape/reshape.h"
#include "shaders/slice/slice.h"

namespace vkformer {

namespace {

/// The factor of each channel, at each position that the convolution sees.
constexpr const char* channel_scales = "mamba.scales";
enum Scale : uint8_t { of_gates, of_values, of_keys, of_queries, of_steps };

bool scales_channels(const Decoder::Mamba& mamba) {
  return mamba.scales[of_values] != 1 || mamba.scales[of_keys] != 1 || mamba.scales[of_queries] != 1;
}

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
  const auto part = [&](int64_t first, int64_t count, Scale scaled) {
    const Value own = slice(graph, projected, first, count);
    return sizes.scales[scaled] == 1 ? own : scale(graph, own, sizes.scales[scaled]);
  };
  const Value gates = step_gates(graph, part(values + columns, H, of_steps), of_heads(".A_log"), of_heads(".dt_bias"));
  Value weight = convolution_weight(layers, name + ".conv1d", columns, sizes.positions);
  if (scales_channels(sizes))  // of what it reads
    weight = multiply(graph, weight, layers.constant(channel_scales, {columns, sizes.positions}));
  const Value seen =
      convolved(layers,
                {.x = slice(graph, projected, values, columns),
                 .weight = weight,
                 .bias = sizes.convolution_bias ? layers.tensor(name + ".conv1d.bias", {columns}) : Value{},
                 .activation = Activation::silu,
                 .texts = layers.pass().texts},
                index);
  const Value read = recurred(
      layers, {.x = seen, .gates = gates, .texts = layers.pass().texts, .skip = of_heads(".D"), .heads = heads}, index);
  const auto norm = [&](Value of) { return normed(layers, decoder, of, name + ".norm"); };
  const Value passed =
      gated_unit(graph, Gate::silu, part(0, values, of_gates), sizes.normed && sizes.normed_first ? norm(read) : read);
  return layers.linear(
      sizes.normed && !sizes.normed_first ? norm(passed) : passed, name + ".out_proj", decoder.width,
      {.bias = sizes.bias, .scale = decoder.residual_scale * sizes.output_scale, .residual = residual});
}

std::vector<ConstantSpec> mamba_constants(const Decoder& decoder) {
  const Decoder::Mamba& sizes = decoder.mamba;
  if (!scales_channels(sizes)) return {};
  const DeltaHeads heads = heads_of_mamba(decoder);
  const int64_t columns = heads.columns(), values = heads.values(), keys = (columns - values) / 2;
  return {{channel_scales, {{columns, sizes.positions}}, [=, scales = sizes.scales, each = sizes.positions] {
             std::vector<float> all;
             for (const auto& [rows, scale] :
                  {std::pair{values, scales[of_values]}, {keys, scales[of_keys]}, {keys, scales[of_queries]}})
               all.insert(all.end(), static_cast<size_t>(rows * each), static_cast<float>(scale));
             return all;
           }}};
}

void add_mamba(ParameterList& list, const Decoder& decoder, const std::string& name) {
  const Decoder::Mamba& sizes = decoder.mamba;
  const DeltaHeads heads = heads_of_mamba(decoder);
  list.linear(name + ".in_proj", decoder.width, heads.values() + heads.columns() + heads.heads, sizes.bias);
  add_convolution(list, name + ".conv1d", heads.columns(), sizes.positions, sizes.convolution_bias);
  add_rates(list, name, heads.heads, [](int64_t head, int64_t) { return static_cast<float>(head + 1); });
  list.ones(name + ".dt_bias", {heads.heads});
  list.ones(name + ".D", {heads.heads});
  if (sizes.normed) list.rms_norm(name + ".norm", heads.values());
  list.linear(name + ".out_proj", heads.values(), decoder.width, sizes.bias);
}

}  // namespace vkformer
