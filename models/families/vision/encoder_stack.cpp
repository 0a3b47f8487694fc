#include "models/families/vision/encoder_stack.h"

#include "runtime/check.h"
#include "shaders/add_bias/add_bias.h"
#include "shaders/reshape/reshape.h"
#include "shaders/slice/slice.h"

namespace vkformer {

namespace {

constexpr std::string_view qkv = "qkv";  ///< what graphs call the three as one

std::string layer_name(const EncoderStack& stack, int64_t layer) { return fmt::format("{}.{}", stack.layers, layer); }

/// x + scale * f(norm(x)). `f` takes its input and what to add at its end, where nothing comes between.
template <class Sublayer>
Value residual(Layers& layers, const EncoderStack& stack, Value x, const std::string& norm, const std::string& scale,
               Sublayer f) {
  const Value input = layers.layer_norm(x, norm, stack.epsilon);
  if (stack.scale_start == 0) return f(input, x);
  const Value y = f(input, Value{});
  Graph& graph = layers.graph();
  return add(graph, multiply(graph, y, broadcast(graph, y, layers.tensor(scale, {stack.width}))), x);
}

Value attend(Layers& layers, const EncoderStack& stack, Value x, const std::string& layer) {
  const int64_t C = stack.width;
  const EncoderStack::Names& names = stack.names;
  return residual(
      layers, stack, x, join_names(layer, names.attention_norm), join_names(layer, names.attention_scale),
      [&](Value input, Value rest) {
        const std::string projections = join_names(join_names(layer, names.attention), qkv);
        const Value projected = layers.linear(input, projections, 3 * C, {.bias = stack.qkv_bias});
        const AttentionOptions heads{.heads = stack.heads, .head_width = C / stack.heads, .causal = stack.causal};
        const Value y = layers.self_attention({projected, 0}, {projected, C}, {projected, 2 * C}, heads,
                                              stack.attention_dropout, "");
        return layers.linear(y, join_names(layer, names.output), C, {.dropout = stack.dropout, .residual = rest});
      });
}

Value feed_forward(Layers& layers, const EncoderStack& stack, Value x, const std::string& layer) {
  const EncoderStack::Names& names = stack.names;
  return residual(layers, stack, x, join_names(layer, names.inner_norm), join_names(layer, names.inner_scale),
                  [&](Value input, Value rest) {
                    const std::string inner = join_names(layer, names.inner);
                    const Value states =
                        stack.gated
                            ? gated_unit(layers.graph(), Gate::silu, layers.linear(input, inner, 2 * stack.inner))
                            : layers.linear(input, inner, stack.inner, {.activation = stack.activation});
                    return layers.linear(states, join_names(layer, names.outer), stack.width,
                                         {.dropout = stack.dropout, .residual = rest});
                  });
}

}  // namespace

void EncoderStack::check_heads(const std::string& file) const {
  check(width % heads == 0, "{}: hidden_size {} is not a multiple of num_attention_heads {}", file, width, heads);
  check(width / heads <= 256,
        "{}: heads of width {} (hidden_size {} / num_attention_heads {}); at most 256 is supported", file,
        width / heads, width, heads);
}

void add_parameters(ParameterList& list, const EncoderStack& stack) {
  const int64_t C = stack.width;
  const EncoderStack::Names& names = stack.names;
  for (int64_t i = 0; i < stack.count; ++i) {
    const std::string layer = layer_name(stack, i);
    const auto add_scale = [&](std::string_view name) {
      if (stack.scale_start != 0) list.constant(join_names(layer, name), {C}, stack.scale_start);
    };
    list.layer_norm(join_names(layer, names.attention_norm), C);
    list.joint_linear(join_names(layer, names.attention), qkv, {{names.query, C}, {names.key, C}, {names.value, C}}, C,
                      stack.qkv_bias);
    list.linear(join_names(layer, names.output), C, C);
    add_scale(names.attention_scale);
    list.layer_norm(join_names(layer, names.inner_norm), C);
    list.linear(join_names(layer, names.inner), C, stack.gated ? 2 * stack.inner : stack.inner);
    list.linear(join_names(layer, names.outer), stack.inner, C);
    add_scale(names.inner_scale);
  }
}

Value add_layers(Layers& layers, const EncoderStack& stack, Value x) {
  for (int64_t i = 0; i < stack.count; ++i) {
    const Graph::Scope scope(layers.graph(), fmt::format("layer.{}", i));
    const std::string layer = layer_name(stack, i);
    x = feed_forward(layers, stack, attend(layers, stack, x, layer), layer);
  }
  return x;
}

Value broadcast(Graph& graph, Value x, Value row) { return add_bias(graph, scale(graph, x, 0), row); }

Value first_rows(Graph& graph, Value x, int64_t position) {
  const Shape shape = graph.shape(x);
  return slice(graph, reshape(graph, x, {shape[0], shape[1] * shape[2]}), position * shape[2], shape[2]);
}

}  // namespace vkformer
