#include "models/families/decoder/feed_forward.h"

namespace vkformer {

namespace {

/// The activations [.., F].
Value inner_states(Layers& layers, const Decoder& decoder, Value x, const std::string& name) {
  const auto project = [&](std::string_view part, int64_t columns) {
    return layers.linear(x, join_names(name, part), columns,
                         {.bias = decoder.inner_bias, .scale = decoder.inner_scale});
  };
  if (decoder.gated) return gated_unit(layers.graph(), decoder.gate, project(decoder.inner_joint, 2 * decoder.inner));
  const Value up = project(decoder.inner_up, decoder.inner);
  return gated_unit(layers.graph(), Gate::relu, up, up);
}

}  // namespace

Value feed_forward(Layers& layers, const Decoder& decoder, Value x, const std::string& name, Value residual) {
  return layers.linear(inner_states(layers, decoder, x, name), join_names(name, decoder.inner_down), decoder.width,
                       {.bias = decoder.inner_bias,
                        .scale = decoder.residual_scale * decoder.inner_output_scale,
                        .dropout = decoder.output_dropout,
                        .residual = residual});
}

void add_feed_forward(ParameterList& list, const Decoder& decoder, const std::string& name) {
  if (!decoder.gated)
    list.linear(join_names(name, decoder.inner_up), decoder.width, decoder.inner, decoder.inner_bias);
  else if (decoder.joint_inner)
    list.linear(join_names(name, decoder.inner_joint), decoder.width, 2 * decoder.inner, decoder.inner_bias);
  else
    list.joint_linear(name, decoder.inner_joint,
                      {{decoder.inner_gate, decoder.inner}, {decoder.inner_up, decoder.inner}}, decoder.width,
                      decoder.inner_bias);
  list.linear(join_names(name, decoder.inner_down), decoder.inner, decoder.width, decoder.inner_bias);
}

}  // namespace vkformer
