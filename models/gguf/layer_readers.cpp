#include <algorithm>

#include "models/gguf/config_readers.h"
#include "models/gguf/gguf_rotary.h"
#include "runtime/check.h"

namespace vkformer {

using nlohmann::json;

namespace {

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

/// A layer that has something else than attention has no heads of keys.
void read_mixers(const GgufSettings& settings, json& config, const char* attention, const char* other) {
  const char* key = "attention.head_count_kv";
  for (const int64_t heads : of_layers(settings, key, config["num_hidden_layers"].get<int64_t>())) {
    config["layer_types"].push_back(heads > 0 ? attention : other);
    if (heads == 0) continue;
    check(config.value("num_key_value_heads", heads) == heads, "{}: key {} has {} and {}; that is not supported",
          settings.shards().name(), settings.name(key), config.value("num_key_value_heads", heads), heads);
    config["num_key_value_heads"] = heads;
  }
}

}  // namespace

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

void read_lfm2(const GgufSettings& settings, json& config) {
  check_sigmoids(settings);
  read_mixers(settings, config, "full_attention", "conv");
  read_decoder(settings, config);
}

void read_granite_hybrid(const GgufSettings& settings, json& config) {
  read_mixers(settings, config, "attention", "mamba");
  read_granite_keys(settings, config);
  const auto width = config["hidden_size"].get<int64_t>(), inner = settings.integer("ssm.inner_size");
  check(config["mamba_n_groups"] == 1, "{}: key {} is {}; heads in groups are not supported", settings.shards().name(),
        settings.name("ssm.group_count"), settings.integer("ssm.group_count"));
  check(width > 0 && inner % width == 0, "{}: key {} is {}, not a multiple of the width {}", settings.shards().name(),
        settings.name("ssm.inner_size"), inner, width);
  config["mamba_expand"] = inner / width;
  config["mamba_d_head"] = inner / std::max(config["mamba_n_heads"].get<int64_t>(), int64_t{1});
  const bool experts = has_experts(settings);
  if (!experts) config["num_local_experts"] = 0;
  config["shared_intermediate_size"] =
      rows_of(settings.shards(), experts ? "blk.0.ffn_up_shexp.weight" : "blk.0.ffn_up.weight");
  // llama.cpp's switch of Granite's positions.
  config["position_embedding_type"] =
      settings.all().boolean_or(settings.name("rope.scaling.finetuned"), true) ? "rope" : "nope";
}

void read_falcon_h1(const GgufSettings& settings, json& config) {
  config["mamba_rms_norm"] = settings.has_tensor("blk.0.ssm_norm.weight");
  config["mamba_norm_before_gate"] = false;
  read_decoder(settings, config);
}

/// A layer has heads of keys, a feed-forward layer, or else a state space. One of an architecture without experts says
/// nothing of them.
void read_nemotron_h(const GgufSettings& settings, json& config) {
  const char *heads_key = "attention.head_count_kv", *inner_key = "feed_forward_length";
  const auto all = config["num_hidden_layers"].get<int64_t>();
  const int64_t layers = layers_of(settings.shards(), architecture_of(settings.shards()));
  const std::vector<int64_t> kv_heads = of_layers(settings, heads_key, all),
                             inner = of_layers(settings, inner_key, all);
  const bool experts = has_experts(settings);
  config.update({{"model_type", "nemotron_h"}, {"num_hidden_layers", layers}, {"attention_bias", false}});
  config["mlp_bias"] = false;
  // Under this name where the folder that the file was made of has no other.
  if (const char* epsilon = "attention.layer_norm_epsilon"; !config.contains("layer_norm_epsilon"))
    config["layer_norm_epsilon"] = settings.number(epsilon);
  const auto set = [&](const char* key, const char* theirs, int64_t value) {
    check(config.value(key, value) == value, "{}: key {} has {} and {}; that is not supported",
          settings.shards().name(), settings.name(theirs), config.value(key, value), value);
    config[key] = value;
  };
  for (int64_t i = 0; i < layers; ++i) {
    const int64_t heads = kv_heads[static_cast<size_t>(i)], width = inner[static_cast<size_t>(i)];
    const auto has = [&](const char* tensor) { return settings.has_tensor(fmt::format("blk.{}.{}", i, tensor)); };
    check(heads == 0 || width == 0, "{}: keys {} and {} give layer {} both; that is not supported",
          settings.shards().name(), settings.name(heads_key), settings.name(inner_key), i);
    config["layers_block_type"].push_back(heads > 0 ? "attention" : width == 0 ? "mamba" : experts ? "moe" : "mlp");
    if (heads > 0) set("num_key_value_heads", heads_key, heads);
    if (width > 0 && !experts) set("intermediate_size", inner_key, width);
    if (heads > 0 && has("attn_q.bias")) config["attention_bias"] = true;
    if (has("ffn_up.bias")) config["mlp_bias"] = true;
  }
  const auto heads = config["mamba_num_heads"].get<int64_t>(), values = settings.integer("ssm.inner_size");
  check(heads > 0 && values % heads == 0, "{}: key {} is {}, not a multiple of {}, which is {}",
        settings.shards().name(), settings.name("ssm.inner_size"), values, settings.name("ssm.time_step_rank"), heads);
  config["mamba_head_dim"] = values / heads;
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

}  // namespace vkformer
