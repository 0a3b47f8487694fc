#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/gguf/architectures.h"
#include "models/gguf/config_writers.h"
#include "models/gguf/gguf_config.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

using nlohmann::json;

/// Hunyuan's base grown by alpha, which a file has as any other.
json with_grown_base(json config) {
  const auto scaling = config.find("rope_scaling");
  if (scaling == config.end() || !scaling->is_object() || scaling->value("rope_type", "") != "dynamic" ||
      !scaling->contains("alpha"))
    return config;
  const auto width = config.at("head_dim").get<double>();
  config["rope_theta"] =
      config.at("rope_theta").get<double>() * std::pow(scaling->at("alpha").get<double>(), width / (width - 2));
  config.erase("rope_scaling");
  return config;
}

void add_olmo(GgufPairs& pairs, const std::string& prefix, const json& config) {
  pairs.add_number(prefix + "attention.layer_norm_epsilon", 1e-5f);
  add_decoder(pairs, prefix, config);
}

void add_gpt2(GgufPairs& pairs, const std::string& prefix, const json& config) {
  pairs.add_integer(prefix + "feed_forward_length", integer_in(config, "n_inner"));
}

/// Rotary positions on that share of each head.
void add_turned(GgufPairs& pairs, const std::string& prefix, const json& config, double share) {
  const uint32_t width = integer_in(config, "hidden_size") / integer_in(config, "num_attention_heads");
  pairs.add_integer(prefix + "rope.dimension_count", static_cast<uint32_t>(share * width));
  check(rotary_of(config).scaling != RotaryConfig::Scaling::llama3,
        "a GGUF file of this architecture can't say \"rope_type\" \"llama3\"");
  add_rotary(pairs, prefix, config, YarnForm());
}

void add_gpt_neox(GgufPairs& pairs, const std::string& prefix, const json& config) {
  if (!config.contains("rope_theta"))  // transformers' older name
    pairs.add_number(prefix + "rope.freq_base", config.value("rotary_emb_base", 10000.0f));
  add_turned(pairs, prefix, config, config.value("rotary_pct", 0.25));
}

void add_falcon(GgufPairs& pairs, const std::string& prefix, const json& config) {
  pairs.add_text(prefix + "tensor_data_layout", "jploski");  // rows of queries, then keys, then values
  add_turned(pairs, prefix, config, 1);
}

void add_starcoder(GgufPairs& pairs, const std::string& prefix, const json&) {
  pairs.add_integer(prefix + "attention.head_count_kv", 1);
}

void add_mpt(GgufPairs& pairs, const std::string& prefix, const json& config) {
  const json& attention = config.at("attn_config");
  check(attention.at("softmax_scale").is_null(), "a GGUF file of architecture mpt can't say \"softmax_scale\"");
  pairs.add_integer(prefix + "feed_forward_length", 4 * integer_in(config, "d_model"));
  pairs.add_number(prefix + "attention.max_alibi_bias", attention.at("alibi_bias_max").get<float>());
}

/// Phi and StarCoder2.
void add_biased_decoder(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_turned(pairs, prefix, config, config.value("partial_rotary_factor", 1.0));
}

void add_bert(GgufPairs& pairs, const std::string& prefix, const json& config) {
  check(config.value("problem_type", json()) != "multi_label_classification",
        "a GGUF file can't say that several labels of a text may hold");
  check(config.value("problem_type", json()) != "regression", "a GGUF file can't say that a model gives numbers");
  pairs.add_boolean(prefix + "attention.causal", false);
  const bool classifies = config.value("architectures", json()) == json::array({"BertForSequenceClassification"});
  pairs.add_integer("tokenizer.ggml.token_type_count", integer_in(config, "type_vocab_size"));
  if (!classifies) return;
  std::vector<std::string> names;
  for (size_t i = 0; i < config["id2label"].size(); ++i) names.push_back(config["id2label"].at(std::to_string(i)));
  pairs.add_texts(prefix + "classifier.output_labels", names);
}

void add_nomic_bert(GgufPairs& pairs, const std::string& prefix, const json& config) {
  pairs.add_boolean(prefix + "attention.causal", false);
  pairs.add_integer("tokenizer.ggml.token_type_count", integer_in(config, "type_vocab_size"));
  add_turned(pairs, prefix, config, 1);
}

void add_t5(GgufPairs& pairs, const std::string& prefix, const json& config) {
  pairs.add_integer(prefix + "context_length", 512);  // T5 has no limit; readers ask for one
  pairs.add_integer(prefix + "attention.value_length", integer_in(config, "d_kv"));
  pairs.add_number(prefix + "attention.layer_norm_epsilon", config.at("layer_norm_epsilon").get<float>());
  pairs.add_integer(prefix + "decoder_start_token_id", config.value("decoder_start_token_id", uint32_t{0}));
  pairs.add_boolean(prefix + "scale_decoder_outputs", config.value("scale_decoder_outputs", false));
  const std::string layers = config.at("feed_forward_proj");
  check(layers == "relu" || layers == "gated-gelu" || layers == "gated-gelu_new",
        "a GGUF file can't say \"feed_forward_proj\" {}; relu and gated-gelu it can", in_quotes(layers));
}

