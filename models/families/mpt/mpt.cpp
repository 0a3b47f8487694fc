#include "models/families/mpt/mpt.h"

#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/layer_norm_decoder/layer_norm_decoder_config.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

constexpr const char* attention_key = "attn_config";
constexpr const char *dropout_key = "attn_pdrop", *scale_key = "softmax_scale", *slope_key = "alibi_bias_max";

/// transformers wants whole numbers here.
nlohmann::json whole_if_it_is(double value) {
  const auto whole = static_cast<int64_t>(value);
  return static_cast<double>(whole) == value ? nlohmann::json(whole) : nlohmann::json(value);
}

/// Reads `attn_config`, and gives what is to be written.
nlohmann::json read_attention(const JsonObject& json, LayerNormDecoder& d) {
  const JsonObject attention = json.has(attention_key) ? require_object(json, attention_key)
                                                       : JsonObject::make(nlohmann::json::object(), json.name());
  d.attention_dropout = number_or(attention, dropout_key, 0, 0, 0.99);
  d.score_scale = number_or(attention, scale_key, 0, 0, 1e4);
  d.least_slope = number_or(attention, slope_key, 8, 0, 100);
  const std::string type = string_or(attention, "attn_type", "multihead_attention");
  check(type == "multihead_attention", "{}: attn_type {} is not supported for mpt; multihead_attention is",
        attention.name(), in_quotes(type));
  check(boolean_or(attention, "alibi", true), "{}: alibi false, learned positions, is not supported for mpt",
        attention.name());
  for (const char* key : {"qk_ln", "prefix_lm", "attn_uses_sequence_id"})
    check(!boolean_or(attention, key, false), "{}: {} is not supported for mpt", attention.name(), key);
  check(!attention.has("clip_qkv"), "{}: clip_qkv, which bounds queries, keys and values, is not supported; null is",
        attention.name());

  nlohmann::json keys = attention.value();
  keys.update({{dropout_key, whole_if_it_is(d.attention_dropout)},
               {scale_key, d.score_scale > 0 ? nlohmann::json(d.score_scale) : nlohmann::json()},
               {slope_key, whole_if_it_is(d.least_slope)},
               {"attn_type", type},
               {"alibi", true},
               {"clip_qkv", nullptr}});
  return keys;
}

}  // namespace

Model make_mpt(const JsonObject& json) {
  // MosaicML's own files call it otherwise.
  constexpr const char *architecture = "MptForCausalLM", *older = "MPTForCausalLM", *architectures = "architectures";
  const bool is_older = json.has(architectures) && json.value()[architectures] == nlohmann::json{older};
  const LayerNormDecoderKeys keys{.architecture = is_older ? older : architecture,
                                  .context = "max_seq_len",
                                  .width = "d_model",
                                  .inner = nullptr,
                                  .layers = "n_layers",
                                  .heads = "n_heads",
                                  .activation = nullptr,
                                  .epsilon = "layer_norm_epsilon",
                                  .embedding_dropout = "emb_pdrop",
                                  .attention_dropout = nullptr,
                                  .output_dropout = "resid_pdrop"};
  LayerNormDecoder d{.family = "mpt",
                     .names = {.tokens = "transformer.wte",
                               .layer = "transformer.blocks",
                               .first_norm = "norm_1",
                               .second_norm = "norm_2",
                               .attention = "attn",
                               .fused = "Wqkv",
                               .attention_output = "attn.out_proj",
                               .inner = "ffn.up_proj",
                               .outer = "ffn.down_proj",
                               .last_norm = "transformer.norm_f"},
                     .vocabulary = 50368,
                     .inner = 0,
                     .fused = LayerNormDecoder::Fused::parts,
                     .windows = std::vector<int64_t>(24),
                     .activation = Activation::gelu,
                     .input_bias = false,
                     .output_bias = false,
                     .inner_bias = false,
                     .norm_bias = false,
                     .tied = true,
                     .linear_biases = true};
  read_layer_norm_decoder(json, d, keys);
  constexpr const char *bias_key = "no_bias", *inner_key = "expansion_ratio", *norm_key = "norm_type";
  check(boolean_or(json, bias_key, true), "{}: {} false is not supported for mpt", json.name(), bias_key);
  const double ratio = number_or(json, inner_key, 4, 0, 1e6);
  check(ratio == 4, "{}: {} {} is not supported for mpt; 4 is", json.name(), inner_key, ratio);
  const std::string norm = string_or(json, norm_key, "low_precision_layernorm");
  check(norm == "low_precision_layernorm" || norm == "layernorm", "{}: {} {} is not supported for mpt; layernorm is",
        json.name(), norm_key, in_quotes(norm));
  check(!json.has("logit_scale"), "{}: logit_scale is not supported for mpt", json.name());
  nlohmann::json more = {{attention_key, read_attention(json, d)}, {bias_key, true}, {inner_key, 4}, {norm_key, norm}};
  if (is_older) more[architectures] = {architecture};
  return make_layer_norm_decoder(d, keys, more);
}

}  // namespace vkformer
