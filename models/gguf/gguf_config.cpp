#include "models/gguf/gguf_config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/gguf/config_readers.h"
#include "models/gguf/eye_architectures.h"
#include "models/gguf/gguf_rotary.h"
#include "models/gguf/gguf_tokenizer.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

using nlohmann::json;

void read_gpt2(const GgufSettings& settings, json& config) {
  config["n_inner"] = rows_of(settings.shards(), "blk.0.ffn_up.weight");  // converters write 4 n_embd
}

/// Rotary positions on a part of each head: gives that share.
double read_turned(const GgufSettings& settings, json& config) {
  const auto heads = config["num_attention_heads"].get<int64_t>(), width = config["hidden_size"].get<int64_t>();
  check(heads > 0 && width % heads == 0, "{}: key {} is {}, which does not divide the width {}",
        settings.shards().name(), settings.name("attention.head_count"), heads, width);
  const int64_t head_width = width / heads;
  const int64_t turned = settings.has("rope.dimension_count") ? settings.integer("rope.dimension_count") : head_width;
  read_gguf_rotary(settings, config, turned);
  return static_cast<double>(turned) / static_cast<double>(head_width);
}

void read_gpt_neox(const GgufSettings& settings, json& config) { config["rotary_pct"] = read_turned(settings, config); }

/// Phi and StarCoder2.
void read_biased_decoder(const GgufSettings& settings, json& config) {
  config["partial_rotary_factor"] = read_turned(settings, config);
  config["intermediate_size"] = rows_of(settings.shards(), "blk.0.ffn_up.weight");  // converters write 4 C for Phi
}

void read_bert(const GgufSettings& settings, json& config) {
  config["type_vocab_size"] = rows_of(settings.shards(), "token_types.weight");
  if (!settings.has_tensor("cls.output.weight")) return;
  config["architectures"] = {"BertForSequenceClassification"};
  const int64_t classes = rows_of(settings.shards(), "cls.output.weight");
  std::vector<std::string_view> names;
  if (settings.has("classifier.output_labels")) names = settings.all().texts(settings.name("classifier.output_labels"));
  for (int64_t i = 0; i < classes; ++i)
    config["id2label"][std::to_string(i)] =
        std::cmp_equal(names.size(), classes) ? std::string(names[static_cast<size_t>(i)]) : fmt::format("LABEL_{}", i);
}

void read_nomic_bert(const GgufSettings& settings, json& config) {
  config["type_vocab_size"] = rows_of(settings.shards(), "token_types.weight");
  if (!config.contains("rope_theta")) config["rope_theta"] = 1e4;
  const auto heads = config["num_attention_heads"].get<int64_t>();
  read_gguf_rotary(settings, config, config["hidden_size"].get<int64_t>() / std::max(heads, int64_t{1}));
}

void read_t5(const GgufSettings& settings, json& config) {
  config["is_encoder_decoder"] = true;
  if (!config.contains("num_decoder_layers")) config["num_decoder_layers"] = config["num_layers"];
  if (!config.contains("relative_attention_max_distance")) config["relative_attention_max_distance"] = 128;
  config["feed_forward_proj"] = settings.has_tensor("enc.blk.0.ffn_gate.weight") ? "gated-gelu" : "relu";
  // The first T5, whose layers have no gates, scales what goes into a tied head; those after it have heads of their
  // own.
  config["scale_decoder_outputs"] =
      settings.has("scale_decoder_outputs")
          ? settings.all().boolean(settings.name("scale_decoder_outputs"))
          : !settings.has_tensor("output.weight") && config["feed_forward_proj"] == "relu";
  if (settings.has("decoder_start_token_id"))
    config["decoder_start_token_id"] = settings.integer("decoder_start_token_id");
}

/// Several heads of keys, or a norm each, are of the newer form.
void read_falcon(const GgufSettings& settings, json& config) {
  const bool two_norms = settings.has_tensor("blk.0.attn_norm_2.weight");
  const bool is_new = two_norms || config["num_kv_heads"] != 1;
  config["new_decoder_architecture"] = is_new;
  config["num_ln_in_parallel_attn"] = is_new ? json(two_norms ? 2 : 1) : json();
}

void read_starcoder(const GgufSettings& settings, json&) {
  constexpr const char* key = "attention.head_count_kv";
  check(settings.has(key) && settings.integer(key) == 1, "{}: key {} must be 1; nothing else is supported",
        settings.shards().name(), settings.name(key));
}

void read_mpt(const GgufSettings& settings, json& config) {
  json& attention = config["attn_config"];
  const bool falls = settings.has("attention.max_alibi_bias") && settings.number("attention.max_alibi_bias") > 0;
  attention = {{"alibi", falls}};
  if (falls) attention["alibi_bias_max"] = settings.number("attention.max_alibi_bias");
  if (settings.has("attention.clamp_kqv") && settings.number("attention.clamp_kqv") > 0)
    attention["clip_qkv"] = settings.number("attention.clamp_kqv");
}

