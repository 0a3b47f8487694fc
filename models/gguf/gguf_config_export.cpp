#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/rotary.h"
#include "models/gguf/architectures.h"
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

/// The angles of a config: in Gemma 3 of the layers without a window.
RotaryConfig rotary_of(const json& config) {
  json keys = json::object();
  for (const char* key : {"rope_theta", "rope_scaling", "original_max_position_embeddings"})
    if (const auto value = config.find(key); value != config.end() && !value->is_null()) keys[key] = *value;
  return RotaryConfig::from_json(JsonObject::make(keys, "config.json"),
                                 {.context = config.value("max_position_embeddings", int64_t{2048})});
}

/// What files can say of yarn.
struct YarnForm {
  bool truncate = true;       ///< what readers take it for
  double log_multiplier = 0;  ///< of the key that files of an attention_factor of 1 have; 0: there is none
};

/// What a config says of rotary positions beside their base.
void add_rotary(GgufPairs& pairs, const std::string& prefix, const json& config, const YarnForm& yarn) {
  using Scaling = RotaryConfig::Scaling;
  const RotaryConfig rotary = rotary_of(config);
  if (rotary.scaling == Scaling::none) return;
  if (rotary.scaling != Scaling::linear)
    pairs.add_integer(prefix + "rope.scaling.original_context_length", static_cast<uint32_t>(rotary.original_context));
  if (rotary.scaling == Scaling::longrope)
    pairs.add_number(prefix + "rope.scaling.attn_factor", static_cast<float>(rotary.attention_factor));
  if (rotary.scaling != Scaling::linear && rotary.scaling != Scaling::yarn) return;  // the others are tensors
  pairs.add_text(prefix + "rope.scaling.type", rotary.scaling == Scaling::yarn ? "yarn" : "linear");
  pairs.add_number(prefix + "rope.scaling.factor", static_cast<float>(rotary.factor));
  if (rotary.scaling == Scaling::linear) return;
  const double usual = 1 + 0.1 * std::log(rotary.factor);
  const bool plain = yarn.log_multiplier > 0 && std::abs(rotary.attention_factor - 1) < 1e-6;
  if (plain) pairs.add_number(prefix + "rope.scaling.yarn_log_multiplier", static_cast<float>(yarn.log_multiplier));
  check(rotary.truncate == yarn.truncate, "a GGUF file of this architecture can't say yarn's truncate {}",
        rotary.truncate);
  check(plain || std::abs(rotary.attention_factor - usual) < 1e-6,
        "a GGUF file can't say yarn's attention_factor {}, only {} for its factor {}", rotary.attention_factor, usual,
        rotary.factor);
  pairs.add_number(prefix + "rope.scaling.yarn_beta_fast", static_cast<float>(rotary.beta_fast));
  pairs.add_number(prefix + "rope.scaling.yarn_beta_slow", static_cast<float>(rotary.beta_slow));
}

uint32_t integer_in(const json& config, const char* key) { return config.at(key).get<uint32_t>(); }

void add_decoder(GgufPairs& pairs, const std::string& prefix, const json& config, const YarnForm& yarn) {
  const uint32_t width = integer_in(config, "head_dim");
  const double share = config.value("partial_rotary_factor", 1.0);
  pairs.add_integer(prefix + "attention.value_length", width);
  pairs.add_integer(prefix + "rope.dimension_count", static_cast<uint32_t>(share * width));
  add_rotary(pairs, prefix, config, yarn);
}
void add_decoder(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_decoder(pairs, prefix, config, YarnForm());
}

void add_windowed(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_decoder(pairs, prefix, config);
  if (config.value("sliding_window", json()).is_number())
    pairs.add_integer(prefix + "attention.sliding_window", integer_in(config, "sliding_window"));
}

/// Which layers have a window.
void add_window_pattern(GgufPairs& pairs, const std::string& prefix, const json& config) {
  const auto types = config.at("layer_types").get<std::vector<std::string>>();
  const auto full = std::ranges::find(types, "full_attention");
  const auto period = static_cast<size_t>(full - types.begin()) + 1;
  for (size_t layer = 0; layer < types.size(); ++layer)
    check((types[layer] == "full_attention") == ((layer + 1) % period == 0),
          "a GGUF file can't say which layers have a window: not every {}th lacks it", period);
  pairs.add_integer(prefix + "attention.sliding_window_pattern", static_cast<uint32_t>(period));
}

void add_gemma(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_decoder(pairs, prefix, config);
  pairs.add_integer(prefix + "attention.query_pre_scalar", integer_in(config, "query_pre_attn_scalar"));
  add_window_pattern(pairs, prefix, config);
}

void add_olmo2(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_windowed(pairs, prefix, config);
  if (config.at("model_type") == "olmo2") return;
  add_window_pattern(pairs, prefix, config);
  const json& local = config.at("rope_parameters").at("sliding_attention");
  check(local.at("rope_type") == "default" && local.at("rope_theta") == config.at("rope_theta"),
        "a GGUF file can't say that layers with a window turn by angles of their own");
}

