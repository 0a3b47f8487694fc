#include "models/gguf/architecture_tensors.h"

#include <algorithm>

namespace vkformer {

namespace {

/// Of a tensor whose name has no ending in Hugging Face's files.
TensorRow bare(std::string_view gguf, std::string_view hugging_face, std::string_view ending) {
  return {.gguf = gguf, .hugging_face = hugging_face, .bare = true, .ending = ending};
}

constexpr std::string_view granite_4_gates = "model.layers.{}.shared_mlp.input_linear",
                           granite_4_down = "model.layers.{}.shared_mlp.output_linear";

std::vector<TensorRow> granite_4_feed_forward() {
  return {{"blk.{}.ffn_gate", granite_4_gates, RowOrder::first_half},
          {"blk.{}.ffn_up", granite_4_gates, RowOrder::second_half},
          {"blk.{}.ffn_down", granite_4_down}};
}

/// State spaces beside attention, or between layers of it.
std::vector<TensorRow> mamba_tensors() {
  return {{"blk.{}.ssm_in", "model.layers.{}.mamba.in_proj"},
          {"blk.{}.ssm_conv1d", "model.layers.{}.mamba.conv1d", RowOrder::rows_of_matrices},
          bare("blk.{}.ssm_dt", "model.layers.{}.mamba.dt_bias", ".bias"),
          {.gguf = "blk.{}.ssm_a",
           .hugging_face = "model.layers.{}.mamba.A_log",
           .order = RowOrder::as_column,
           .bare = true,
           .ending = "",
           .decay = true},
          {.gguf = "blk.{}.ssm_d",
           .hugging_face = "model.layers.{}.mamba.D",
           .order = RowOrder::as_column,
           .bare = true,
           .ending = ""},
          {"blk.{}.ssm_norm", "model.layers.{}.mamba.norm", RowOrder::as_rows},
          {"blk.{}.ssm_out", "model.layers.{}.mamba.out_proj"}};
}

/// DeepSeek's, GLM's and ERNIE's, but for what experts are chosen by.
std::vector<TensorRow> shared_mixtures() {
  return with(expert_tensors(), {{"blk.{}.ffn_gate_shexp", "model.layers.{}.mlp.shared_experts.gate_proj"},
                                 {"blk.{}.ffn_up_shexp", "model.layers.{}.mlp.shared_experts.up_proj"},
                                 {"blk.{}.ffn_down_shexp", "model.layers.{}.mlp.shared_experts.down_proj"}});
}

/// DeepSeek's and GLM's.
std::vector<TensorRow> deepseek_mixtures() {
  return with(shared_mixtures(),
              {bare("blk.{}.exp_probs_b", "model.layers.{}.mlp.gate.e_score_correction_bias", ".bias")});
}

}  // namespace

std::vector<TensorRow> llama_tensors(RowOrder queries, RowOrder keys) {
  return {{"token_embd", "model.embed_tokens"},
          {"blk.{}.attn_norm", "model.layers.{}.input_layernorm"},
          {"blk.{}.attn_q", "model.layers.{}.self_attn.q_proj", queries},
          {"blk.{}.attn_k", "model.layers.{}.self_attn.k_proj", keys},
          {"blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"},
          {"blk.{}.attn_output", "model.layers.{}.self_attn.o_proj"},
          {"blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"},
          {"blk.{}.ffn_gate", "model.layers.{}.mlp.gate_proj"},
          {"blk.{}.ffn_up", "model.layers.{}.mlp.up_proj"},
          {"blk.{}.ffn_down", "model.layers.{}.mlp.down_proj"},
          {"output_norm", "model.norm"},
          {"output", "lm_head"}};
}

std::vector<TensorRow> expert_tensors() {
  return {{"blk.{}.ffn_gate_inp", "model.layers.{}.mlp.gate"},
          {"blk.{}.ffn_gate_exps", "model.layers.{}.mlp.experts.{}.gate_proj", RowOrder::experts},
          {"blk.{}.ffn_up_exps", "model.layers.{}.mlp.experts.{}.up_proj", RowOrder::experts},
          {"blk.{}.ffn_down_exps", "model.layers.{}.mlp.experts.{}.down_proj", RowOrder::experts}};
}

std::vector<TensorRow> shared_expert_tensors() {
  return {{"blk.{}.ffn_gate_inp_shexp", "model.layers.{}.mlp.shared_expert_gate", RowOrder::one_row},
          {"blk.{}.ffn_gate_shexp", "model.layers.{}.mlp.shared_expert.gate_proj"},
          {"blk.{}.ffn_up_shexp", "model.layers.{}.mlp.shared_expert.up_proj"},
          {"blk.{}.ffn_down_shexp", "model.layers.{}.mlp.shared_expert.down_proj"}};
}

std::vector<TensorRow> ernie_moe_tensors() {
  TensorRow bias = bare("blk.{}.exp_probs_b", "model.layers.{}.mlp.moe_statics.e_score_correction_bias", ".bias");
  bias.order = RowOrder::one_row;
  return with(shared_mixtures(), {bias});
}

std::vector<TensorRow> hunyuan_tensors() {
  return with(llama_tensors(), {{"blk.{}.attn_q_norm", "model.layers.{}.self_attn.query_layernorm"},
                                {"blk.{}.attn_k_norm", "model.layers.{}.self_attn.key_layernorm"}});
}

std::vector<TensorRow> hunyuan_moe_tensors() {
  std::vector<TensorRow> experts = expert_tensors();
  experts.front().hugging_face = "model.layers.{}.mlp.gate.wg";
  return with(with(hunyuan_tensors(), experts),
              {{"blk.{}.ffn_gate_shexp", "model.layers.{}.mlp.shared_mlp.gate_proj"},
               {"blk.{}.ffn_up_shexp", "model.layers.{}.mlp.shared_mlp.up_proj"},
               {"blk.{}.ffn_down_shexp", "model.layers.{}.mlp.shared_mlp.down_proj"}});
}

std::vector<TensorRow> gpt_oss_tensors() {
  std::vector<TensorRow> rows = one_norm(llama_tensors());
  std::vector<TensorRow> experts = expert_tensors();
  experts.front().hugging_face = "model.layers.{}.mlp.router";
  return with(with(std::move(rows), std::move(experts)),
              {{"blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm"},
               bare("blk.{}.attn_sinks", "model.layers.{}.self_attn.sinks", ".weight")});
}

std::vector<TensorRow> lfm2_tensors() {
  return {{"token_embd", "model.embed_tokens"},
          {"token_embd_norm", "model.embedding_norm"},
          {"blk.{}.attn_norm", "model.layers.{}.operator_norm"},
          {"blk.{}.attn_q", "model.layers.{}.self_attn.q_proj"},
          {"blk.{}.attn_k", "model.layers.{}.self_attn.k_proj"},
          {"blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"},
          {"blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_layernorm"},
          {"blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_layernorm"},
          {"blk.{}.attn_output", "model.layers.{}.self_attn.out_proj"},
          {"blk.{}.shortconv.in_proj", "model.layers.{}.conv.in_proj"},
          {"blk.{}.shortconv.conv", "model.layers.{}.conv.conv", RowOrder::rows_of_matrices},
          {"blk.{}.shortconv.out_proj", "model.layers.{}.conv.out_proj"},
          {"blk.{}.ffn_norm", "model.layers.{}.ffn_norm"},
          {"blk.{}.ffn_gate", "model.layers.{}.feed_forward.w1"},
          {"blk.{}.ffn_up", "model.layers.{}.feed_forward.w3"},
          {"blk.{}.ffn_down", "model.layers.{}.feed_forward.w2"},
          {"blk.{}.ffn_gate_inp", "model.layers.{}.feed_forward.gate"},
          bare("blk.{}.exp_probs_b", "model.layers.{}.feed_forward.expert_bias", ".bias"),
          {"blk.{}.ffn_gate_exps", "model.layers.{}.feed_forward.experts.{}.w1", RowOrder::experts},
          {"blk.{}.ffn_up_exps", "model.layers.{}.feed_forward.experts.{}.w3", RowOrder::experts},
          {"blk.{}.ffn_down_exps", "model.layers.{}.feed_forward.experts.{}.w2", RowOrder::experts},
          {"output", "lm_head"}};
}

std::vector<TensorRow> glm4_moe_tensors() {
  return with(with(with(one_norm(llama_tensors()), query_norms()), deepseek_mixtures()),
              {{"blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm"}});
}

std::vector<TensorRow> deepseek_tensors() {
  return with(with(llama_tensors(), deepseek_mixtures()),
              {{"blk.{}.attn_q_a", "model.layers.{}.self_attn.q_a_proj"},
               {"blk.{}.attn_q_a_norm", "model.layers.{}.self_attn.q_a_layernorm"},
               {"blk.{}.attn_q_b", "model.layers.{}.self_attn.q_b_proj"},
               {"blk.{}.attn_kv_a_mqa", "model.layers.{}.self_attn.kv_a_proj_with_mqa"},
               {"blk.{}.attn_kv_a_norm", "model.layers.{}.self_attn.kv_a_layernorm"},
               {"blk.{}.attn_k_b", "model.layers.{}.self_attn.k_b_proj", RowOrder::turned_matrices},
               {"blk.{}.attn_v_b", "model.layers.{}.self_attn.v_b_proj"},
               {"blk.{}.attn_kv_b", "model.layers.{}.self_attn.kv_b_proj"}});
}

std::vector<TensorRow> granite_tensors() {
  return with(llama_tensors(RowOrder::query_pairs, RowOrder::key_pairs), granite_4_feed_forward());
}

std::vector<TensorRow> granite_moe_tensors() {
  std::vector<TensorRow> rows = llama_tensors(RowOrder::query_pairs, RowOrder::key_pairs);
  std::erase_if(rows, [](const TensorRow& row) { return row.hugging_face.find(".mlp.") != row.hugging_face.npos; });
  return with(std::move(rows),
              {{"blk.{}.ffn_gate_inp", "model.layers.{}.block_sparse_moe.router.layer"},
               {"blk.{}.ffn_gate_exps", "model.layers.{}.block_sparse_moe.experts.{}.gate_proj", RowOrder::experts},
               {"blk.{}.ffn_up_exps", "model.layers.{}.block_sparse_moe.experts.{}.up_proj", RowOrder::experts},
               {"blk.{}.ffn_down_exps", "model.layers.{}.block_sparse_moe.experts.{}.down_proj", RowOrder::experts}});
}

std::vector<TensorRow> granite_hybrid_tensors() {
  constexpr std::string_view router = "blk.{}.ffn_gate_inp";
  return with(
      with(with(granite_moe_tensors(), {{"blk.{}.ffn_gate_shexp", granite_4_gates, RowOrder::first_half, 0, router},
                                        {"blk.{}.ffn_up_shexp", granite_4_gates, RowOrder::second_half, 0, router},
                                        {"blk.{}.ffn_down_shexp", granite_4_down, RowOrder::same, 0, router}}),
           granite_4_feed_forward()),
      mamba_tensors());
}

std::vector<TensorRow> falcon_h1_tensors() {
  std::vector<TensorRow> rows = one_norm(llama_tensors());
  std::ranges::find(rows, "blk.{}.ffn_gate", &TensorRow::gguf)->hugging_face = "model.layers.{}.feed_forward.gate_proj";
  std::ranges::find(rows, "blk.{}.ffn_up", &TensorRow::gguf)->hugging_face = "model.layers.{}.feed_forward.up_proj";
  std::ranges::find(rows, "blk.{}.ffn_down", &TensorRow::gguf)->hugging_face = "model.layers.{}.feed_forward.down_proj";
  std::ranges::find(rows, "output_norm", &TensorRow::gguf)->hugging_face = "model.final_layernorm";
  return with(with(std::move(rows), mamba_tensors()),
              {bare("blk.{}.ffn_norm", "model.layers.{}.pre_ff_layernorm.weight", "")});
}

/// Rows of queries and keys lie as Granite's, by pairs that would turn.
std::vector<TensorRow> nemotron_tensors() {
  return {{"token_embd", "backbone.embeddings"},
          {"blk.{}.attn_norm", "backbone.layers.{}.norm"},
          {"blk.{}.attn_q", "backbone.layers.{}.mixer.q_proj", RowOrder::query_pairs},
          {"blk.{}.attn_k", "backbone.layers.{}.mixer.k_proj", RowOrder::key_pairs},
          {"blk.{}.attn_v", "backbone.layers.{}.mixer.v_proj"},
          {"blk.{}.attn_output", "backbone.layers.{}.mixer.o_proj"},
          {"blk.{}.ssm_in", "backbone.layers.{}.mixer.in_proj"},
          {"blk.{}.ssm_conv1d", "backbone.layers.{}.mixer.conv1d", RowOrder::rows_of_matrices},
          bare("blk.{}.ssm_dt", "backbone.layers.{}.mixer.dt_bias", ".bias"),
          {.gguf = "blk.{}.ssm_a",
           .hugging_face = "backbone.layers.{}.mixer.A_log",
           .order = RowOrder::as_column,
           .bare = true,
           .ending = "",
           .decay = true},
          {.gguf = "blk.{}.ssm_d",
           .hugging_face = "backbone.layers.{}.mixer.D",
           .order = RowOrder::as_column,
           .bare = true,
           .ending = ""},
          {"blk.{}.ssm_norm", "backbone.layers.{}.mixer.norm", RowOrder::as_rows},
          {"blk.{}.ssm_out", "backbone.layers.{}.mixer.out_proj"},
          {"blk.{}.ffn_up", "backbone.layers.{}.mixer.up_proj"},
          {"blk.{}.ffn_down", "backbone.layers.{}.mixer.down_proj"},
          {"blk.{}.ffn_gate_inp", "backbone.layers.{}.mixer.gate"},
          bare("blk.{}.exp_probs_b", "backbone.layers.{}.mixer.gate.e_score_correction_bias", ".bias"),
          {"blk.{}.ffn_latent_down", "backbone.layers.{}.mixer.fc1_latent_proj"},
          {"blk.{}.ffn_latent_up", "backbone.layers.{}.mixer.fc2_latent_proj"},
          {"blk.{}.ffn_up_exps", "backbone.layers.{}.mixer.experts.{}.up_proj", RowOrder::experts},
          {"blk.{}.ffn_down_exps", "backbone.layers.{}.mixer.experts.{}.down_proj", RowOrder::experts},
          {"blk.{}.ffn_up_shexp", "backbone.layers.{}.mixer.shared_experts.up_proj"},
          {"blk.{}.ffn_down_shexp", "backbone.layers.{}.mixer.shared_experts.down_proj"},
          {"output_norm", "backbone.norm_f"},
          {"output", "lm_head"}};
}

std::vector<TensorRow> mixtral_tensors() {
  return {{"blk.{}.ffn_gate_inp", "model.layers.{}.block_sparse_moe.gate"},
          {"blk.{}.ffn_gate_exps", "model.layers.{}.block_sparse_moe.experts.{}.w1", RowOrder::experts},
          {"blk.{}.ffn_up_exps", "model.layers.{}.block_sparse_moe.experts.{}.w3", RowOrder::experts},
          {"blk.{}.ffn_down_exps", "model.layers.{}.block_sparse_moe.experts.{}.w2", RowOrder::experts},
          {"blk.{}.ffn_gate.{}", "model.layers.{}.block_sparse_moe.experts.{}.w1"},
          {"blk.{}.ffn_up.{}", "model.layers.{}.block_sparse_moe.experts.{}.w3"},
          {"blk.{}.ffn_down.{}", "model.layers.{}.block_sparse_moe.experts.{}.w2"}};
}

std::vector<TensorRow> query_norms(float added) {
  return {{"blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_norm", RowOrder::same, added},
          {"blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_norm", RowOrder::same, added}};
}

std::vector<TensorRow> without_norms(std::vector<TensorRow> rows) {
  std::erase_if(rows, [](const TensorRow& row) { return row.gguf.ends_with("_norm"); });
  return rows;
}

std::vector<TensorRow> one_norm(std::vector<TensorRow> rows) {
  std::erase_if(rows, [](const TensorRow& row) { return row.gguf == "blk.{}.ffn_norm"; });
  return rows;
}

std::vector<TensorRow> norms_behind() {
  return {{"blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm"},
          {"blk.{}.post_ffw_norm", "model.layers.{}.post_feedforward_layernorm"},
          {"output_norm", "model.norm"}};
}

std::vector<TensorRow> joint_gates(std::vector<TensorRow> rows) {
  std::erase_if(rows, [](const TensorRow& row) { return row.gguf == "blk.{}.ffn_gate"; });
  std::ranges::find(rows, "blk.{}.ffn_up", &TensorRow::gguf)->hugging_face = "model.layers.{}.mlp.gate_up_proj";
  return rows;
}

std::vector<TensorRow> gemma_tensors() {
  std::vector<TensorRow> rows = llama_tensors();
  for (TensorRow& row : rows) row.added = row.gguf.ends_with("_norm") ? 1 : 0;
  return rows;
}

std::vector<TensorRow> qwen3_5_tensors() {
  std::vector<TensorRow> rows = with(gemma_tensors(), query_norms(1));
  std::ranges::find(rows, "blk.{}.ffn_norm", &TensorRow::gguf)->gguf = "blk.{}.post_attention_norm";
  return with(std::move(rows), {{"blk.{}.attn_qkv", "model.layers.{}.linear_attn.in_proj_qkv", RowOrder::value_rows},
                                {"blk.{}.attn_gate", "model.layers.{}.linear_attn.in_proj_z", RowOrder::value_heads},
                                {"blk.{}.ssm_beta", "model.layers.{}.linear_attn.in_proj_b", RowOrder::value_heads},
                                {"blk.{}.ssm_alpha", "model.layers.{}.linear_attn.in_proj_a", RowOrder::value_heads},
                                {"blk.{}.ssm_conv1d", "model.layers.{}.linear_attn.conv1d", RowOrder::value_channels},
                                {.gguf = "blk.{}.ssm_dt",
                                 .hugging_face = "model.layers.{}.linear_attn.dt_bias",
                                 .order = RowOrder::value_heads,
                                 .bare = true,
                                 .ending = ".bias"},
                                {.gguf = "blk.{}.ssm_a",
                                 .hugging_face = "model.layers.{}.linear_attn.A_log",
                                 .order = RowOrder::value_heads,
                                 .bare = true,
                                 .ending = "",
                                 .decay = true},
                                {"blk.{}.ssm_norm", "model.layers.{}.linear_attn.norm"},
                                {"blk.{}.ssm_out", "model.layers.{}.linear_attn.out_proj", RowOrder::value_columns}});
}

std::vector<TensorRow> qwen3_next_tensors() {
  std::vector<TensorRow> rows = qwen3_5_tensors();
  std::erase_if(rows,
                [](const TensorRow& row) { return row.gguf == "blk.{}.ssm_beta" || row.gguf == "blk.{}.ssm_alpha"; });
  for (TensorRow& row : rows)
    row.order = row.order == RowOrder::value_channels ? RowOrder::rows_of_matrices : RowOrder::same;
  return with(std::move(rows), {{"blk.{}.ssm_ba", "model.layers.{}.linear_attn.in_proj_ba"},
                                {"blk.{}.ssm_in", "model.layers.{}.linear_attn.in_proj_qkvz"}});
}

std::vector<TensorRow> gemma2_tensors() {
  return with(without_norms(llama_tensors()),
              {{"blk.{}.attn_norm", "model.layers.{}.input_layernorm", RowOrder::same, 1},
               {"blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm", RowOrder::same, 1},
               {"blk.{}.ffn_norm", "model.layers.{}.pre_feedforward_layernorm", RowOrder::same, 1},
               {"blk.{}.post_ffw_norm", "model.layers.{}.post_feedforward_layernorm", RowOrder::same, 1},
               {"output_norm", "model.norm", RowOrder::same, 1}});
}

std::vector<TensorRow> gemma4_tensors() {
  std::vector<TensorRow> rows = with(gemma2_tensors(), query_norms());
  for (TensorRow& row : rows) row.added = 0;
  return with(std::move(rows), {bare("blk.{}.layer_output_scale", "model.layers.{}.layer_scalar", ".weight"),
                                {"per_layer_token_embd", "model.embed_tokens_per_layer"},
                                {"per_layer_model_proj", "model.per_layer_model_projection"},
                                {"per_layer_proj_norm", "model.per_layer_projection_norm"},
                                {"blk.{}.inp_gate", "model.layers.{}.per_layer_input_gate"},
                                {"blk.{}.proj", "model.layers.{}.per_layer_projection"},
                                {"blk.{}.post_norm", "model.layers.{}.post_per_layer_input_norm"},
                                {"blk.{}.ffn_gate_inp", "model.layers.{}.router.proj"},
                                bare("blk.{}.ffn_gate_inp.scale", "model.layers.{}.router.scale", ""),
                                bare("blk.{}.ffn_down_exps.scale", "model.layers.{}.router.per_expert_scale", ""),
                                {"blk.{}.post_ffw_norm_1", "model.layers.{}.post_feedforward_layernorm_1"},
                                {"blk.{}.pre_ffw_norm_2", "model.layers.{}.pre_feedforward_layernorm_2"},
                                {"blk.{}.post_ffw_norm_2", "model.layers.{}.post_feedforward_layernorm_2"},
                                {.gguf = "blk.{}.ffn_gate_up_exps",
                                 .hugging_face = "model.layers.{}.experts.{}.gate_proj",
                                 .order = RowOrder::experts,
                                 .second = "model.layers.{}.experts.{}.up_proj"},
                                {"blk.{}.ffn_gate_exps", "model.layers.{}.experts.{}.gate_proj", RowOrder::experts},
                                {"blk.{}.ffn_up_exps", "model.layers.{}.experts.{}.up_proj", RowOrder::experts},
                                {"blk.{}.ffn_down_exps", "model.layers.{}.experts.{}.down_proj", RowOrder::experts}});
}

std::vector<TensorRow> t5_tensors() {
  std::vector<TensorRow> rows = {{"token_embd", "shared"},
                                 {"enc.output_norm", "encoder.final_layer_norm"},
                                 {"dec.output_norm", "decoder.final_layer_norm"},
                                 {"output", "lm_head"},
                                 {"dec.blk.{}.cross_attn_norm", "decoder.block.{}.layer.1.layer_norm"},
                                 {"dec.blk.{}.cross_attn_q", "decoder.block.{}.layer.1.EncDecAttention.q"},
                                 {"dec.blk.{}.cross_attn_k", "decoder.block.{}.layer.1.EncDecAttention.k"},
                                 {"dec.blk.{}.cross_attn_v", "decoder.block.{}.layer.1.EncDecAttention.v"},
                                 {"dec.blk.{}.cross_attn_o", "decoder.block.{}.layer.1.EncDecAttention.o"}};
  // In the encoder the feed-forward part is the second, in the decoder the third.
  static constexpr TensorRow encoder[] = {
      {"enc.blk.{}.attn_norm", "encoder.block.{}.layer.0.layer_norm"},
      {"enc.blk.{}.attn_q", "encoder.block.{}.layer.0.SelfAttention.q"},
      {"enc.blk.{}.attn_k", "encoder.block.{}.layer.0.SelfAttention.k"},
      {"enc.blk.{}.attn_v", "encoder.block.{}.layer.0.SelfAttention.v"},
      {"enc.blk.{}.attn_o", "encoder.block.{}.layer.0.SelfAttention.o"},
      {"enc.blk.{}.attn_rel_b", "encoder.block.{}.layer.0.SelfAttention.relative_attention_bias"},
      {"enc.blk.{}.ffn_norm", "encoder.block.{}.layer.1.layer_norm"},
      {.gguf = "enc.blk.{}.ffn_up",
       .hugging_face = "encoder.block.{}.layer.1.DenseReluDense.wi_1",
       .beside = "enc.blk.{}.ffn_gate"},
      {"enc.blk.{}.ffn_up", "encoder.block.{}.layer.1.DenseReluDense.wi"},
      {"enc.blk.{}.ffn_gate", "encoder.block.{}.layer.1.DenseReluDense.wi_0"},
      {"enc.blk.{}.ffn_down", "encoder.block.{}.layer.1.DenseReluDense.wo"}};
  static constexpr TensorRow decoder[] = {
      {"dec.blk.{}.attn_norm", "decoder.block.{}.layer.0.layer_norm"},
      {"dec.blk.{}.attn_q", "decoder.block.{}.layer.0.SelfAttention.q"},
      {"dec.blk.{}.attn_k", "decoder.block.{}.layer.0.SelfAttention.k"},
      {"dec.blk.{}.attn_v", "decoder.block.{}.layer.0.SelfAttention.v"},
      {"dec.blk.{}.attn_o", "decoder.block.{}.layer.0.SelfAttention.o"},
      {"dec.blk.{}.attn_rel_b", "decoder.block.{}.layer.0.SelfAttention.relative_attention_bias"},
      {"dec.blk.{}.ffn_norm", "decoder.block.{}.layer.2.layer_norm"},
      {.gguf = "dec.blk.{}.ffn_up",
       .hugging_face = "decoder.block.{}.layer.2.DenseReluDense.wi_1",
       .beside = "dec.blk.{}.ffn_gate"},
      {"dec.blk.{}.ffn_up", "decoder.block.{}.layer.2.DenseReluDense.wi"},
      {"dec.blk.{}.ffn_gate", "decoder.block.{}.layer.2.DenseReluDense.wi_0"},
      {"dec.blk.{}.ffn_down", "decoder.block.{}.layer.2.DenseReluDense.wo"}};
  rows.insert(rows.end(), std::begin(encoder), std::end(encoder));
  rows.insert(rows.end(), std::begin(decoder), std::end(decoder));
  return rows;
}

}  // namespace vkformer
