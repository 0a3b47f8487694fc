#pragma once
// The keys that the config.json of every family of a LayerNormDecoder has, under whatever names.

#include <nlohmann/json_fwd.hpp>

#include "models/families/layer_norm_decoder/layer_norm_decoder.h"

namespace vkformer {

/// What a family calls them; nullptr: it has none.
struct LayerNormDecoderKeys {
  const char* architecture;  ///< the one of the family that writes text
  const char* context = "max_position_embeddings";
  const char* width = "hidden_size";
  const char* inner = "intermediate_size";  ///< nullptr: `inner` stays
  const char* layers = "num_hidden_layers";
  const char* heads = "num_attention_heads";
  const char* kv_heads = nullptr;
  const char* activation = "hidden_act";  ///< nullptr: `activation` stays
  const char* epsilon = "layer_norm_eps";
  const char* deviation = "initializer_range";
  const char* embedding_dropout = nullptr;
  const char* attention_dropout = "attention_dropout";
  const char* output_dropout = nullptr;
};

/// Reads them over the family's defaults in `d`; `inner` 0 stands for 4 C. No layer has a window. Throws Error naming
/// file and key for values that can't be.
void read_layer_norm_decoder(const JsonObject& json, LayerNormDecoder& d, const LayerNormDecoderKeys& keys);
/// The model, whose config says the same under these keys, and `more` over it.
Model make_layer_norm_decoder(const LayerNormDecoder& d, const LayerNormDecoderKeys& keys, const nlohmann::json& more);

/// Reads the angles of rotary positions and how much of each head turns, a share of it under `key` where place(json)
/// does not say it. Gives that share.
double read_rotary(const JsonObject& json, LayerNormDecoder& d, const char* theta_key, const char* key, double share);

}  // namespace vkformer
