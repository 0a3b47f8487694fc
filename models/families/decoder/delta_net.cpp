#include "models/families/decoder/delta_net.h"

#include <cmath>

#include "models/families/decoder/recurrence.h"
#include "shaders/delta_gates/delta_gates.h"
#include "shaders/head_norm/head_norm.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rms_norm/rms_norm.h"

namespace vkformer {

namespace {

/// What the convolution sees is made by, and the joint tensor of what makes the gates.
constexpr std::string_view convolution_inputs = "in_proj_qkv", gate_inputs = "in_proj_ba";
constexpr std::string_view all_inputs = "in_proj_qkvz";  ///< of files by key head
constexpr const char *query_gain = "delta.query.gain", *key_gain = "delta.key.gain";
constexpr double length_epsilon = 1e-6;  // of queries' and keys' squares

DeltaHeads heads_of_delta_net(const Decoder& decoder) {
  const Decoder::DeltaNet& net = decoder.delta;
  return {.key_heads = net.key_heads, .heads = net.heads, .key_width = net.key_width, .value_width = net.value_width};
}

/// Each query and key divided by its length, and queries by sqrt(Dk): norms by root mean squares whose gains are
/// smaller by sqrt(Dk).
Value normed(Layers& layers, const DeltaHeads& heads, Value x) {
  const Shape gain{heads.key_width};
  return head_norm(layers.graph(), x, {.gain = layers.constant(query_gain, gain), .heads = heads.key_heads},
                   {.gain = layers.constant(key_gain, gain), .heads = heads.key_heads},
                   static_cast<float>(length_epsilon / static_cast<double>(heads.key_width)));
}

/// The same parameters, which have rows for each key head in one of the files' two tensors.
void add_inputs_by_key_head(ParameterList& list, const Decoder& decoder, const DeltaHeads& heads,
                            const std::string& name) {
  const int64_t key_heads = heads.key_heads, each = heads.heads / key_heads;  // heads of values of one of keys
  const int64_t keys = 2 * heads.key_width, values = each * heads.value_width;
  const auto add = [&](std::string_view part, int64_t rows, std::string_view tensor, int64_t step,
                       std::vector<ParameterSpec::Stack::Span> spans) {
    list.linear(join_names(name, part), decoder.width, rows, false);
    list.last().stack = {.tensor = join_names(name, tensor) + ".weight",
                         .count = key_heads,
                         .step = step,
                         .layout = ParameterSpec::Stack::Layout::groups,
                         .spans = std::move(spans)};
  };
  const int64_t of_head = keys + 2 * values;
  add(convolution_inputs, heads.columns(), all_inputs, of_head,
      {{0, heads.key_width}, {heads.key_width, heads.key_width}, {keys, values}});
  add("in_proj_z", heads.values(), all_inputs, of_head, {{keys + values, values}});
  for (const auto& [part, first] : {std::pair<std::string_view, int64_t>{"in_proj_b", 0}, {"in_proj_a", each}}) {
    add(part, heads.heads, gate_inputs, 2 * each, {{first, each}});
    list.last().joint = join_names(name, gate_inputs) + ".weight";
  }
}

}  // namespace

Value delta_net(Layers& layers, const Decoder& decoder, Value x, const std::string& name, int64_t index,
                Value residual) {
  Graph& graph = layers.graph();
  const Pass& pass = layers.pass();
  const DeltaHeads heads = heads_of_delta_net(decoder);
  const int64_t B = graph.shape(x)[0], T = graph.shape(x)[1], columns = heads.columns();
  const auto project = [&](std::string_view part, int64_t out) {
    return layers.linear(x, join_names(name, part), out, {.bias = false});
  };
  // All that reads x first: dispatches that need not wait for each other.
  const Value mixed = project(convolution_inputs, columns), z = project("in_proj_z", heads.values());
  const Value gates =
      delta_gates(graph, project(gate_inputs, 2 * heads.heads), layers.tensor(name + ".A_log", {heads.heads}),
                  layers.tensor(name + ".dt_bias", {heads.heads}));
  const Value seen =
      convolved(layers,
                {.x = mixed,
                 .weight = convolution_weight(layers, name + ".conv1d", columns, decoder.delta.positions),
                 .activation = Activation::silu,
                 .texts = pass.texts},
                index);
  const Value read =
      recurred(layers, {.x = normed(layers, heads, seen), .gates = gates, .texts = pass.texts, .heads = heads}, index);
  const Value each = reshape(graph, read, {B * T * heads.heads, heads.value_width});
  const Value results = reshape(graph, layers.rms_norm(each, name + ".norm", decoder.epsilon), {B, T, heads.values()});
  return layers.linear(gated_unit(graph, Gate::silu, z, results), name + ".out_proj", decoder.width,
                       {.bias = false, .scale = decoder.residual_scale, .residual = residual});
}

void add_delta_net(ParameterList& list, const Decoder& decoder, const std::string& name) {
  const DeltaHeads heads = heads_of_delta_net(decoder);
  if (decoder.delta.by_key_head) {
    add_inputs_by_key_head(list, decoder, heads, name);
  } else {
    list.linear(name + ".in_proj_qkv", decoder.width, heads.columns(), false);
    list.linear(name + ".in_proj_z", decoder.width, heads.values(), false);
    list.joint_linear(name, gate_inputs, {{"in_proj_b", heads.heads}, {"in_proj_a", heads.heads}}, decoder.width,
                      false);
  }
  add_convolution(list, name + ".conv1d", heads.columns(), decoder.delta.positions, false);
  // From 0 to 16, in even steps where transformers draws.
  add_rates(list, name, heads.heads, [](int64_t head, int64_t count) {
    return 16 * (static_cast<float>(head) + 0.5f) / static_cast<float>(count);
  });
  list.ones(name + ".dt_bias", {heads.heads});
  list.rms_norm(name + ".norm", heads.value_width);
  list.linear(name + ".out_proj", heads.values(), decoder.width, false);
}

std::vector<ConstantSpec> delta_net_constants(const Decoder& decoder) {
  const int64_t width = decoder.delta.key_width;
  const auto gain = [width](const char* name, double value) {
    return ConstantSpec{name, {{width}}, [width, value] {
                          return std::vector<float>(static_cast<size_t>(width), static_cast<float>(value));
                        }};
  };
  const double root = std::sqrt(static_cast<double>(width));
  return {gain(query_gain, 1 / (root * root)), gain(key_gain, 1 / root)};
}

}  // namespace vkformer
