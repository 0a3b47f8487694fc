#include "models/gguf/gguf_config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/rotary.h"
#include "models/gguf/gguf_rotary.h"
#include "models/gguf/gguf_tokenizer.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

using nlohmann::json;

constexpr int64_t most = int64_t{1} << 40;

int64_t rows_of(const GgufShards& shards, std::string_view tensor) {
  const GgufShards::Tensor* found = shards.find(tensor);
  check(found != nullptr, "{}: has no tensor {}", shards.name(), tensor);
  return found->entry->shape.front();
}

bool has_experts(const GgufSettings& settings) {
  return settings.has("expert_count") && settings.integer("expert_count") > 0;
}

/// Rotary positions turn a part of each head.
constexpr std::string_view partly_turned[] = {"phi3",     "stablelm",     "glm4",
                                              "glm4_moe", "qwen3_5_text", "qwen3_5_moe_text"};

/// LLaMA and its kin: heads, rotary positions, what only tensors tell.
void read_decoder(const GgufSettings& settings, json& config) {
  const auto heads = config["num_attention_heads"].get<int64_t>();
  if (!config.contains("num_key_value_heads")) config["num_key_value_heads"] = heads;
  if (!config.contains("head_dim")) {
    const auto width = config["hidden_size"].get<int64_t>();
    check(heads > 0 && width % heads == 0, "{}: key {} is {}, which does not divide the width {}",
          settings.shards().name(), settings.name("attention.head_count"), heads, width);
    config["head_dim"] = width / heads;
  }
  const auto head_width = config["head_dim"].get<int64_t>();
  const auto is_width = [&](const char* key) {
    check(!settings.has(key) || settings.integer(key) == head_width,
          "{}: key {} is not the width {} of the heads; that is not supported", settings.shards().name(),
          settings.name(key), head_width);
  };
  is_width("attention.value_length");
  int64_t turned = head_width;
  if (std::ranges::count(partly_turned, config["model_type"].get<std::string>()) > 0) {
    if (settings.has("rope.dimension_count")) turned = settings.integer("rope.dimension_count");
    check(turned >= 2 && turned <= head_width, "{}: key {} is {}, heads have {} columns", settings.shards().name(),
          settings.name("rope.dimension_count"), turned, head_width);
    config["partial_rotary_factor"] = static_cast<double>(turned) / static_cast<double>(head_width);
  } else {
    is_width("rope.dimension_count");
  }
  const auto counted = {"num_experts", "num_local_experts", "n_routed_experts"};
  check(!has_experts(settings) || std::ranges::any_of(counted, [&](const char* key) { return config.contains(key); }),
        "{}: key {}: mixtures of experts are not supported for this architecture", settings.shards().name(),
        settings.name("expert_count"));
  if (!config.contains("attention_bias")) config["attention_bias"] = settings.has_tensor("blk.0.attn_q.bias");
  read_gguf_rotary(settings, config, turned);
}

/// Of every so many layers the last one has no window, or a list has a 1 for each layer with one; in a file without
/// windows, none has one.
void read_windows(const GgufSettings& settings, json& config, int64_t usual) {
  const bool any = settings.has("attention.sliding_window");
  const std::string key = settings.name("attention.sliding_window_pattern");
  const auto layers = config["num_hidden_layers"].get<int64_t>();
  const GgufMetadata& all = settings.all();
  const bool listed = all.has(key) && all.array_size(key).has_value();
  const std::vector<int64_t> list = listed ? all.integers(key, 0, 1) : std::vector<int64_t>();
  check(!listed || std::ssize(list) == layers, "{}: key {} has {} values for {} layers", settings.shards().name(), key,
        list.size(), layers);
  const int64_t period = listed ? 1 : all.integer_or(key, usual, 1, most);
  json types = json::array();
  for (int64_t layer = 0; layer < layers; ++layer) {
    const bool windowed = any && (listed ? list[static_cast<size_t>(layer)] == 1 : (layer + 1) % period != 0);
    types.push_back(windowed ? "sliding_attention" : "full_attention");
  }
  config["layer_types"] = types;
}

/// Of one architecture is OLMo 3, which has windows.
void read_olmo2(const GgufSettings& settings, json& config) {
  read_decoder(settings, config);
  const char* window = "attention.sliding_window";
  if (!settings.has(window) || settings.integer(window) == 0) return;
  config.update(
      {{"model_type", "olmo3"}, {"architectures", {"Olmo3ForCausalLM"}}, {"sliding_window", settings.integer(window)}});
  read_windows(settings, config, 4);
}

/// Every fourth layer has neither a window nor positions, where a file says nothing else.
void read_cohere2(const GgufSettings& settings, json& config) {
  read_decoder(settings, config);
  read_windows(settings, config, 4);
}

