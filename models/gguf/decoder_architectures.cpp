// LLaMA and its kin.

#include <algorithm>
#include <tuple>

#include "models/families/qwen_vl_text.h"
#include "models/gguf/architecture_tensors.h"
#include "models/gguf/architectures.h"
#include "models/gguf/decoder_keys.h"

namespace vkformer {

using ValueKind = KeyRow::Kind;

std::vector<GgufArchitecture> decoder_architectures() {
  const std::vector<nlohmann::json> silu = {"silu", "swish"}, gelu = {"gelu_pytorch_tanh", "gelu_new", "gelu"};
  std::vector<GgufArchitecture> all;
  all.push_back({.name = "llama",
                 .model_types = {"llama", "mistral", "mixtral"},
                 .model_class = "LlamaForCausalLM",
                 .keys = with(llama_keys(), {{"expert_count", "num_local_experts", ValueKind::integer, true},
                                             {"expert_used_count", "num_experts_per_tok", ValueKind::integer, true}}),
                 .fixed = {{"hidden_act", silu}},
                 .tensors = with(llama_tensors(RowOrder::query_pairs, RowOrder::key_pairs), mixtral_tensors())});
  all.push_back({.name = "qwen2",
                 .model_types = {"qwen2"},
                 .model_class = "Qwen2ForCausalLM",
                 .keys = llama_keys(),
                 .fixed = {{"hidden_act", silu}, {"use_sliding_window", {false}}},
                 .tensors = llama_tensors()});
  all.push_back({.name = "qwen3",
                 .model_types = {"qwen3"},
                 .model_class = "Qwen3ForCausalLM",
                 .keys = llama_keys(),
                 .fixed = {{"hidden_act", silu}, {"use_sliding_window", {false}}},
                 .tensors = with(llama_tensors(), query_norms())});
  // Of Qwen's models that see the part that writes: the same, whose positions may have three numbers. The second of
  // these names is of files alone.
  for (const auto& [name, plain, own] :
       {std::tuple("qwen2vl", "qwen2", "qwen2_vl_text"), {"qwen3vl", "qwen3", "qwen3_vl_text"}}) {
    GgufArchitecture seeing = *std::ranges::find(all, plain, &GgufArchitecture::name);
    seeing.name = name;
    seeing.model_types = {plain, own};
    seeing.keys = with(seeing.keys, {{"n_deepstack_layers", deepstack_key, ValueKind::integer, true}});
    all.push_back(std::move(seeing));
  }
  all.push_back({.name = "qwen3moe",
                 .model_types = {"qwen3_moe"},
                 .model_class = "Qwen3MoeForCausalLM",
                 .keys = with(llama_keys(), {{"expert_count", "num_experts"},
                                             {"expert_used_count", "num_experts_per_tok"},
                                             {"expert_feed_forward_length", "moe_intermediate_size"}}),
                 .fixed = {{"hidden_act", silu},
                           {"use_sliding_window", {false}},
                           {"norm_topk_prob", {true}},
                           {"decoder_sparse_step", {1}},
                           {"mlp_only_layers", {nlohmann::json::array()}}},
                 .tensors = with(with(llama_tensors(), query_norms()), expert_tensors())});
  all.push_back(
      {.name = "qwen2moe",
       .model_types = {"qwen2_moe"},
       .model_class = "Qwen2MoeForCausalLM",
       .keys = with(llama_keys(), {{"expert_count", "num_experts"},
                                   {"expert_used_count", "num_experts_per_tok"},
                                   {"expert_feed_forward_length", "moe_intermediate_size", ValueKind::integer, true},
                                   {"expert_shared_feed_forward_length", "shared_expert_intermediate_size",
                                    ValueKind::integer, true}}),
       .fixed = {{"hidden_act", silu},
                 {"use_sliding_window", {false}},
                 {"norm_topk_prob", {false}},
                 {"decoder_sparse_step", {1}},
                 {"mlp_only_layers", {nlohmann::json::array()}}},
       .tensors = with(with(llama_tensors(), expert_tensors()), shared_expert_tensors())});
  all.push_back({.name = "qwen35",
                 .model_types = {"qwen3_5_text"},
                 .model_class = "Qwen3_5ForCausalLM",
                 .keys = delta_net_keys(llama_keys()),
                 .fixed = {{"hidden_act", silu}, {"attention_bias", {false}}},
                 .tensors = qwen3_5_tensors()});
  all.push_back({.name = "qwen35moe",
                 .model_types = {"qwen3_5_moe_text"},
                 .model_class = "Qwen3_5MoeForCausalLM",
                 .keys = with(delta_net_keys(without(llama_keys(), {"feed_forward_length"})), qwen_expert_keys()),
                 .fixed = {{"hidden_act", silu}, {"attention_bias", {false}}},
                 .tensors = with(with(qwen3_5_tensors(), expert_tensors()), shared_expert_tensors())});
  all.push_back({.name = "qwen3next",
                 .model_types = {"qwen3_next"},
                 .model_class = "Qwen3NextForCausalLM",
                 .keys = with(delta_net_keys(llama_keys()), qwen_expert_keys()),
                 .fixed = {{"hidden_act", silu},
                           {"attention_bias", {false}},
                           {"norm_topk_prob", {true}},
                           {"decoder_sparse_step", {1}},
                           {"mlp_only_layers", {nlohmann::json::array()}}},
                 .tensors = with(with(qwen3_next_tensors(), expert_tensors()), shared_expert_tensors())});
  all.push_back(
      {.name = "olmoe",
       .model_types = {"olmoe"},
       .model_class = "OlmoeForCausalLM",
       .keys = with(llama_keys(), {{"expert_count", "num_experts"}, {"expert_used_count", "num_experts_per_tok"}}),
       .fixed = {{"hidden_act", silu}, {"norm_topk_prob", {false}}},
       .tensors = with(with(llama_tensors(), query_norms()), expert_tensors())});
  all.push_back({.name = "smollm3",
                 .model_types = {"smollm3"},
                 .model_class = "SmolLM3ForCausalLM",
                 .keys = llama_keys(),
                 .fixed = {{"hidden_act", silu}, {"use_sliding_window", {false}}},
                 .tensors = llama_tensors(RowOrder::query_pairs, RowOrder::key_pairs)});
  all.push_back({.name = "granite",
                 .model_types = {"granite"},
                 .model_class = "GraniteForCausalLM",
                 .keys = granite_keys(),
                 .fixed = {{"hidden_act", silu}},
                 .tensors = granite_tensors()});
  const std::vector<KeyRow> some_experts = {{"expert_count", "num_local_experts"},
                                            {"expert_used_count", "num_experts_per_tok"}};
  all.push_back({.name = "granitemoe",
                 .model_types = {"granitemoe"},
                 .model_class = "GraniteMoeForCausalLM",
                 .keys = with(granite_keys(), some_experts),
                 .fixed = {{"hidden_act", silu}},
                 .tensors = granite_moe_tensors()});
  // Which layers have attention, and how wide heads of state spaces are, is read apart.
  all.push_back(
      {.name = "granitehybrid",
       .model_types = {"granitemoehybrid"},
       .model_class = "GraniteMoeHybridForCausalLM",
       .keys = with(with(granite_keys(), optional(some_experts)),
                    {{"expert_shared_feed_forward_length", "shared_intermediate_size", ValueKind::integer, true},
                     {"ssm.conv_kernel", "mamba_d_conv"},
                     {"ssm.state_size", "mamba_d_state"},
                     {"ssm.group_count", "mamba_n_groups"},
                     {"ssm.time_step_rank", "mamba_n_heads"}}),
       .fixed = {{"hidden_act", silu},
                 {"attention_bias", {false}},
                 {"mamba_n_groups", {1}},  // several would be normed apart
                 {"mamba_conv_bias", {true}},
                 {"mamba_proj_bias", {false}}},
       .tensors = granite_hybrid_tensors()});
  // What files have is as if all factors were in the weights, and whether state spaces have norms, their tensors say.
  const auto ones = [](size_t count) { return nlohmann::json(count, 1.0); };
  all.push_back({.name = "falcon-h1",
                 .model_types = {"falcon_h1"},
                 .model_class = "FalconH1ForCausalLM",
                 .keys = with(llama_keys(), {{"ssm.conv_kernel", "mamba_d_conv"},
                                             {"ssm.inner_size", "mamba_d_ssm"},
                                             {"ssm.state_size", "mamba_d_state"},
                                             {"ssm.group_count", "mamba_n_groups"},
                                             {"ssm.time_step_rank", "mamba_n_heads"}}),
                 .fixed = {{"hidden_act", silu},
                           {"attention_bias", {false}},
                           {"mlp_bias", {false}},
                           {"mamba_conv_bias", {true}},
                           {"mamba_proj_bias", {false}},
                           {"embedding_multiplier", {1.0}},
                           {"lm_head_multiplier", {1.0}},
                           {"key_multiplier", {1.0}},
                           {"attention_in_multiplier", {1.0}},
                           {"attention_out_multiplier", {1.0}},
                           {"ssm_in_multiplier", {1.0}},
                           {"ssm_out_multiplier", {1.0}},
                           {"mlp_multipliers", {ones(2)}},
                           {"ssm_multipliers", {ones(5)}}},
                 .tensors = falcon_h1_tensors()});
  const std::vector<FixedRow> nemotron_means = {
      {"mlp_hidden_act", {"relu2"}}, {"mamba_hidden_act", silu}, {"use_conv_bias", {true}}, {"use_bias", {false}}};
  all.push_back({.name = "nemotron_h",
                 .model_types = {"nemotron_h"},
                 .model_class = "NemotronHForCausalLM",
                 .keys = nemotron_keys(),
                 .fixed = nemotron_means,
                 .tensors = nemotron_tensors()});
  // A model type of files alone.
  all.push_back(
      {.name = "nemotron_h_moe",
       .model_types = {"nemotron_h_moe"},
       .model_class = "NemotronHForCausalLM",
       .keys = with(nemotron_keys(), {{"expert_count", "n_routed_experts"},
                                      {"expert_used_count", "num_experts_per_tok"},
                                      {"expert_feed_forward_length", "moe_intermediate_size"},
                                      {"expert_shared_feed_forward_length", "moe_shared_expert_intermediate_size"},
                                      {"expert_shared_count", "n_shared_experts", ValueKind::integer, true},
                                      {"expert_weights_scale", "routed_scaling_factor", ValueKind::number, true},
                                      {"expert_weights_norm", "norm_topk_prob", ValueKind::boolean, true},
                                      {"expert_group_count", "n_group", ValueKind::integer, true},
                                      {"expert_group_used_count", "topk_group", ValueKind::integer, true},
                                      {"moe_latent_size", "moe_latent_size", ValueKind::integer, true}}),
       .fixed = with(nemotron_means, {{"mlp_bias", {false}}}),
       .tensors = nemotron_tensors()});
  all.push_back({.name = "olmo2",
                 .model_types = {"olmo2", "olmo3"},
                 .model_class = "Olmo2ForCausalLM",
                 .keys = llama_keys(),
                 .fixed = {{"hidden_act", silu}},
                 .tensors = with(with(without_norms(llama_tensors()), query_norms()), norms_behind())});
  all.push_back({.name = "exaone4",
                 .model_types = {"exaone4"},
                 .model_class = "Exaone4ForCausalLM",
                 .keys = llama_keys(),
                 .fixed = {{"hidden_act", silu}},
                 .tensors = with(with(without_norms(llama_tensors()), query_norms()), norms_behind())});
  all.push_back({.name = "glm4",
                 .model_types = {"glm4"},
                 .model_class = "Glm4ForCausalLM",
                 .keys = llama_keys(),
                 .fixed = {{"hidden_act", silu}},
                 .tensors = with(joint_gates(llama_tensors()),
                                 {{"blk.{}.post_attention_norm", "model.layers.{}.post_self_attn_layernorm"},
                                  {"blk.{}.post_ffw_norm", "model.layers.{}.post_mlp_layernorm"}})});
  all.push_back({.name = "glm4moe",
                 .model_types = {"glm4_moe"},
                 .model_class = "Glm4MoeForCausalLM",
                 .keys = deepseek_keys(),
                 .fixed = {{"hidden_act", silu}},
                 .tensors = glm4_moe_tensors()});
  // The widths of heads are read apart.
  all.push_back({.name = "deepseek2",
                 .model_types = {"deepseek_v2", "deepseek_v3", "glm4_moe_lite"},
                 .model_class = "DeepseekV2ForCausalLM",
                 .keys = with(without(deepseek_keys(), {"attention.head_count_kv", "attention.key_length"}),
                              {{"attention.kv_lora_rank", "kv_lora_rank"},
                               {"attention.q_lora_rank", "q_lora_rank", ValueKind::integer, true}}),
                 .fixed = {{"hidden_act", silu}, {"attention_bias", {false}}, {"rope_interleave", {true}}},
                 .tensors = deepseek_tensors()});
  all.push_back({.name = "lfm2",
                 .model_types = {"lfm2"},
                 .model_class = "Lfm2ForCausalLM",
                 .keys = lfm2_keys(),
                 .fixed = {{"hidden_act", silu}, {"conv_bias", {false}}, {"block_auto_adjust_ff_dim", {false}}},
                 .tensors = lfm2_tensors()});
  all.push_back({.name = "lfm2moe",
                 .model_types = {"lfm2_moe"},
                 .model_class = "Lfm2MoeForCausalLM",
                 .keys = with(lfm2_keys(), expert_keys("num_experts", "num_dense_layers")),
                 .fixed = {{"hidden_act", silu},
                           {"conv_bias", {false}},
                           {"use_expert_bias", {true}},
                           {"norm_topk_prob", {true}},
                           {"routed_scaling_factor", {1.0}}},
                 .tensors = lfm2_tensors()});
  all.push_back({.name = "command-r",
                 .model_types = {"cohere"},
                 .model_class = "CohereForCausalLM",
                 .keys = cohere_keys(),
                 .fixed = {{"hidden_act", silu}, {"attention_bias", {false}}, {"tie_word_embeddings", {true}}},
                 .tensors = one_norm(llama_tensors())});
  all.push_back(
      {.name = "cohere2",
       .model_types = {"cohere2"},
       .model_class = "Cohere2ForCausalLM",
       .keys = with(cohere_keys(), {{"attention.sliding_window", "sliding_window", ValueKind::integer, true}}),
       .fixed = {{"hidden_act", silu}, {"attention_bias", {false}}, {"tie_word_embeddings", {true}}},
       .tensors = one_norm(llama_tensors())});
  all.push_back({.name = "ernie4_5",
                 .model_types = {"ernie4_5"},
                 .model_class = "Ernie4_5ForCausalLM",
                 .keys = llama_keys(),
                 .fixed = {{"hidden_act", silu}, {"use_bias", {false}}},
                 .tensors = llama_tensors()});
  all.push_back({.name = "ernie4_5-moe",
                 .model_types = {"ernie4_5_moe"},
                 .model_class = "Ernie4_5_MoeForCausalLM",
                 .keys = with(llama_keys(), {{"expert_count", "moe_num_experts"},
                                             {"expert_used_count", "moe_k"},
                                             {"expert_feed_forward_length", "moe_intermediate_size"},
                                             {"expert_shared_count", "moe_num_shared_experts"},
                                             {"leading_dense_block_count", "moe_layer_start_index"},
                                             {"interleave_moe_layer_step", "moe_layer_interval"}}),
                 .fixed = {{"hidden_act", silu}, {"use_bias", {false}}},
                 .tensors = with(llama_tensors(), ernie_moe_tensors())});
  all.push_back({.name = "arcee",
                 .model_types = {"arcee"},
                 .model_class = "ArceeForCausalLM",
                 .keys = llama_keys(),
                 .fixed = {{"hidden_act", {"relu2"}}},
                 .tensors = llama_tensors(RowOrder::query_pairs, RowOrder::key_pairs)});
  all.push_back({.name = "mistral3",
                 .model_types = {"ministral3"},
                 .model_class = "Ministral3ForCausalLM",
                 .keys = llama_keys(),
                 .fixed = {{"hidden_act", silu}, {"sliding_window", {nullptr}}},
                 .tensors = llama_tensors(RowOrder::query_pairs, RowOrder::key_pairs)});
  all.push_back({.name = "hunyuan-dense",
                 .model_types = {"hunyuan_v1_dense"},
                 .model_class = "HunYuanDenseV1ForCausalLM",
                 .keys = llama_keys(),
                 .fixed = {{"hidden_act", silu}},
                 .tensors = hunyuan_tensors()});
  all.push_back({.name = "hunyuan-moe",
                 .model_types = {"hunyuan_v1_moe"},
                 .model_class = "HunYuanMoEV1ForCausalLM",
                 .keys = with(llama_keys(), {{"expert_count", "num_experts"},
                                             {"expert_used_count", "moe_topk"},
                                             {"expert_feed_forward_length", "moe_intermediate_size"},
                                             {"expert_shared_feed_forward_length", "intermediate_size"},
                                             {"expert_shared_count", "num_shared_expert", ValueKind::integer, true}}),
                 .fixed = {{"hidden_act", silu}, {"num_shared_expert", {1}}},
                 .tensors = hunyuan_moe_tensors()});
  all.push_back({.name = "seed_oss",
                 .model_types = {"seed_oss"},
                 .model_class = "SeedOssForCausalLM",
                 .keys = llama_keys(),
                 .fixed = {{"hidden_act", silu}, {"attention_out_bias", {false}}, {"mlp_bias", {false}}},
                 .tensors = with(one_norm(llama_tensors()),
                                 {{"blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm"}})});
  all.push_back({.name = "gpt-oss",
                 .model_types = {"gpt_oss"},
                 .model_class = "GptOssForCausalLM",
                 .keys = with(llama_keys(), {{"expert_count", "num_local_experts"},
                                             {"expert_used_count", "num_experts_per_tok"},
                                             {"expert_feed_forward_length", "intermediate_size"},
                                             {"attention.sliding_window", "sliding_window"}}),
                 .fixed = {{"hidden_act", silu}, {"attention_bias", {true}}},
                 .tensors = gpt_oss_tensors()});
  all.push_back({.name = "olmo",
                 .model_types = {"olmo"},
                 .model_class = "OlmoForCausalLM",
                 .keys = with(decoder_keys(), {{"attention.clamp_kqv", "clip_qkv", ValueKind::number, true}}),
                 .fixed = {{"hidden_act", silu}, {"attention_bias", {false}}},
                 .tensors = without_norms(llama_tensors(RowOrder::query_pairs, RowOrder::key_pairs))});
  all.push_back(
      {.name = "stablelm",
       .model_types = {"stablelm"},
       .model_class = "StableLmForCausalLM",
       .keys = with(decoder_keys(), {{"attention.layer_norm_epsilon", "layer_norm_eps", ValueKind::number},
                                     {"use_parallel_residual", "use_parallel_residual", ValueKind::boolean, true}}),
       .fixed = {{"hidden_act", silu}},
       .tensors = llama_tensors()});
  all.push_back(
      {.name = "phi3",
       .model_types = {"phi3"},
       .model_class = "Phi3ForCausalLM",
       .keys = llama_keys(),
       .fixed = {{"hidden_act", silu}},
       .tensors = with(joint_gates(llama_tensors()), {{"blk.{}.attn_qkv", "model.layers.{}.self_attn.qkv_proj"}})});
  all.push_back({.name = "gemma",
                 .model_types = {"gemma"},
                 .model_class = "GemmaForCausalLM",
                 .keys = llama_keys(),
                 .fixed = {{"hidden_act", gelu}, {"attention_bias", {false}}},
                 .tensors = gemma_tensors()});
  const std::vector<KeyRow> caps = {{"attn_logit_softcapping", "attn_logit_softcapping", ValueKind::number, true},
                                    {"final_logit_softcapping", "final_logit_softcapping", ValueKind::number, true},
                                    {"attention.sliding_window", "sliding_window", ValueKind::integer, true}};
  all.push_back({.name = "gemma2",
                 .model_types = {"gemma2"},
                 .model_class = "Gemma2ForCausalLM",
                 .keys = with(llama_keys(), caps),
                 .fixed = {{"hidden_activation", gelu}, {"attention_bias", {false}}},
                 .tensors = gemma2_tensors()});
  all.push_back({.name = "gemma3",
                 .model_types = {"gemma3_text"},
                 .model_class = "Gemma3ForCausalLM",
                 .keys = with(llama_keys(),
                              with(caps, {{"rope.freq_base_swa", "rope_local_base_freq", ValueKind::number, true}})),
                 .fixed = {{"hidden_activation", gelu}, {"attention_bias", {false}}},
                 .tensors = with(gemma2_tensors(), query_norms(1))});
  // What differs from layer to layer, and angles, are read apart.
  all.push_back({.name = "gemma4",
                 .model_types = {"gemma4_text", "gemma4_unified_text"},
                 .model_class = "Gemma4ForCausalLM",
                 .keys = {{"context_length", "max_position_embeddings"},
                          {"embedding_length", "hidden_size"},
                          {"block_count", "num_hidden_layers"},
                          {"attention.head_count", "num_attention_heads"},
                          {"attention.key_length", "global_head_dim"},
                          {"attention.key_length_swa", "head_dim"},
                          {"attention.sliding_window", "sliding_window"},
                          {"attention.shared_kv_layers", "num_kv_shared_layers", ValueKind::integer, true},
                          {"attention.layer_norm_rms_epsilon", "rms_norm_eps", ValueKind::number},
                          {"final_logit_softcapping", "final_logit_softcapping", ValueKind::number, true},
                          {"embedding_length_per_layer_input", "hidden_size_per_layer_input", ValueKind::integer, true},
                          {"expert_count", "num_experts", ValueKind::integer, true},
                          {"expert_used_count", "top_k_experts", ValueKind::integer, true},
                          {"expert_feed_forward_length", "moe_intermediate_size", ValueKind::integer, true}},
                 .fixed = {{"hidden_activation", gelu}, {"attention_bias", {false}}},
                 .tensors = gemma4_tensors()});
  return all;
}

}  // namespace vkformer
