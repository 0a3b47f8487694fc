#include "models/families/falcon_h1/falcon_h1.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/decoder/decoder_config.h"
#include "models/families/decoder/mixer_config.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr const char *heads_key = "mamba_n_heads", *width_key = "mamba_d_head", *groups_key = "mamba_n_groups";
constexpr const char *state_key = "mamba_d_state", *convolution_key = "mamba_d_conv", *inner_key = "mamba_d_ssm";
constexpr const char *convolution_bias_key = "mamba_conv_bias", *bias_key = "mamba_proj_bias";
constexpr const char *normed_key = "mamba_rms_norm", *normed_first_key = "mamba_norm_before_gate";
constexpr const char *attention_bias_key = "attention_bias", *inner_bias_key = "mlp_bias";

void read_mamba(const JsonObject& json, Decoder& d) {
  Decoder::Mamba& sizes = d.mamba;
  sizes.heads = integer_or(json, heads_key, 128, 1, most_width);
  sizes.groups = integer_or(json, groups_key, 1, 1, most_width);
  sizes.state_width = integer_or(json, state_key, 256, 1, 256);
  sizes.positions = integer_or(json, convolution_key, 4, 2, 8);
  sizes.convolution_bias = boolean_or(json, convolution_bias_key, true);
  sizes.bias = boolean_or(json, bias_key, false);
  sizes.normed = boolean_or(json, normed_key, false);
  sizes.normed_by_group = true;
  sizes.normed_first = boolean_or(json, normed_first_key, true);
  const bool is_null = json.value().contains(inner_key) && !json.has(inner_key);
  const int64_t usual = is_null ? integer_or(json, "mamba_expand", 2, 1, 1024) * d.width : 1024;
  const int64_t inner = integer_or(json, inner_key, usual, 1, most_width);
  const bool derived = !json.has(width_key) || json.value()[width_key] == "auto";
  sizes.head_width = derived ? inner / sizes.heads : require_integer(json, width_key, 1, 256);
  check(sizes.head_width >= 1 && sizes.head_width <= 256 && sizes.head_width * sizes.heads == inner,
        "{}: {} heads of {} ({}, {}) are not the {} columns of {}", json.name(), sizes.heads, sizes.head_width,
        heads_key, width_key, inner, inner_key);
  check(sizes.heads % sizes.groups == 0, "{}: {} {} is not a multiple of {} {}", json.name(), heads_key, sizes.heads,
        groups_key, sizes.groups);
  check(boolean_or(json, "projectors_bias", false) == sizes.bias,
        "{}: projectors_bias must be what {} is, {}; nothing else is supported", json.name(), bias_key, sizes.bias);
  check_steps(json);
}

nlohmann::json mamba_keys(const Decoder& d) {
  const Decoder::Mamba& sizes = d.mamba;
  return {{heads_key, sizes.heads},
          {width_key, sizes.head_width},
          {groups_key, sizes.groups},
          {state_key, sizes.state_width},
          {convolution_key, sizes.positions},
          {inner_key, sizes.heads * sizes.head_width},
          {convolution_bias_key, sizes.convolution_bias},
          {bias_key, sizes.bias},
          {"projectors_bias", sizes.bias},
          {normed_key, sizes.normed},
          {normed_first_key, sizes.normed_first}};
}

/// The factors of a config, as it has them.
class Multipliers {
 public:
  explicit Multipliers(const JsonObject& json) : json_(json) {}

  double one(const char* key) {
    const double factor = number_or(json_, key, 1, 1e-6, 1e6);
    written_[key] = factor;
    return factor;
  }
  std::vector<double> several(const char* key, size_t count) {
    nlohmann::json& all = written_[key] = json_.has(key) ? json_.value()[key] : nlohmann::json(count, 1.0);
    const bool sound = all.is_array() && all.size() == count && std::ranges::all_of(all, [](const auto& factor) {
                         return factor.is_number() && factor >= 1e-6 && factor <= 1e6;
                       });
    check(sound, "{}: {} must be a list of {} numbers from 1e-6 to 1e6", json_.name(), key, count);
    return all.get<std::vector<double>>();
  }
  const nlohmann::json& written() const { return written_; }

 private:
  const JsonObject& json_;
  nlohmann::json written_ = nlohmann::json::object();
};

/// Factors of inputs are carried over to what is made of them, which biases would not allow.
void read_multipliers(const JsonObject& json, Multipliers& multipliers, Decoder& d) {
  d.embedding_scale = multipliers.one("embedding_multiplier");
  d.logit_scale = multipliers.one("lm_head_multiplier");
  const double seen = multipliers.one("attention_in_multiplier");
  d.score_scale = seen * seen * multipliers.one("key_multiplier") / std::sqrt(static_cast<double>(d.head_width));
  d.attention_scale = seen * multipliers.one("attention_out_multiplier");
  const std::vector<double> inner = multipliers.several("mlp_multipliers", 2);
  d.inner_scale = inner[0];
  d.inner_output_scale = inner[1] / inner[0];
  const double projected = multipliers.one("ssm_in_multiplier");
  const std::vector<double> parts = multipliers.several("ssm_multipliers", d.mamba.scales.size());
  for (size_t i = 0; i < parts.size(); ++i) d.mamba.scales[i] = projected * parts[i];
  d.mamba.output_scale = multipliers.one("ssm_out_multiplier");
  for (const auto& [bias, key, factor] : {std::tuple{d.input_bias, attention_bias_key, seen},
                                          {d.inner_bias, inner_bias_key, inner[0]},
                                          {d.mamba.bias, bias_key, projected}})
    check(!bias || factor == 1, "{}: {} is not supported beside a factor {} of what it is added to", json.name(), key,
          factor);
}

}  // namespace

Model make_falcon_h1(const JsonObject& json) {
  constexpr const char* architecture = "FalconH1ForCausalLM";
  Decoder d{.family = "falcon_h1",
            .vocabulary = 128000,
            .context = 8192,
            .inner = 14336,
            .kv_heads = 8,
            .head_width = 0,
            .epsilon = 1e-5,
            .inner_name = "feed_forward",
            .inner_first = "pre_ff_layernorm",
            .last_norm = "model.final_layernorm",
            .layers = std::vector<Decoder::Layer>(32)};
  read_decoder(json, d, architecture);
  check(d.gate == Gate::silu, "{}: hidden_act must be silu, for state spaces have it, too", json.name());
  for (Decoder::Layer& layer : d.layers) layer.mamba_beside = true;
  d.input_bias = d.output_bias = boolean_or(json, attention_bias_key, false);
  d.inner_bias = boolean_or(json, inner_bias_key, false);
  read_mamba(json, d);
  Multipliers multipliers(json);
  read_multipliers(json, multipliers, d);
  read_rotary(json, d);

  nlohmann::json written = decoder_keys(d, architecture);
  written.update({{attention_bias_key, d.input_bias}, {inner_bias_key, d.inner_bias}});
  written.update(mamba_keys(d));
  written.update(step_keys());
  written.update(multipliers.written());
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
