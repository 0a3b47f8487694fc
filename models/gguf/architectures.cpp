#include "models/gguf/architectures.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "models/gguf/architecture_tensors.h"

namespace vkformer {
namespace {

using ValueKind = KeyRow::Kind;

std::vector<GgufArchitecture> make_architectures() {
  std::vector<GgufArchitecture> all = decoder_architectures();
  all.push_back({.name = "gpt2",
                 .model_types = {"gpt2"},
                 .model_class = "GPT2LMHeadModel",
                 .keys = {{"context_length", "n_positions"},
                          {"embedding_length", "n_embd"},
                          {"block_count", "n_layer"},
                          {"attention.head_count", "n_head"},
                          {"attention.layer_norm_epsilon", "layer_norm_epsilon", ValueKind::number}},
                 .fixed = {{"activation_function", {"gelu_new", "gelu_pytorch_tanh"}},
                           {"scale_attn_weights", {true}},
                           {"scale_attn_by_inverse_layer_idx", {false}}},
                 .tensors = {{"token_embd", "transformer.wte"},
                             {"position_embd", "transformer.wpe"},
                             {"blk.{}.attn_norm", "transformer.h.{}.ln_1"},
                             {"blk.{}.attn_qkv", "transformer.h.{}.attn.c_attn", RowOrder::transposed},
                             {"blk.{}.attn_output", "transformer.h.{}.attn.c_proj", RowOrder::transposed},
                             {"blk.{}.ffn_norm", "transformer.h.{}.ln_2"},
                             {"blk.{}.ffn_up", "transformer.h.{}.mlp.c_fc", RowOrder::transposed},
                             {"blk.{}.ffn_down", "transformer.h.{}.mlp.c_proj", RowOrder::transposed},
                             {"output_norm", "transformer.ln_f"},
                             {"output", "lm_head"}}});
  all.push_back(
      {.name = "gptneox",
       .model_types = {"gpt_neox"},
       .model_class = "GPTNeoXForCausalLM",
       .keys = {{"context_length", "max_position_embeddings"},
                {"embedding_length", "hidden_size"},
                {"block_count", "num_hidden_layers"},
                {"feed_forward_length", "intermediate_size"},
                {"attention.head_count", "num_attention_heads"},
                {"use_parallel_residual", "use_parallel_residual", ValueKind::boolean},
                {"attention.layer_norm_epsilon", "layer_norm_eps", ValueKind::number},
                {"rope.freq_base", "rope_theta", ValueKind::number, true}},
       .fixed = {{"hidden_act", {"gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast"}}, {"attention_bias", {true}}},
       .tensors = {{"token_embd", "gpt_neox.embed_in"},
                   {"blk.{}.attn_norm", "gpt_neox.layers.{}.input_layernorm"},
                   {"blk.{}.attn_qkv", "gpt_neox.layers.{}.attention.query_key_value", RowOrder::fused_heads},
                   {"blk.{}.attn_output", "gpt_neox.layers.{}.attention.dense"},
                   {"blk.{}.ffn_norm", "gpt_neox.layers.{}.post_attention_layernorm"},
                   {"blk.{}.ffn_up", "gpt_neox.layers.{}.mlp.dense_h_to_4h"},
                   {"blk.{}.ffn_down", "gpt_neox.layers.{}.mlp.dense_4h_to_h"},
                   {"output_norm", "gpt_neox.final_layer_norm"},
                   {"output", "embed_out"}}});
  // A file has a second norm where there is one for the feed-forward layer, which is the first then.
  all.push_back(
      {.name = "falcon",
       .model_types = {"falcon"},
       .model_class = "FalconForCausalLM",
       .keys = {{"context_length", "max_position_embeddings"},
                {"embedding_length", "hidden_size"},
                {"block_count", "num_hidden_layers"},
                {"feed_forward_length", "ffn_hidden_size"},
                {"attention.head_count", "num_attention_heads"},
                {"attention.head_count_kv", "num_kv_heads"},
                {"attention.layer_norm_epsilon", "layer_norm_epsilon", ValueKind::number},
                {"rope.freq_base", "rope_theta", ValueKind::number, true}},
       .fixed = {{"activation", {"gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast"}},
                 {"bias", {false}},
                 {"alibi", {false}},
                 {"multi_query", {true}},
                 {"parallel_attn", {true}}},
       .tensors = {
           {"token_embd", "transformer.word_embeddings"},
           {.gguf = "blk.{}.attn_norm", .hugging_face = "transformer.h.{}.ln_mlp", .beside = "blk.{}.attn_norm_2"},
           {"blk.{}.attn_norm_2", "transformer.h.{}.ln_attn"},
           {"blk.{}.attn_norm", "transformer.h.{}.input_layernorm"},
           {"blk.{}.attn_qkv", "transformer.h.{}.self_attention.query_key_value", RowOrder::grouped_heads},
           {"blk.{}.attn_output", "transformer.h.{}.self_attention.dense"},
           {"blk.{}.ffn_up", "transformer.h.{}.mlp.dense_h_to_4h"},
           {"blk.{}.ffn_down", "transformer.h.{}.mlp.dense_4h_to_h"},
           {"output_norm", "transformer.ln_f"},
           {"output", "lm_head"}}});
  all.push_back(
      {.name = "bloom",
       .model_types = {"bloom"},
       .model_class = "BloomForCausalLM",
       .keys = {{"context_length", "seq_length"},
                {"embedding_length", "hidden_size"},
                {"block_count", "n_layer"},
                {"feed_forward_length", "n_inner"},
                {"attention.head_count", "n_head"},
                {"attention.layer_norm_epsilon", "layer_norm_epsilon", ValueKind::number}},
       .fixed = {{"activation_function", {"gelu_pytorch_tanh", "gelu_new"}}},
       .tensors = {{"token_embd", "transformer.word_embeddings"},
                   {"token_embd_norm", "transformer.word_embeddings_layernorm"},
                   {"blk.{}.attn_norm", "transformer.h.{}.input_layernorm"},
                   {"blk.{}.attn_qkv", "transformer.h.{}.self_attention.query_key_value", RowOrder::fused_heads},
                   {"blk.{}.attn_output", "transformer.h.{}.self_attention.dense"},
                   {"blk.{}.ffn_norm", "transformer.h.{}.post_attention_layernorm"},
                   {"blk.{}.ffn_up", "transformer.h.{}.mlp.dense_h_to_4h"},
                   {"blk.{}.ffn_down", "transformer.h.{}.mlp.dense_4h_to_h"},
                   {"output_norm", "transformer.ln_f"},
                   {"output", "lm_head"}}});
  all.push_back({.name = "starcoder",
                 .model_types = {"gpt_bigcode"},
                 .model_class = "GPTBigCodeForCausalLM",
                 .keys = {{"context_length", "n_positions"},
                          {"embedding_length", "n_embd"},
                          {"block_count", "n_layer"},
                          {"feed_forward_length", "n_inner"},
                          {"attention.head_count", "n_head"},
                          {"attention.layer_norm_epsilon", "layer_norm_epsilon", ValueKind::number}},
                 .fixed = {{"activation_function", {"gelu_pytorch_tanh", "gelu_new", "gelu_fast", "gelu"}},
                           {"multi_query", {true}},
                           {"scale_attn_weights", {true}}},
                 .tensors = {{"token_embd", "transformer.wte"},
                             {"position_embd", "transformer.wpe"},
                             {"blk.{}.attn_norm", "transformer.h.{}.ln_1"},
                             {"blk.{}.attn_qkv", "transformer.h.{}.attn.c_attn"},
                             {"blk.{}.attn_output", "transformer.h.{}.attn.c_proj"},
                             {"blk.{}.ffn_norm", "transformer.h.{}.ln_2"},
                             {"blk.{}.ffn_up", "transformer.h.{}.mlp.c_fc"},
                             {"blk.{}.ffn_down", "transformer.h.{}.mlp.c_proj"},
                             {"output_norm", "transformer.ln_f"},
                             {"output", "lm_head"}}});
  // How scores fall, and what bounds queries, keys and values, is read apart.
  all.push_back({.name = "mpt",
                 .model_types = {"mpt"},
                 .model_class = "MptForCausalLM",
                 .keys = {{"context_length", "max_seq_len"},
                          {"embedding_length", "d_model"},
                          {"block_count", "n_layers"},
                          {"attention.head_count", "n_heads"},
                          {"attention.layer_norm_epsilon", "layer_norm_epsilon", ValueKind::number}},
                 .fixed = {},
                 .tensors = {{"token_embd", "transformer.wte"},
                             {"blk.{}.attn_norm", "transformer.blocks.{}.norm_1"},
                             {"blk.{}.attn_qkv", "transformer.blocks.{}.attn.Wqkv"},
                             {"blk.{}.attn_output", "transformer.blocks.{}.attn.out_proj"},
                             {"blk.{}.ffn_norm", "transformer.blocks.{}.norm_2"},
                             {"blk.{}.ffn_up", "transformer.blocks.{}.ffn.up_proj"},
                             {"blk.{}.ffn_down", "transformer.blocks.{}.ffn.down_proj"},
                             {"output_norm", "transformer.norm_f"},
                             {"output", "lm_head"}}});
  const std::vector<nlohmann::json> any_gelu = {"gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu"};
  const std::vector<KeyRow> layer_norm_keys = {
      {"context_length", "max_position_embeddings"},
      {"embedding_length", "hidden_size"},
      {"block_count", "num_hidden_layers"},
      {"feed_forward_length", "intermediate_size"},
      {"attention.head_count", "num_attention_heads"},
      {"attention.head_count_kv", "num_key_value_heads", ValueKind::integer, true},
      {"rope.freq_base", "rope_theta", ValueKind::number, true}};
  all.push_back({.name = "phi2",
                 .model_types = {"phi"},
                 .model_class = "PhiForCausalLM",
                 .keys = with(layer_norm_keys, {{"attention.layer_norm_epsilon", "layer_norm_eps", ValueKind::number}}),
                 .fixed = {{"hidden_act", any_gelu}, {"qk_layernorm", {false}}, {"tie_word_embeddings", {false}}},
                 .tensors = {{"token_embd", "model.embed_tokens"},
                             {"blk.{}.attn_norm", "model.layers.{}.input_layernorm"},
                             {"blk.{}.attn_q", "model.layers.{}.self_attn.q_proj"},
                             {"blk.{}.attn_k", "model.layers.{}.self_attn.k_proj"},
                             {"blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"},
                             {"blk.{}.attn_output", "model.layers.{}.self_attn.dense"},
                             {"blk.{}.ffn_up", "model.layers.{}.mlp.fc1"},
                             {"blk.{}.ffn_down", "model.layers.{}.mlp.fc2"},
                             {"output_norm", "model.final_layernorm"},
                             {"output", "lm_head"}}});
  all.push_back(
      {.name = "starcoder2",
       .model_types = {"starcoder2"},
       .model_class = "Starcoder2ForCausalLM",
       .keys = with(layer_norm_keys, {{"attention.layer_norm_epsilon", "norm_epsilon", ValueKind::number},
                                      {"attention.sliding_window", "sliding_window", ValueKind::integer, true}}),
       .fixed = {{"hidden_act", any_gelu}, {"use_bias", {true}}},
       .tensors = {{"token_embd", "model.embed_tokens"},
                   {"blk.{}.attn_norm", "model.layers.{}.input_layernorm"},
                   {"blk.{}.attn_q", "model.layers.{}.self_attn.q_proj"},
                   {"blk.{}.attn_k", "model.layers.{}.self_attn.k_proj"},
                   {"blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"},
                   {"blk.{}.attn_output", "model.layers.{}.self_attn.o_proj"},
                   {"blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"},
                   {"blk.{}.ffn_up", "model.layers.{}.mlp.c_fc"},
                   {"blk.{}.ffn_down", "model.layers.{}.mlp.c_proj"},
                   {"output_norm", "model.norm"},
                   {"output", "lm_head"}}});
  all.push_back({.name = "bert",
                 .model_types = {"bert"},
                 .model_class = "BertModel",
                 .keys = {{"context_length", "max_position_embeddings"},
                          {"embedding_length", "hidden_size"},
                          {"block_count", "num_hidden_layers"},
                          {"feed_forward_length", "intermediate_size"},
                          {"attention.head_count", "num_attention_heads"},
                          {"attention.layer_norm_epsilon", "layer_norm_eps", ValueKind::number}},
                 .fixed = {{"hidden_act", {"gelu", "gelu_new"}}},
                 .tensors = {{"token_embd", "bert.embeddings.word_embeddings"},
                             {"position_embd", "bert.embeddings.position_embeddings"},
                             {"token_types", "bert.embeddings.token_type_embeddings"},
                             {"token_embd_norm", "bert.embeddings.LayerNorm"},
                             {"blk.{}.attn_q", "bert.encoder.layer.{}.attention.self.query"},
                             {"blk.{}.attn_k", "bert.encoder.layer.{}.attention.self.key"},
                             {"blk.{}.attn_v", "bert.encoder.layer.{}.attention.self.value"},
                             {"blk.{}.attn_output", "bert.encoder.layer.{}.attention.output.dense"},
                             {"blk.{}.attn_output_norm", "bert.encoder.layer.{}.attention.output.LayerNorm"},
                             {"blk.{}.ffn_up", "bert.encoder.layer.{}.intermediate.dense"},
                             {"blk.{}.ffn_down", "bert.encoder.layer.{}.output.dense"},
                             {"blk.{}.layer_output_norm", "bert.encoder.layer.{}.output.LayerNorm"},
                             {"cls", "bert.pooler.dense"},
                             {"cls.output", "classifier"}},
                 .dropped = {"cls.predictions", "qa_outputs"}});
  all.push_back({.name = "nomic-bert",
                 .model_types = {"nomic_bert"},
                 .model_class = "NomicBertModel",
                 .keys = {{"context_length", "max_position_embeddings"},
                          {"embedding_length", "hidden_size"},
                          {"block_count", "num_hidden_layers"},
                          {"feed_forward_length", "intermediate_size"},
                          {"attention.head_count", "num_attention_heads"},
                          {"attention.layer_norm_epsilon", "layer_norm_eps", ValueKind::number},
                          {"rope.freq_base", "rope_theta", ValueKind::number, true}},
                 .fixed = {{"hidden_act", {"silu", "swish"}}},
                 .tensors = {{"token_embd", "nomic_bert.embeddings.word_embeddings"},
                             {"token_types", "nomic_bert.embeddings.token_type_embeddings"},
                             {"token_embd_norm", "nomic_bert.emb_ln"},
                             {"blk.{}.attn_qkv", "nomic_bert.encoder.layers.{}.attn.Wqkv"},
                             {"blk.{}.attn_output", "nomic_bert.encoder.layers.{}.attn.out_proj"},
                             {"blk.{}.attn_output_norm", "nomic_bert.encoder.layers.{}.norm1"},
                             {"blk.{}.ffn_up", "nomic_bert.encoder.layers.{}.mlp.fc11"},
                             {"blk.{}.ffn_gate", "nomic_bert.encoder.layers.{}.mlp.fc12"},
                             {"blk.{}.ffn_down", "nomic_bert.encoder.layers.{}.mlp.fc2"},
                             {"blk.{}.layer_output_norm", "nomic_bert.encoder.layers.{}.norm2"}},
                 .dropped = {"cls.predictions"}});
  all.push_back(
      {.name = "t5",
       .model_types = {"t5"},
       .model_class = "T5ForConditionalGeneration",
       .keys = {{"embedding_length", "d_model"},
                {"feed_forward_length", "d_ff"},
                {"block_count", "num_layers"},
                {"decoder_block_count", "num_decoder_layers", ValueKind::integer, true},
                {"attention.head_count", "num_heads"},
                {"attention.key_length", "d_kv"},
                {"attention.relative_buckets_count", "relative_attention_num_buckets"},
                {"attention.relative_max_distance", "relative_attention_max_distance", ValueKind::integer, true},
                {"attention.layer_norm_rms_epsilon", "layer_norm_epsilon", ValueKind::number}},
       .fixed = {},
       .tensors = t5_tensors()});
  return all;
}

const std::vector<GgufArchitecture>& architectures() {
  static const std::vector<GgufArchitecture> all = make_architectures();
  return all;
}

/// The ending of a tensor's name, or "".
std::string_view ending_of(std::string_view tensor) {
  for (const std::string_view ending : {".weight", ".bias"})
    if (tensor.ends_with(ending)) return ending;
  return {};
}

std::optional<NamedRow> find_row(const GgufArchitecture& architecture, std::string_view tensor,
                                 std::string_view TensorRow::*name, const std::function<bool(std::string_view)>& has) {
  const std::string_view ending = ending_of(tensor), whole = tensor;
  tensor.remove_suffix(ending.size());
  const bool in_gguf = name == &TensorRow::gguf;
  for (const TensorRow& row : architecture.tensors) {
    if (row.bare ? in_gguf && ending != row.ending : ending.empty()) continue;
    auto numbers = match_name(row.*name, row.bare && !in_gguf ? whole : tensor);
    const bool second = !numbers && !in_gguf && !row.second.empty();
    if (second) numbers = match_name(row.second, tensor);
    if (!numbers) continue;
    if (!row.beside.empty() && !has(fill_name(row.beside, *numbers) + ".weight")) continue;
    return NamedRow{&row, std::move(*numbers), row.bare ? row.ending : ending, second};
  }
  return std::nullopt;
}

}  // namespace

const GgufArchitecture* find_architecture(std::string_view name) {
  for (const GgufArchitecture& architecture : architectures())
    if (architecture.name == name) return &architecture;
  return nullptr;
}

const GgufArchitecture* architecture_of_model(std::string_view model_type) {
  for (const GgufArchitecture& architecture : architectures())
    for (const std::string_view type : architecture.model_types)
      if (type == model_type) return &architecture;
  return nullptr;
}

std::string known_architectures() {
  std::string names;
  for (const GgufArchitecture& architecture : architectures())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", architecture.name);
  return names;
}

std::optional<std::vector<int64_t>> match_name(std::string_view pattern, std::string_view name) {
  std::vector<int64_t> numbers;
  while (true) {
    const size_t place = pattern.find("{}");
    const std::string_view literal = pattern.substr(0, place);
    if (!name.starts_with(literal)) return std::nullopt;
    name.remove_prefix(literal.size());
    if (place == pattern.npos) return name.empty() ? std::optional(std::move(numbers)) : std::nullopt;
    pattern.remove_prefix(place + 2);
    int64_t number = 0;
    const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    const auto digits = static_cast<size_t>(stop - name.data());
    // One way to write each number, so that no two names mean one tensor.
    if (error != std::errc() || number < 0 || fmt::formatted_size("{}", number) != digits) return std::nullopt;
    numbers.push_back(number);
    name.remove_prefix(digits);
  }
}

int64_t layer_in_name(std::string_view tensor) {
  int64_t layer = -1;
  if (tensor.starts_with("blk.")) std::from_chars(tensor.data() + 4, tensor.data() + tensor.size(), layer);
  return layer;
}

std::string fill_name(std::string_view pattern, const std::vector<int64_t>& numbers) {
  std::string name;
  size_t used = 0;
  for (size_t place = pattern.find("{}"); place != pattern.npos; place = pattern.find("{}")) {
    name += fmt::format("{}{}", pattern.substr(0, place), numbers.at(used++));
    pattern.remove_prefix(place + 2);
  }
  return name += pattern;
}

std::optional<NamedRow> row_of_gguf(const GgufArchitecture& architecture, std::string_view tensor,
                                    const std::function<bool(std::string_view)>& has) {
  return find_row(architecture, tensor, &TensorRow::gguf, has);
}

std::optional<NamedRow> row_of_hugging_face(const GgufArchitecture& architecture, std::string_view tensor,
                                            const std::function<bool(std::string_view)>& has) {
  return find_row(architecture, tensor, &TensorRow::hugging_face, has);
}

}  // namespace vkformer
