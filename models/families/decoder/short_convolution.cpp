#include "models/families/decoder/short_convolution.h"

#include "models/families/decoder/recurrence.h"
#include "shaders/slice/slice.h"

namespace vkformer {

Value short_convolution(Layers& layers, const Decoder& decoder, Value x, const std::string& name, int64_t index,
                        Value residual) {
  Graph& graph = layers.graph();
  const int64_t C = decoder.width;
  const auto& [positions, bias] = decoder.convolution;
  const Value projected = layers.linear(x, name + ".in_proj", 3 * C, {.bias = bias});
  const auto part = [&](int64_t i) { return slice(graph, projected, i * C, C); };
  const Value seen = convolved(layers,
                               {.x = multiply(graph, part(0), part(2)),
                                .weight = convolution_weight(layers, name + ".conv", C, positions),
                                .bias = bias ? layers.tensor(name + ".conv.bias", {C}) : Value{},
                                .texts = layers.pass().texts},
                               index);
  return layers.linear(multiply(graph, part(1), seen), name + ".out_proj", C,
                       {.bias = bias, .scale = decoder.residual_scale, .residual = residual});
}

void add_short_convolution(ParameterList& list, const Decoder& decoder, const std::string& name) {
  const auto& [positions, bias] = decoder.convolution;
  list.linear(name + ".in_proj", decoder.width, 3 * decoder.width, bias);
  add_convolution(list, name + ".conv", decoder.width, positions, bias);
  list.linear(name + ".out_proj", decoder.width, decoder.width, bias);
}

}  // namespace vkformer
