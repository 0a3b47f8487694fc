#include "models/families/rotary.h"
#include "models/gguf/config_readers.h"
#include "models/gguf/gguf_rotary.h"
#include "runtime/check.h"

namespace vkformer {

using nlohmann::json;

namespace {

constexpr int64_t most = int64_t{1} << 40;

/// Rotary positions turn a part of each head.
constexpr std::string_view partly_turned[] = {"phi3",         "stablelm",         "glm4",      "glm4_moe",
                                              "qwen3_5_text", "qwen3_5_moe_text", "qwen3_next"};

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

}  // namespace

int64_t rows_of(const GgufShards& shards, std::string_view tensor) {
  const GgufShards::Tensor* found = shards.find(tensor);
  check(found != nullptr, "{}: has no tensor {}", shards.name(), tensor);
  return found->entry->shape.front();
}

bool has_experts(const GgufSettings& settings) {
  return settings.has("expert_count") && settings.integer("expert_count") > 0;
}

std::vector<int64_t> of_layers(const GgufSettings& settings, const char* key, int64_t layers) {
  const std::string name = settings.name(key);
  if (!settings.all().array_size(name)) return std::vector<int64_t>(static_cast<size_t>(layers), settings.integer(key));
  std::vector<int64_t> list = settings.all().integers(name, 0, most);
  check(std::ssize(list) == layers, "{}: key {} has {} values for {} layers", settings.shards().name(), name,
        list.size(), layers);
  return list;
}

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
  const auto counted = {"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"};
  check(!has_experts(settings) || std::ranges::any_of(counted, [&](const char* key) { return config.contains(key); }),
        "{}: key {}: mixtures of experts are not supported for this architecture", settings.shards().name(),
        settings.name("expert_count"));
  if (!config.contains("attention_bias")) config["attention_bias"] = settings.has_tensor("blk.0.attn_q.bias");
  read_gguf_rotary(settings, config, turned);
}

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

void read_granite_keys(const GgufSettings& settings, json& config) {
  read_decoder(settings, config);
  if (!config.contains("attention_multiplier"))
    config["attention_multiplier"] = 1 / std::sqrt(config["head_dim"].get<double>());
}

void read_granite(const GgufSettings& settings, json& config) {
  if (const char* key = "attention.head_count_kv"; settings.has(key)) {
    const std::vector<int64_t> heads = of_layers(settings, key, config["num_hidden_layers"].get<int64_t>());
    check(std::ranges::count(heads, heads.front()) == std::ssize(heads),
          "{}: key {} has other heads for some layers; that is not supported", settings.shards().name(),
          settings.name(key));
    config["num_key_value_heads"] = heads.front();
  }
  read_granite_keys(settings, config);
  check(!settings.has_tensor("blk.0.ffn_up_shexp.weight"),
        "{}: has an expert that every token takes (ffn_up_shexp); that is not supported for this architecture",
        settings.shards().name());
  if (config["model_type"] == "granite") config["mlp_bias"] = settings.has_tensor("blk.0.ffn_up.bias");
  const char* turns = "rope.scaling.finetuned";  // llama.cpp's switch of Granite's positions
  check(settings.all().boolean_or(settings.name(turns), true),
        "{}: key {} is false: a granite without positions is not supported", settings.shards().name(),
        settings.name(turns));
}

namespace {

/// Files tell how many pairs of each head turn by which of a position's numbers.
void read_sections(const GgufSettings& settings, json& config, bool mixed) {
  read_decoder(settings, config);
  const std::string key = settings.name("rope.dimension_sections");
  const auto all = settings.all().integers(key, 0, most);
  check(all.size() == 3 || (all.size() == 4 && all[3] == 0), "{}: key {} must be three numbers of pairs and a 0",
        settings.shards().name(), key);
  json rotary = {{"rope_type", "default"}, {"rope_theta", config["rope_theta"]}};
  if (config.contains("rope_scaling")) rotary.update(config["rope_scaling"]);
  config.erase("rope_scaling");
  rotary["mrope_section"] = std::vector<int64_t>(all.begin(), all.begin() + 3);
  if (mixed) rotary["mrope_interleaved"] = true;
  config["rope_parameters"] = rotary;
}

}  // namespace

void read_qwen2_vl(const GgufSettings& settings, json& config) { read_sections(settings, config, false); }
void read_qwen3_vl(const GgufSettings& settings, json& config) { read_sections(settings, config, true); }

}  // namespace vkformer