/// Small ones have no windows.
void read_exaone4(const GgufSettings& settings, json& config) {
  read_cohere2(settings, config);
  const char* window = "attention.sliding_window";
  config["sliding_window"] = settings.has(window) ? json(settings.integer(window)) : json();
}

/// Whose yarn may leave scores as they are; in files of others they grow with the factor.
void read_mistral3(const GgufSettings& settings, json& config) {
  read_decoder(settings, config);
  json& scaling = config["rope_scaling"];
  if (scaling.is_null()) scaling = {{"rope_type", "default"}};
  if (scaling["rope_type"] != "yarn") return;
  const char *multiplier = "rope.scaling.yarn_log_multiplier", *growth = "attention.temperature_scale";
  scaling["mscale"] = 1.0;
  scaling["mscale_all_dim"] = settings.has(multiplier) ? settings.number(multiplier) : 0.0;
  if (settings.has(growth)) scaling[RotaryConfig::query_growth_key] = settings.number(growth);
}

/// What the first files do not say of the experts' widths, as llama.cpp takes it.
void read_qwen2_moe(const GgufSettings& settings, json& config) {
  read_decoder(settings, config);
  config["qkv_bias"] = config["attention_bias"];
  const auto inner = config["intermediate_size"].get<int64_t>(), used = config["num_experts_per_tok"].get<int64_t>();
  if (!config.contains("moe_intermediate_size")) config["moe_intermediate_size"] = inner / std::max(used, int64_t{1});
  if (!config.contains("shared_expert_intermediate_size")) config["shared_expert_intermediate_size"] = inner;
}

/// A list has a 1 for each layer with a delta net; without it, all but every so many have one.
void read_qwen3_5(const GgufSettings& settings, json& config) {
  read_decoder(settings, config);
  const int64_t layers = layers_of(settings.shards(), architecture_of(settings.shards()));
  config["num_hidden_layers"] = layers;
  const auto heads = config["linear_num_value_heads"].get<int64_t>(), inner = settings.integer("ssm.inner_size");
  check(heads > 0 && inner % heads == 0, "{}: key {} is {}, not a multiple of {}, which is {}",
        settings.shards().name(), settings.name("ssm.inner_size"), inner, settings.name("ssm.time_step_rank"), heads);
  config["linear_value_head_dim"] = inner / heads;
  const char *listed = "attention.recurrent_layers", *period = "full_attention_interval";
  if (!settings.has(listed)) {
    if (settings.has(period)) config["full_attention_interval"] = settings.integer(period);
    return;
  }
  const std::string key = settings.name(listed);
  const std::vector<int64_t> list = settings.all().integers(key, 0, 1);
  check(std::ssize(list) >= layers, "{}: key {} has {} values for {} layers", settings.shards().name(), key,
        list.size(), layers);
  json& types = config["layer_types"] = json::array();
  for (int64_t layer = 0; layer < layers; ++layer)
    types.push_back(list[static_cast<size_t>(layer)] == 1 ? "linear_attention" : "full_attention");
}

/// Files have no scale of scores: it follows from the model, the largest of a generation differing from the others.
void read_gemma(const GgufSettings& settings, json& config, int64_t layers_of_largest) {
  read_decoder(settings, config);
  const bool largest = config["num_hidden_layers"] == layers_of_largest;
  config["query_pre_attn_scalar"] =
      largest ? config["hidden_size"].get<int64_t>() / config["num_attention_heads"].get<int64_t>()
              : config["head_dim"].get<int64_t>();
  if (settings.has("attention.query_pre_scalar"))
    config["query_pre_attn_scalar"] = settings.integer("attention.query_pre_scalar");
}

void read_gemma2(const GgufSettings& settings, json& config) {
  read_gemma(settings, config, 46);
  read_windows(settings, config, 2);
}

void read_gemma3(const GgufSettings& settings, json& config) {
  if (!config.contains("rope_theta")) config["rope_theta"] = 1e6;
  if (!config.contains("rope_local_base_freq")) config["rope_local_base_freq"] = 1e4;
  read_gemma(settings, config, 62);
  read_windows(settings, config, 6);
}

/// A setting that may be one number for all layers or a list.
std::vector<int64_t> of_layers(const GgufSettings& settings, const char* key, int64_t layers) {
  const std::string name = settings.name(key);
  if (!settings.all().array_size(name)) return std::vector<int64_t>(static_cast<size_t>(layers), settings.integer(key));
  std::vector<int64_t> list = settings.all().integers(name, 0, most);
  check(std::ssize(list) == layers, "{}: key {} has {} values for {} layers", settings.shards().name(), name,
        list.size(), layers);
  return list;
}