struct Reader {
  std::string_view architecture;
  void (*read)(const GgufSettings&, json& config);
};
constexpr Reader readers[] = {{"gpt-oss", read_gpt_oss},
                              {"llama", read_llama},
                              {"qwen2", read_decoder},
                              {"qwen3", read_decoder},
                              {"qwen2vl", read_qwen2_vl},
                              {"qwen3vl", read_qwen3_vl},
                              {"qwen3moe", read_decoder},
                              {"smollm3", read_llama},
                              {"granite", read_granite},
                              {"granitemoe", read_granite},
                              {"granitehybrid", read_granite_hybrid},
                              {"falcon-h1", read_falcon_h1},
                              {"nemotron_h", read_nemotron_h},
                              {"nemotron_h_moe", read_nemotron_h},
                              {"olmo2", read_olmo2},
                              {"exaone4", read_exaone4},
                              {"glm4", read_decoder},
                              {"glm4moe", read_glm4_moe},
                              {"lfm2", read_lfm2},
                              {"lfm2moe", read_lfm2},
                              {"command-r", read_decoder},
                              {"cohere2", read_cohere2},
                              {"ernie4_5", read_decoder},
                              {"ernie4_5-moe", read_ernie4_5_moe},
                              {"arcee", read_llama},
                              {"mistral3", read_mistral3},
                              {"hunyuan-dense", read_decoder},
                              {"hunyuan-moe", read_decoder},
                              {"seed_oss", read_decoder},
                              {"qwen2moe", read_qwen2_moe},
                              {"qwen35", read_qwen3_5},
                              {"qwen35moe", read_qwen3_5},
                              {"qwen3next", read_qwen3_5},
                              {"deepseek2", read_deepseek2},
                              {"olmoe", read_decoder},
                              {"phi3", read_phi3},
                              {"gemma", read_decoder},
                              {"gemma2", read_gemma2},
                              {"gemma3", read_gemma3},
                              {"gemma4", read_gemma4},
                              {"gpt2", read_gpt2},
                              {"gptneox", read_gpt_neox},
                              {"falcon", read_falcon},
                              {"starcoder", read_starcoder},
                              {"mpt", read_mpt},
                              {"bert", read_bert},
                              {"nomic-bert", read_nomic_bert},
                              {"olmo", read_decoder},
                              {"stablelm", read_stablelm},
                              {"phi2", read_biased_decoder},
                              {"starcoder2", read_biased_decoder},
                              {"t5", read_t5}};

/// The ids of special tokens, under Hugging Face's keys. A text may also end with the end of a turn or of a message.
void read_ids(const GgufMetadata& metadata, json& config) {
  const auto id = [&](const char* key) { return metadata.integer(key, 0, INT32_MAX); };
  for (const auto& [key, theirs] :
       {std::pair{"tokenizer.ggml.bos_token_id", "bos_token_id"}, {"tokenizer.ggml.padding_token_id", "pad_token_id"}})
    if (metadata.has(key)) config[theirs] = id(key);
  std::vector<int64_t> ends;
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"})
    if (metadata.has(key) && std::ranges::find(ends, id(key)) == ends.end()) ends.push_back(id(key));
  if (!ends.empty() && has_gguf_tokenizer(metadata) && !metadata.has("tokenizer.ggml.eot_token_id")) {
    const auto tokens = metadata.texts("tokenizer.ggml.tokens");
    const bool returns = std::ranges::find(tokens, "<|return|>") != tokens.end();  // behind several messages
    for (int64_t token = 0; token < std::ssize(tokens); ++token)
      if (const std::string_view text = tokens[static_cast<size_t>(token)];
          ends_a_turn(text) && !(returns && text == "<|end|>") && std::ranges::find(ends, token) == ends.end())
        ends.push_back(token);
  }
  if (ends.size() == 1) config["eos_token_id"] = ends.front();
  if (ends.size() > 1) config["eos_token_id"] = ends;
}

}  // namespace

json gguf_config(const GgufShards& shards) {
  check(shards.metadata().text("general.architecture") != architecture_of_eyes,
        "{}: it has the eyes of a model alone; give the file of the part that writes, and this one by --mmproj",
        shards.name());
  const GgufArchitecture& architecture = architecture_of(shards);
  const GgufSettings settings(shards, architecture);
  json config = {{"model_type", architecture.model_types.front()}, {"architectures", {architecture.model_class}}};
  for (const KeyRow& row : architecture.keys)
    if (!row.optional || settings.has(row.gguf)) config[row.hugging_face] = settings.value(row);
  for (const FixedRow& row : architecture.fixed) config[row.hugging_face] = row.values.front();
  config["vocab_size"] = rows_of(shards, "token_embd.weight");
  config["tie_word_embeddings"] = !settings.has_tensor("output.weight");
  const bool encoder = architecture.name.ends_with("bert");
  check(encoder || settings.all().boolean_or(settings.name("attention.causal"), true),
        "{}: key {} is false: a {} that sees both ways is not supported", shards.name(),
        settings.name("attention.causal"), architecture.name);
  for (const Reader& reader : readers)
    if (reader.architecture == architecture.name) reader.read(settings, config);
  read_ids(shards.metadata(), config);
  return config;
}

}  // namespace vkformer