struct Adder {
  std::string_view architecture;
  void (*add)(GgufPairs&, const std::string& prefix, const json& config);
};
constexpr Adder adders[] = {{"gpt-oss", add_gpt_oss},
                            {"llama", add_windowed},
                            {"qwen2", add_decoder},
                            {"qwen3", add_decoder},
                            {"qwen3moe", add_decoder},
                            {"smollm3", add_smollm3},
                            {"granite", add_granite},
                            {"granitemoe", add_granite},
                            {"granitehybrid", add_granite_hybrid},
                            {"falcon-h1", add_falcon_h1},
                            {"nemotron_h", add_nemotron_h},
                            {"nemotron_h_moe", add_nemotron_h},
                            {"olmo2", add_olmo2},
                            {"exaone4", add_exaone4},
                            {"glm4", add_decoder},
                            {"glm4moe", add_glm4_moe},
                            {"lfm2", add_lfm2},
                            {"lfm2moe", add_lfm2_moe},
                            {"command-r", add_decoder},
                            {"cohere2", add_cohere2},
                            {"qwen2vl", add_qwen_vl},
                            {"qwen3vl", add_qwen_vl},
                            {"ernie4_5", add_decoder},
                            {"ernie4_5-moe", add_ernie4_5_moe},
                            {"arcee", add_decoder},
                            {"mistral3", add_mistral3},
                            {"hunyuan-dense", add_decoder},
                            {"hunyuan-moe", add_decoder},
                            {"seed_oss", add_decoder},
                            {"qwen2moe", add_decoder},
                            {"qwen35", add_qwen3_5},
                            {"qwen35moe", add_qwen3_5},
                            {"qwen3next", add_qwen3_next},
                            {"deepseek2", add_deepseek2},
                            {"olmoe", add_decoder},
                            {"phi3", add_windowed},
                            {"gemma", add_decoder},
                            {"gemma2", add_gemma},
                            {"gemma3", add_gemma},
                            {"gemma4", add_gemma4},
                            {"gpt2", add_gpt2},
                            {"gptneox", add_gpt_neox},
                            {"falcon", add_falcon},
                            {"starcoder", add_starcoder},
                            {"mpt", add_mpt},
                            {"bert", add_bert},
                            {"nomic-bert", add_nomic_bert},
                            {"olmo", add_olmo},
                            {"stablelm", add_decoder},
                            {"phi2", add_biased_decoder},
                            {"starcoder2", add_biased_decoder},
                            {"t5", add_t5}};

bool means(const FixedRow& row, const json& value) { return std::ranges::find(row.values, value) != row.values.end(); }

}  // namespace

void add_config(GgufPairs& pairs, const GgufArchitecture& architecture, const json& filed) {
  const json config = with_grown_base(filed);
  const std::string prefix = std::string(architecture.name) + '.';
  for (const FixedRow& row : architecture.fixed) {
    const json value = config.value(row.hugging_face, row.values.front());
    check(means(row, value), "a GGUF file of architecture {} can't say \"{}\" {}", architecture.name, row.hugging_face,
          printable(value.dump(), 60));
  }
  for (const KeyRow& row : architecture.keys) {
    const auto value = config.find(row.hugging_face);
    if (row.optional && (value == config.end() || value->is_null())) continue;
    const std::string key = prefix + std::string(row.gguf);
    if (row.kind == KeyRow::Kind::number) pairs.add_number(key, value->get<float>());
    if (row.kind == KeyRow::Kind::boolean) pairs.add_boolean(key, value->get<bool>());
    if (row.kind == KeyRow::Kind::integer) pairs.add_integer(key, value->get<uint32_t>());
  }
  pairs.add_integer(prefix + "vocab_size", integer_in(config, "vocab_size"));
  for (const Adder& adder : adders)
    if (adder.architecture == architecture.name) adder.add(pairs, prefix, config);
}

std::vector<NamedValues> rotary_tensors(const json& filed) {
  const json config = with_grown_base(filed);
  if (config.contains("global_head_dim")) return gemma4_rotary_tensors(config);
  if (!config.contains("rope_theta") || !config.contains("head_dim")) return {};
  const RotaryConfig rotary = rotary_of(config);
  const auto floats = [](const std::vector<double>& values) {
    return std::vector<float>(values.begin(), values.end());
  };
  if (rotary.scaling == RotaryConfig::Scaling::longrope)
    return {{"rope_factors_long.weight", floats(rotary.long_factors)},
            {"rope_factors_short.weight", floats(rotary.short_factors)}};
  if (rotary.scaling != RotaryConfig::Scaling::llama3) return {};
  const RotaryConfig plain{.theta = rotary.theta};
  const auto width = config.at("head_dim").get<int64_t>();
  std::vector<float> divisors;
  for (int64_t i = 0; i < width / 2; ++i)
    divisors.push_back(static_cast<float>(plain.frequency(i, width) / rotary.frequency(i, width)));
  return {{"rope_freqs.weight", divisors}};
}

}  // namespace vkformer