/// Of mixtures: what is made of logits.
void check_sigmoids(const GgufSettings& settings) {
  constexpr int64_t sigmoid = 2;
  const char* key = "expert_gating_func";
  const int64_t found = settings.has(key) ? settings.integer(key) : sigmoid;
  check(found == sigmoid, "{}: key {} is {}; {} (sigmoid) is supported for this architecture", settings.shards().name(),
        settings.name(key), found, sigmoid);
}

void read_glm4_moe(const GgufSettings& settings, json& config) {
  check_sigmoids(settings);
  read_decoder(settings, config);
  config["num_hidden_layers"] = layers_of(settings.shards(), architecture_of(settings.shards()));
  config["use_qk_norm"] = settings.has_tensor("blk.0.attn_q_norm.weight");
}

/// A layer with a short convolution has no heads of keys.
void read_lfm2(const GgufSettings& settings, json& config) {
  check_sigmoids(settings);
  const auto layers = config["num_hidden_layers"].get<int64_t>();
  const char* key = "attention.head_count_kv";
  for (const int64_t heads : of_layers(settings, key, layers)) {
    config["layer_types"].push_back(heads > 0 ? "full_attention" : "conv");
    if (heads == 0) continue;
    check(config.value("num_key_value_heads", heads) == heads, "{}: key {} has {} and {}; that is not supported",
          settings.shards().name(), settings.name(key), config.value("num_key_value_heads", heads), heads);
    config["num_key_value_heads"] = heads;
  }
  read_decoder(settings, config);
}

/// Where not all of a head's columns turn, the divisors of the others' frequencies are next to infinite.
json gemma4_angles(const GgufSettings& settings, int64_t width) {
  json angles = {{"rope_type", "default"},
                 {"rope_theta", settings.has("rope.freq_base") ? settings.number("rope.freq_base") : 1e6}};
  if (!settings.has_tensor("rope_freqs.weight")) return angles;
  const std::vector<float> divisors = gguf_floats(settings, "rope_freqs.weight", width / 2);
  const auto still = std::ranges::find_if(divisors, [](float divisor) { return divisor != 1; });
  check(std::all_of(still, divisors.end(), [](float divisor) { return divisor >= 1e20f; }),
        "{}: tensor rope_freqs.weight has other divisors than 1 for the first and 1e30 for the other pairs",
        settings.shards().name());
  angles["rope_type"] = "proportional";
  angles["partial_rotary_factor"] =
      static_cast<double>(still - divisors.begin()) / static_cast<double>(divisors.size());
  return angles;
}

