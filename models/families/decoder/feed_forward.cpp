#include "models/families/decoder/feed_forward.h"

namespace vkformer {

namespace {

constexpr std::string_view gate_up = "gate_up_proj";

}  // namespace

Value feed_forward(Layers& layers, const Decoder& decoder, Value x, const std::string& name, Value residual) {
  const Value both = layers.linear(x, join_names(name, gate_up), 2 * decoder.inner, {.bias = decoder.inner_bias});
  return layers.linear(gated_unit(layers.graph(), decoder.gate, both), name + ".down_proj", decoder.width,
                       {.bias = decoder.inner_bias,
                        .scale = decoder.residual_scale,
                        .dropout = decoder.output_dropout,
                        .residual = residual});
}

void add_feed_forward(ParameterList& list, const Decoder& decoder, const std::string& name) {
  if (decoder.joint_files)
    list.linear(join_names(name, gate_up), decoder.width, 2 * decoder.inner, decoder.inner_bias);
  else
    list.joint_linear(name, gate_up, {{"gate_proj", decoder.inner}, {"up_proj", decoder.inner}}, decoder.width,
                      decoder.inner_bias);
  list.linear(name + ".down_proj", decoder.inner, decoder.width, decoder.inner_bias);
}

}  // namespace vkformer
