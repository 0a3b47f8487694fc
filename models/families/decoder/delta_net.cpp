#include "models/families/decoder/delta_net.h"

#include <cmath>

#include "shaders/causal_convolution/causal_convolution.h"
#include "shaders/delta_gates/delta_gates.h"
#include "shaders/gated_delta_rule/gated_delta_rule.h"
#include "shaders/head_norm/head_norm.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rms_norm/rms_norm.h"

namespace vkformer {

namespace {

/// The joint tensor of what makes the gates.
constexpr std::string_view gate_inputs = "in_proj_ba";
constexpr const char *query_gain = "delta.query.gain", *key_gain = "delta.key.gain";
constexpr double length_epsilon = 1e-6;  // of queries' and keys' squares

DeltaHeads heads_of(const Decoder& decoder) {
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

}  // namespace

Value delta_net(Layers& layers, const Decoder& decoder, Value x, const std::string& name, int64_t index,
                Value residual) {
  Graph& graph = layers.graph();
  const Pass& pass = layers.pass();
  const DeltaHeads heads = heads_of(decoder);
  const int64_t B = graph.shape(x)[0], T = graph.shape(x)[1], K = decoder.delta.positions, columns = heads.columns();
  const auto project = [&](std::string_view part, int64_t out) {
    return layers.linear(x, join_names(name, part), out, {.bias = false});
  };
  const CausalConvolution convolution{
      .x = project("in_proj_qkv", columns),
      .weight = reshape(graph, layers.tensor(name + ".conv1d.weight", {columns, 1, K}), {columns, K}),
      .activation = Activation::silu,
      .texts = pass.texts};
  const auto state = [&](const char* what, const Shape& shape) {
    return graph.persistent(fmt::format("state.{}.{}", index, what), shape, Role::state);
  };
  const Value seen = pass.position
                         ? continued_convolution(graph, convolution, state("tail", {B, K - 1, columns}), pass.position)
                         : causal_convolution(graph, convolution);
  const Value gates =
      delta_gates(graph, project(gate_inputs, 2 * heads.heads), layers.tensor(name + ".A_log", {heads.heads}),
                  layers.tensor(name + ".dt_bias", {heads.heads}));
  const Value qkv = normed(layers, heads, seen);
  const Value read =
      pass.position ? continued_delta_rule(graph, qkv, gates, pass.texts,
                                           state("matrix", {B, heads.values(), heads.key_width}), pass.position, heads)
                    : gated_delta_rule(graph, qkv, gates, pass.texts, heads);
  const Value each = reshape(graph, read, {B * T * heads.heads, heads.value_width});
  const Value results = reshape(graph, layers.rms_norm(each, name + ".norm", decoder.epsilon), {B, T, heads.values()});
  const Value gated = gated_unit(graph, decoder.gate, project("in_proj_z", heads.values()), results);
  return layers.linear(gated, name + ".out_proj", decoder.width,
                       {.bias = false, .scale = decoder.residual_scale, .residual = residual});
}

void add_delta_net(ParameterList& list, const Decoder& decoder, const std::string& name) {
  const DeltaHeads heads = heads_of(decoder);
  list.linear(name + ".in_proj_qkv", decoder.width, heads.columns(), false);
  list.linear(name + ".in_proj_z", decoder.width, heads.values(), false);
  list.joint_linear(name, gate_inputs, {{"in_proj_b", heads.heads}, {"in_proj_a", heads.heads}}, decoder.width, false);
  // As PyTorch begins convolutions.
  list.normal(name + ".conv1d.weight", {heads.columns(), 1, decoder.delta.positions});
  list.last().start = ParameterSpec::Start::uniform;
  list.last().deviation = 1 / std::sqrt(static_cast<double>(decoder.delta.positions));
  // exp(A_log) from 0 to 16, in even steps where transformers draws.
  list.zeros(name + ".A_log", {heads.heads});
  list.last().start = ParameterSpec::Start::computed;
  list.last().computed = [count = heads.heads] {
    std::vector<float> values;
    for (int64_t h = 0; h < count; ++h)
      values.push_back(std::log(16 * (static_cast<float>(h) + 0.5f) / static_cast<float>(count)));
    return values;
  };
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