/// Layers with and without a window have heads of two widths; where those without have no tensor for values, these are
/// their keys.
void read_gemma4(const GgufSettings& settings, json& config) {
  read_windows(settings, config, 6);
  const auto layers = config["num_hidden_layers"].get<int64_t>();
  const json& types = config["layer_types"];
  const std::vector<int64_t> kv_heads = of_layers(settings, "attention.head_count_kv", layers),
                             inner = of_layers(settings, "feed_forward_length", layers);
  if (!config.contains("num_kv_shared_layers")) config["num_kv_shared_layers"] = 0;
  const int64_t own = layers - config["num_kv_shared_layers"].get<int64_t>();
  config["attention_k_eq_v"] = false;
  for (int64_t i = 0; i < own; ++i) {
    const bool wide = types[static_cast<size_t>(i)] == "full_attention";
    const char* key = wide ? "num_global_key_value_heads" : "num_key_value_heads";
    const int64_t heads = kv_heads[static_cast<size_t>(i)];
    check(!config.contains(key) || config[key] == heads, "{}: key {} has {} heads for layer {}, others of its kind {}",
          settings.shards().name(), settings.name("attention.head_count_kv"), heads, i, config.value(key, int64_t{0}));
    config[key] = heads;
    if (wide && !settings.has_tensor(fmt::format("blk.{}.attn_v.weight", i))) config["attention_k_eq_v"] = true;
  }
  if (!config.contains("num_key_value_heads")) config["num_key_value_heads"] = kv_heads.front();
  check(config["attention_k_eq_v"] ||
            config.value("num_global_key_value_heads", kv_heads.front()) == config["num_key_value_heads"],
        "{}: key {} has other heads for layers without a window, which have a tensor for values; that is not supported",
        settings.shards().name(), settings.name("attention.head_count_kv"));
  config["intermediate_size"] = inner.front();
  config["use_double_wide_mlp"] = inner.back() == 2 * inner.front();
  for (int64_t i = 0; i < layers; ++i)
    check(inner[static_cast<size_t>(i)] == inner.front() * (i >= own && config["use_double_wide_mlp"] ? 2 : 1),
          "{}: key {} is {} for layer {}, {} for the first; that is not supported", settings.shards().name(),
          settings.name("feed_forward_length"), inner[static_cast<size_t>(i)], i, inner.front());
  for (const auto& [key, width] : {std::pair{"attention.value_length", "global_head_dim"},
                                   {"rope.dimension_count", "global_head_dim"},
                                   {"attention.value_length_swa", "head_dim"},
                                   {"rope.dimension_count_swa", "head_dim"}})
    check(!settings.has(key) || config[width] == settings.integer(key),
          "{}: key {} is not the width {} of the heads; that is not supported", settings.shards().name(),
          settings.name(key), config[width].get<int64_t>());
  const double local = settings.has("rope.freq_base_swa") ? settings.number("rope.freq_base_swa") : 1e4;
  config["rope_parameters"] = {{"full_attention", gemma4_angles(settings, config["global_head_dim"])},
                               {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", local}}}};
  config["enable_moe_block"] = has_experts(settings);
  if (!config.contains("hidden_size_per_layer_input")) config["hidden_size_per_layer_input"] = 0;
  if (settings.has_tensor("per_layer_token_embd.weight"))
    config["vocab_size_per_layer_input"] = rows_of(settings.shards(), "per_layer_token_embd.weight");
}

/// Of its scaling, which files have as other models' yarn, the bounds are no whole columns.
void read_gpt_oss(const GgufSettings& settings, json& config) {
  read_decoder(settings, config);
  read_windows(settings, config, 2);
  json& scaling = config["rope_scaling"];
  if (scaling.is_null()) scaling = {{"rope_type", "default"}};
  if (scaling["rope_type"] == "yarn") scaling["truncate"] = false;
}

void read_phi3(const GgufSettings& settings, json& config) {
  read_decoder(settings, config);
  if (settings.has("attention.sliding_window") && settings.integer("attention.sliding_window") > 0)
    config["sliding_window"] = settings.integer("attention.sliding_window");
}

void read_stablelm(const GgufSettings& settings, json& config) {
  read_decoder(settings, config);
  config["use_qkv_bias"] = config["attention_bias"];
  config["qk_layernorm"] = settings.has_tensor("blk.0.attn_q_norm.weight");
  config["use_parallel_residual"] = !settings.has_tensor("blk.0.ffn_norm.weight");
}

/// Of one architecture are Mistral, which a window tells, and Mixtral, which has experts.
void read_llama(const GgufSettings& settings, json& config) {
  read_decoder(settings, config);
  config["mlp_bias"] = settings.has_tensor("blk.0.ffn_up.bias");
  if (config["model_type"] != "llama") return;
  const bool experts = has_experts(settings);
  const int64_t window = settings.has("attention.sliding_window") ? settings.integer("attention.sliding_window") : 0;
  if (window > 0) config["sliding_window"] = window;
  if (window == 0 && !experts) return;
  config["model_type"] = experts ? "mixtral" : "mistral";
  config["architectures"] = {experts ? "MixtralForCausalLM" : "MistralForCausalLM"};
}

void read_granite(const GgufSettings& settings, json& config) {
  read_llama(settings, config);
  if (!config.contains("attention_multiplier"))
    config["attention_multiplier"] = 1 / std::sqrt(config["head_dim"].get<double>());
  const char* turns = "rope.scaling.finetuned";  // llama.cpp's switch of Granite's positions
  check(settings.all().boolean_or(settings.name(turns), true),
        "{}: key {} is false: a granite without positions is not supported", settings.shards().name(),
        settings.name(turns));
}

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

struct Reader {
  std::string_view architecture;
  void (*read)(const GgufSettings&, json& config);
};
constexpr Reader readers[] = {{"gpt-oss", read_gpt_oss},
                              {"llama", read_llama},
                              {"qwen2", read_decoder},
                              {"qwen3", read_decoder},
                              {"qwen3moe", read_decoder},
                              {"smollm3", read_llama},
                              {"granite", read_granite},
                              {"olmo2", read_olmo2},
                              {"exaone4", read_exaone4},
                              {"glm4", read_decoder},
                              {"glm4moe", read_glm4_moe},
                              {"lfm2", read_lfm2},
                              {"lfm2moe", read_lfm2},
                              {"command-r", read_decoder},
                              {"cohere2", read_cohere2},
                              {"ernie4_5", read_decoder},
                              {"arcee", read_llama},
                              {"mistral3", read_mistral3},
                              {"hunyuan-dense", read_decoder},
                              {"seed_oss", read_decoder},
                              {"qwen2moe", read_qwen2_moe},
                              {"qwen35", read_qwen3_5},
                              {"qwen35moe", read_qwen3_5},
                              {"olmoe", read_decoder},
                              {"phi3", read_phi3},
                              {"gemma", read_decoder},
                              {"gemma2", read_gemma2},
                              {"gemma3", read_gemma3},
                              {"gemma4", read_gemma4},
                              {"gpt2", read_gpt2},
                              {"gptneox", read_gpt_neox},
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
