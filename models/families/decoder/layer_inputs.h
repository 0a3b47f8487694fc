#pragma once
// The narrow inputs of a decoder's layers (Decoder::LayerInputs; Gemma 3n's and 4's "per-layer embeddings", PLE). Of L
// layers with P columns each, inputs[l] = (norm(x W / sqrt(C)) + sqrt(P) table[id]) / sqrt(2), of x the embedding; a
// layer adds norm(W (gate(x W) * inputs[l])).

#include "models/families/decoder/decoder.h"
#include "models/families/layers.h"

namespace vkformer {

/// The name of the last norm behind that of its layer.
inline constexpr const char* layer_input_norm = ".post_per_layer_input_norm";

/// [B, T, L * P] of all layers, of the embedding x [B, T, C] and the pass's ids.
Value all_layer_inputs(Layers& layers, const Decoder& decoder, Value x);
/// What a layer makes of its input and of x [B, T, C], before its norm.
Value from_layer_input(Layers& layers, const Decoder& decoder, Value x, Value inputs, int64_t layer,
                       const std::string& name);
void add_all_layer_inputs(ParameterList& list, const Decoder& decoder);
void add_layer_input(ParameterList& list, const Decoder& decoder, const std::string& name);

}  // namespace vkformer
