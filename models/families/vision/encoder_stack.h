#pragma once
// The layers that ViT (Dosovitskiy et al. 2020), DeiT, DINOv2, and both towers of CLIP (Radford et al. 2021) and SigLIP
// (Zhai et al. 2023) share: x + attention(norm(x)), then x + feed-forward(norm(x)). They differ in data.

#include "models/families/layers.h"

namespace vkformer {

struct EncoderStack {
  /// What follows LAYERS.3 in the names of a layer's tensors.
  struct Names {
    std::string_view attention;               ///< of queries, keys and values
    std::string_view query, key, value;       ///< after that
    std::string_view output, attention_norm;  ///< the norm before attention
    std::string_view inner, outer, inner_norm;
    std::string_view attention_scale = "", inner_scale = "";  ///< DINOv2's
  };
  std::string layers;  ///< "vit.encoder.layer"
  Names names;
  int64_t width = 768;  ///< C
  int64_t count = 12;
  int64_t heads = 12;
  int64_t inner = 3072;  ///< F
  Activation activation = Activation::gelu;
  bool gated = false;      ///< inner is [gate, up] of 2 F columns, under a gate of silu
  bool qkv_bias = true;    ///< of queries, keys and values
  double scale_start = 0;  ///< what each sublayer's learned scale [C] begins with; 0: there is none
  bool causal = false;     ///< positions see those before them alone
  double epsilon = 1e-12;
  double dropout = 0;            ///< of each sublayer's result
  double attention_dropout = 0;  ///< of attention weights

  /// Throws Error, naming `file`, for heads that don't share the width, or are too wide.
  void check_heads(const std::string& file) const;
};

/// Names of CLIP's and SigLIP's layers, in both towers.
inline constexpr EncoderStack::Names clip_layer_names{.attention = "self_attn",
                                                      .query = "q_proj",
                                                      .key = "k_proj",
                                                      .value = "v_proj",
                                                      .output = "self_attn.out_proj",
                                                      .attention_norm = "layer_norm1",
                                                      .inner = "mlp.fc1",
                                                      .outer = "mlp.fc2",
                                                      .inner_norm = "layer_norm2"};

void add_parameters(ParameterList& list, const EncoderStack& stack);
/// All layers over x [B, T, C], under the pass's mask.
Value add_layers(Layers& layers, const EncoderStack& stack, Value x);

/// `row` [C] in every row of a tensor like x [.., C].
Value broadcast(Graph& graph, Value x, Value row);
/// The first position of each: [B, C] of x [B, T, C].
Value first_rows(Graph& graph, Value x, int64_t position = 0);

}  // namespace vkformer