/// Layers that have a window are those that turn; where there is none, all turn.
void add_exaone4(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_windowed(pairs, prefix, config);
  if (config.value("sliding_window", json()).is_number()) add_window_pattern(pairs, prefix, config);
}

void add_cohere2(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_decoder(pairs, prefix, config);
  const json types = config.at("layer_types");
  for (size_t layer = 0; layer < types.size(); ++layer)
    check((types[layer] == "full_attention") == (layer % 4 == 3),
          "a GGUF file of this architecture can't say which layers have a window: not every fourth lacks it");
}

void add_mistral3(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_decoder(pairs, prefix, config, YarnForm{.log_multiplier = 1});
  const json scaling = config.value("rope_scaling", json());
  if (scaling.is_object() && scaling.contains(RotaryConfig::query_growth_key))
    pairs.add_number(prefix + "attention.temperature_scale", scaling[RotaryConfig::query_growth_key].get<float>());
}

void add_gpt_oss(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_decoder(pairs, prefix, config, YarnForm{.truncate = false});
  const json types = config.at("layer_types");
  for (size_t layer = 0; layer < types.size(); ++layer)
    check((types[layer] == "full_attention") == (layer % 2 == 1),
          "a GGUF file can't say which layers have a window: not every second lacks it");
}

void add_smollm3(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_decoder(pairs, prefix, config);
  const json turns = config.at("no_rope_layers");
  for (size_t layer = 0; layer < turns.size(); ++layer)
    check((turns[layer] == 0) == ((layer + 1) % 4 == 0),
          "a GGUF file can't say which layers have no rotary positions: not every fourth");
}

/// All layers with a delta net in a list, and for older readers every how many have none, where that is so.
void add_qwen3_next(GgufPairs& pairs, const std::string& prefix, const json& config) {
  const RotaryConfig::Scaling scaling = rotary_of(config).scaling;
  check(scaling != RotaryConfig::Scaling::llama3 && scaling != RotaryConfig::Scaling::longrope,
        "a GGUF file of this architecture can't say \"rope_type\" \"llama3\" or \"longrope\"");
  add_decoder(pairs, prefix, config);
  pairs.add_integer(prefix + "ssm.inner_size",
                    integer_in(config, "linear_num_value_heads") * integer_in(config, "linear_value_head_dim"));
  std::vector<int32_t> nets;
  for (const json& type : config.at("layer_types")) nets.push_back(type == "linear_attention");
  pairs.add_integers(prefix + "attention.recurrent_layers", nets);
  const auto period = std::ranges::find(nets, 0) - nets.begin() + 1;
  for (int64_t layer = 0; layer < std::ssize(nets); ++layer)
    if ((nets[static_cast<size_t>(layer)] == 0) != ((layer + 1) % period == 0)) return;
  pairs.add_integer(prefix + "full_attention_interval", static_cast<uint32_t>(period));
}

void add_qwen3_5(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_qwen3_next(pairs, prefix, config);
  // Of columns that turn by a place in an image; in texts all places are the same.
  pairs.add_integers(prefix + "rope.dimension_sections", std::vector<int32_t>{11, 11, 10, 0});
}

/// How logits become the weights of a mixture.
void add_sigmoids(GgufPairs& pairs, const std::string& prefix) { pairs.add_integer(prefix + "expert_gating_func", 2); }

void add_glm4_moe(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_sigmoids(pairs, prefix);
  add_decoder(pairs, prefix, config);
}

/// As llama.cpp computes it: one head of keys, whose first columns are the values.
void add_deepseek2(GgufPairs& pairs, const std::string& prefix, const json& config) {
  constexpr uint32_t softmax = 1, sigmoid = 2;
  const uint32_t rank = integer_in(config, "kv_lora_rank"), turned = integer_in(config, "qk_rope_head_dim");
  pairs.add_integer(prefix + "attention.head_count_kv", 1);
  pairs.add_integer(prefix + "attention.key_length", rank + turned);
  pairs.add_integer(prefix + "attention.value_length", rank);
  pairs.add_integer(prefix + "attention.key_length_mla", integer_in(config, "qk_nope_head_dim") + turned);
  pairs.add_integer(prefix + "attention.value_length_mla", integer_in(config, "v_head_dim"));
  pairs.add_integer(prefix + "rope.dimension_count", turned);
  pairs.add_integer(prefix + "expert_gating_func", config.at("scoring_func") == "sigmoid" ? sigmoid : softmax);
  const auto plain = config.at("first_k_dense_replace").get<size_t>();
  const json& kinds = config.at("mlp_layer_types");
  for (size_t layer = 0; layer < kinds.size(); ++layer)
    check((kinds[layer] == "dense") == (layer < plain),
          "a GGUF file can't say which layers have no experts: others than the first {}", plain);
  const RotaryConfig rotary = rotary_of(config);
  if (rotary.scaling != RotaryConfig::Scaling::yarn) return add_rotary(pairs, prefix, config, YarnForm());
  add_rotary(pairs, prefix, config, YarnForm{.log_multiplier = rotary.score_growth / 10});
}

