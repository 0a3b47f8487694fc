#include "models/gguf/decoder_keys.h"

#include <algorithm>

#include "models/gguf/architecture_tensors.h"

namespace vkformer {

using ValueKind = KeyRow::Kind;

std::vector<KeyRow> decoder_keys() {
  return {{"context_length", "max_position_embeddings"},
          {"embedding_length", "hidden_size"},
          {"block_count", "num_hidden_layers"},
          {"feed_forward_length", "intermediate_size"},
          {"attention.head_count", "num_attention_heads"},
          {"attention.head_count_kv", "num_key_value_heads", ValueKind::integer, true},
          {"attention.key_length", "head_dim", ValueKind::integer, true},
          {"rope.freq_base", "rope_theta", ValueKind::number, true}};
}

std::vector<KeyRow> llama_keys() {
  return with(decoder_keys(), {{"attention.layer_norm_rms_epsilon", "rms_norm_eps", ValueKind::number}});
}

std::vector<KeyRow> without(std::vector<KeyRow> keys, std::initializer_list<std::string_view> names) {
  std::erase_if(keys, [&](const KeyRow& key) { return std::ranges::count(names, key.gguf) > 0; });
  return keys;
}

std::vector<KeyRow> delta_net_keys(std::vector<KeyRow> keys) {
  return with(std::move(keys), {{"ssm.conv_kernel", "linear_conv_kernel_dim"},
                                {"ssm.state_size", "linear_key_head_dim"},
                                {"ssm.group_count", "linear_num_key_heads"},
                                {"ssm.time_step_rank", "linear_num_value_heads"}});
}

std::vector<KeyRow> lfm2_keys() {
  return with(
      without(decoder_keys(), {"attention.head_count_kv"}),
      {{"attention.layer_norm_rms_epsilon", "norm_eps", ValueKind::number}, {"shortconv.l_cache", "conv_L_cache"}});
}

std::vector<KeyRow> qwen_expert_keys() {
  return {{"expert_count", "num_experts"},
          {"expert_used_count", "num_experts_per_tok"},
          {"expert_feed_forward_length", "moe_intermediate_size"},
          {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"}};
}

std::vector<KeyRow> expert_keys(const char* count, const char* plain_layers) {
  return {{"expert_count", count},
          {"expert_used_count", "num_experts_per_tok"},
          {"expert_feed_forward_length", "moe_intermediate_size"},
          {"leading_dense_block_count", plain_layers}};
}

std::vector<KeyRow> deepseek_keys() {
  return with(with(llama_keys(), expert_keys("n_routed_experts", "first_k_dense_replace")),
              {{"expert_shared_count", "n_shared_experts"},
               {"expert_weights_scale", "routed_scaling_factor", ValueKind::number, true},
               {"expert_weights_norm", "norm_topk_prob", ValueKind::boolean, true},
               {"expert_group_count", "n_group", ValueKind::integer, true},
               {"expert_group_used_count", "topk_group", ValueKind::integer, true}});
}

std::vector<KeyRow> granite_keys() {
  return with(without(llama_keys(), {"attention.head_count_kv"}),
              {{"embedding_scale", "embedding_multiplier", ValueKind::number, true},
               {"attention.scale", "attention_multiplier", ValueKind::number, true},
               {"residual_scale", "residual_multiplier", ValueKind::number, true},
               {"logit_scale", "logits_scaling", ValueKind::number}});
}

std::vector<KeyRow> nemotron_keys() {
  return with(without(decoder_keys(), {"attention.head_count_kv", "feed_forward_length", "rope.freq_base"}),
              {{"attention.layer_norm_rms_epsilon", "layer_norm_epsilon", ValueKind::number, true},
               {"ssm.conv_kernel", "conv_kernel"},
               {"ssm.state_size", "ssm_state_size"},
               {"ssm.group_count", "n_groups"},
               {"ssm.time_step_rank", "mamba_num_heads"}});
}

std::vector<KeyRow> optional(std::vector<KeyRow> keys) {
  for (KeyRow& key : keys) key.optional = true;
  return keys;
}

std::vector<KeyRow> cohere_keys() {
  return with(decoder_keys(), {{"attention.layer_norm_epsilon", "layer_norm_eps", ValueKind::number},
                               {"logit_scale", "logit_scale", ValueKind::number}});
}

}  // namespace vkformer
