#include <algorithm>
#include <cmath>

#include "models/gguf/config_writers.h"
#include "models/gguf/gguf_settings.h"
#include "runtime/check.h"

namespace vkformer {

using nlohmann::json;

namespace {

/// A layer that has something else than attention has no heads of keys.
void add_mixers(GgufPairs& pairs, const std::string& prefix, const json& config, const char* other) {
  std::vector<int32_t> heads;
  for (const json& type : config.at("layer_types"))
    heads.push_back(type == other ? 0 : config.at("num_key_value_heads").get<int32_t>());
  pairs.add_integers(prefix + "attention.head_count_kv", heads);
  add_decoder(pairs, prefix, config);
}

/// How logits become the weights of a mixture.
void add_weights(GgufPairs& pairs, const std::string& prefix, int64_t made_by) {
  pairs.add_integer(prefix + "expert_gating_func", static_cast<uint32_t>(made_by));
}

/// What the divisors of frequencies are where pairs do not turn.
constexpr float still = 1e30f;

}  // namespace

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

void add_glm4_moe(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_weights(pairs, prefix, gguf_sigmoid);
  add_decoder(pairs, prefix, config);
}

void add_ernie4_5_moe(GgufPairs& pairs, const std::string& prefix, const json& config) {
  const uint32_t layers = integer_in(config, "num_hidden_layers"), last = integer_in(config, "moe_layer_end_index");
  check(last + 1 == layers, "a GGUF file can't say that layers behind {} of {} have no experts", last, layers);
  pairs.add_integer(prefix + "expert_shared_feed_forward_length",
                    integer_in(config, "moe_num_shared_experts") * integer_in(config, "moe_intermediate_size"));
  add_decoder(pairs, prefix, config);
}

/// As llama.cpp computes it: one head of keys, whose first columns are the values.
void add_deepseek2(GgufPairs& pairs, const std::string& prefix, const json& config) {
  const uint32_t rank = integer_in(config, "kv_lora_rank"), turned = integer_in(config, "qk_rope_head_dim");
  pairs.add_integer(prefix + "attention.head_count_kv", 1);
  pairs.add_integer(prefix + "attention.key_length", rank + turned);
  pairs.add_integer(prefix + "attention.value_length", rank);
  pairs.add_integer(prefix + "attention.key_length_mla", integer_in(config, "qk_nope_head_dim") + turned);
  pairs.add_integer(prefix + "attention.value_length_mla", integer_in(config, "v_head_dim"));
  pairs.add_integer(prefix + "rope.dimension_count", turned);
  add_weights(pairs, prefix, config.at("scoring_func") == "sigmoid" ? gguf_sigmoid : gguf_softmax);
  const auto plain = config.at("first_k_dense_replace").get<size_t>();
  const json& kinds = config.at("mlp_layer_types");
  for (size_t layer = 0; layer < kinds.size(); ++layer)
    check((kinds[layer] == "dense") == (layer < plain),
          "a GGUF file can't say which layers have no experts: others than the first {}", plain);
  const RotaryConfig rotary = rotary_of(config);
  if (rotary.scaling != RotaryConfig::Scaling::yarn) return add_rotary(pairs, prefix, config, YarnForm());
  check(rotary.score_growth > 0 && std::abs(rotary.attention_factor - 1) < 1e-6,
        "a GGUF file of this architecture can't say yarn's attention_factor {}, only 1 with \"mscale_all_dim\"",
        rotary.attention_factor);
  add_rotary(pairs, prefix, config, YarnForm{.log_multiplier = rotary.score_growth / 10});
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

void add_falcon_h1(GgufPairs& pairs, const std::string& prefix, const json& config) {
  check(!config.at("mamba_rms_norm") || !config.at("mamba_norm_before_gate"),
        "a GGUF file of architecture falcon-h1 can't say \"mamba_norm_before_gate\" true");
  add_decoder(pairs, prefix, config);
}

void add_nemotron_h(GgufPairs& pairs, const std::string& prefix, const json& config) {
  const json& kinds = config.at("layers_block_type");
  const bool experts = config.at("model_type") == "nemotron_h_moe";
  const int32_t width = config.at(experts ? "moe_intermediate_size" : "intermediate_size").get<int32_t>();
  std::vector<int32_t> heads, inner;
  for (const json& kind : kinds) {
    check(!experts || kind != "mlp", "a GGUF file can't say that layers with experts stand beside ones without");
    heads.push_back(kind == "attention" ? config.at("num_key_value_heads").get<int32_t>() : 0);
    inner.push_back(kind == "moe" || kind == "mlp" ? width : 0);
  }
  pairs.add_integers(prefix + "attention.head_count_kv", heads);
  pairs.add_integers(prefix + "feed_forward_length", inner);
  pairs.add_integer(prefix + "attention.value_length", integer_in(config, "head_dim"));
  pairs.add_integer(prefix + "ssm.inner_size",
                    integer_in(config, "mamba_num_heads") * integer_in(config, "mamba_head_dim"));
}

void add_lfm2_moe(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_weights(pairs, prefix, gguf_sigmoid);
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

std::vector<NamedValues> gemma4_rotary_tensors(const json& config) {
  const json& angles = config.at("rope_parameters").at("full_attention");
  const auto pairs = config.at("global_head_dim").get<size_t>() / 2;
  const double share = angles.value("partial_rotary_factor", 1.0);
  std::vector<float> divisors(pairs, angles.at("rope_type") == "proportional" ? still : 1);
  std::fill_n(divisors.begin(), static_cast<size_t>(share * static_cast<double>(pairs)), 1.0f);
  return {{"rope_freqs.weight", divisors}};
}

}  // namespace vkformer