/// A layer that has something else than attention has no heads of keys.
void add_mixers(GgufPairs& pairs, const std::string& prefix, const json& config, const char* other) {
  std::vector<int32_t> heads;
  for (const json& type : config.at("layer_types"))
    heads.push_back(type == other ? 0 : config.at("num_key_value_heads").get<int32_t>());
  pairs.add_integers(prefix + "attention.head_count_kv", heads);
  add_decoder(pairs, prefix, config);
}

void add_lfm2(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_mixers(pairs, prefix, config, "conv");
}

void add_granite_hybrid(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_mixers(pairs, prefix, config, "mamba");
  pairs.add_integer(prefix + "ssm.inner_size",
                    integer_in(config, "mamba_n_heads") * integer_in(config, "mamba_d_head"));
  pairs.add_boolean(prefix + "rope.scaling.finetuned", config.at("position_embedding_type") == "rope");
}

void add_lfm2_moe(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_sigmoids(pairs, prefix);
  add_lfm2(pairs, prefix, config);
}

/// Lists of what differs from layer to layer.
void add_gemma4(GgufPairs& pairs, const std::string& prefix, const json& config) {
  const auto types = config.at("layer_types").get<std::vector<std::string>>();
  const uint32_t heads = integer_in(config, "num_key_value_heads");
  const uint32_t wide_heads =
      config.at("attention_k_eq_v").get<bool>() ? integer_in(config, "num_global_key_value_heads") : heads;
  const size_t own = types.size() - config.at("num_kv_shared_layers").get<size_t>();
  const auto twice = config.at("use_double_wide_mlp").get<bool>();
  std::vector<int32_t> windows, kv_heads, inner;
  for (size_t i = 0; i < types.size(); ++i) {
    const bool wide = types[i] == "full_attention";
    windows.push_back(wide ? 0 : 1);
    kv_heads.push_back(static_cast<int32_t>(wide ? wide_heads : heads));
    inner.push_back(static_cast<int32_t>(integer_in(config, "intermediate_size") * (i >= own && twice ? 2 : 1)));
  }
  pairs.add_integers(prefix + "attention.sliding_window_pattern", windows);
  pairs.add_integers(prefix + "attention.head_count_kv", kv_heads);
  pairs.add_integers(prefix + "feed_forward_length", inner);
  for (const auto& [key, end] : {std::pair{"global_head_dim", ""}, {"head_dim", "_swa"}}) {
    pairs.add_integer(prefix + "attention.value_length" + end, integer_in(config, key));
    pairs.add_integer(prefix + "rope.dimension_count" + end, integer_in(config, key));
  }
  const json &angles = config.at("rope_parameters"), &local = angles.at("sliding_attention");
  check(local.at("rope_type") == "default" && angles["full_attention"].value("factor", 1.0) == 1,
        "a GGUF file of this architecture can't say that rotary positions are scaled");
  pairs.add_number(prefix + "rope.freq_base", angles["full_attention"].at("rope_theta").get<float>());
  pairs.add_number(prefix + "rope.freq_base_swa", local.at("rope_theta").get<float>());
  // Readers ask for these.
  if (!config.contains("hidden_size_per_layer_input"))
    pairs.add_integer(prefix + "embedding_length_per_layer_input", 0);
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

/// Phi and StarCoder2.
void add_biased_decoder(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_turned(pairs, prefix, config, config.value("partial_rotary_factor", 1.0));
}

void add_bert(GgufPairs& pairs, const std::string& prefix, const json& config) {
  check(config.value("problem_type", json()) != "multi_label_classification",
        "a GGUF file can't say that several labels of a text may hold");
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
                            {"granite", add_decoder},
                            {"granitemoe", add_decoder},
                            {"granitehybrid", add_granite_hybrid},
                            {"olmo2", add_olmo2},
                            {"exaone4", add_exaone4},
                            {"glm4", add_decoder},
                            {"glm4moe", add_glm4_moe},
                            {"lfm2", add_lfm2},
                            {"lfm2moe", add_lfm2_moe},
                            {"command-r", add_decoder},
                            {"cohere2", add_cohere2},
                            {"ernie4_5", add_decoder},
                            {"arcee", add_decoder},
                            {"mistral3", add_mistral3},
                            {"hunyuan-dense", add_decoder},
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

namespace {

/// What the divisors of frequencies are where pairs do not turn.
constexpr float still = 1e30f;

std::vector<NamedValues> gemma4_rotary_tensors(const json& config) {
  const json& angles = config.at("rope_parameters").at("full_attention");
  const auto pairs = config.at("global_head_dim").get<size_t>() / 2;
  const double share = angles.value("partial_rotary_factor", 1.0);
  std::vector<float> divisors(pairs, angles.at("rope_type") == "proportional" ? still : 1);
  std::fill_n(divisors.begin(), static_cast<size_t>(share * static_cast<double>(pairs)), 1.0f);
  return {{"rope_freqs.weight", divisors}};
}

}  // namespace

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
