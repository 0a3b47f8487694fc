#include "models/families/falcon/falcon.h"

#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/layer_norm_decoder/layer_norm_decoder_config.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

using Block = LayerNormDecoder::Block;

constexpr const char *new_key = "new_decoder_architecture", *norms_key = "num_ln_in_parallel_attn";
constexpr const char *shared_key = "multi_query", *parallel_key = "parallel_attn", *kv_heads_key = "num_kv_heads";

/// Only the newer form says how many heads of keys there are.
int64_t read_kv_heads(const JsonObject& json, const LayerNormDecoder& d, bool is_new) {
  const bool shared = boolean_or(json, shared_key, true);
  if (!is_new) return shared ? 1 : d.heads;
  const int64_t kv_heads = integer_or(json, kv_heads_key, d.heads, 1, most_width);
  check(d.heads % kv_heads == 0, "{}: num_attention_heads {} is not a multiple of {} {}", json.name(), d.heads,
        kv_heads_key, kv_heads);
  return kv_heads;
}

Block read_block(const JsonObject& json, bool is_new) {
  const int64_t norms = integer_or(json, norms_key, is_new ? 2 : 1, 1, 2);
  check(is_new || norms == 1, "{}: {} {} needs {}", json.name(), norms_key, norms, new_key);
  if (is_new || boolean_or(json, parallel_key, true)) return norms == 2 ? Block::parallel : Block::one_norm;
  return Block::sequential;
}

}  // namespace

Model make_falcon(const JsonObject& json) {
  constexpr LayerNormDecoderKeys keys{.architecture = "FalconForCausalLM",
                                      .inner = "ffn_hidden_size",
                                      .activation = "activation",
                                      .epsilon = "layer_norm_epsilon",
                                      .output_dropout = "hidden_dropout"};
  const bool is_new = boolean_or(json, new_key, false);
  const Block block = read_block(json, is_new);
  LayerNormDecoder d{.family = "falcon",
                     .names = {.tokens = "transformer.word_embeddings",
                               .layer = "transformer.h",
                               .first_norm = block == Block::parallel ? "ln_attn" : "input_layernorm",
                               .second_norm = block == Block::parallel ? "ln_mlp" : "post_attention_layernorm",
                               .attention = "self_attention",
                               .fused = "query_key_value",
                               .attention_output = "self_attention.dense",
                               .inner = "mlp.dense_h_to_4h",
                               .outer = "mlp.dense_4h_to_h",
                               .last_norm = "transformer.ln_f"},
                     .vocabulary = 65024,
                     .width = 4544,
                     .inner = 0,
                     .heads = 71,
                     .block = block,
                     .windows = std::vector<int64_t>(32),
                     .activation = Activation::gelu,
                     .tied = true};
  read_layer_norm_decoder(json, d, keys);
  d.kv_heads = read_kv_heads(json, d, is_new);
  d.input_bias = d.output_bias = d.inner_bias = boolean_or(json, "bias", false);
  check(!boolean_or(json, "alibi", false), "{}: alibi, scores that fall with the distance, is not supported for falcon",
        json.name());
  const char* share_key = "partial_rotary_factor";
  const double share = read_rotary(json, d, "rope_theta", share_key, 1);
  check(share == 1, "{}: {} {} is not supported; heads of falcon turn as a whole", json.name(), share_key, share);

  nlohmann::json more = d.rotary.keys();
  more.update({{new_key, is_new},
               {norms_key, is_new ? nlohmann::json(block == Block::parallel ? 2 : 1) : nlohmann::json()},
               {shared_key, is_new || d.kv_heads == 1},
               {parallel_key, block != Block::sequential},
               {kv_heads_key, d.kv_heads},
               {"bias", d.input_bias},
               {"alibi", false}});
  return make_layer_norm_decoder(d, keys, more);
}

}  // namespace vkformer
