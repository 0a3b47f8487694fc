#include "models/families/gemma4/gemma4.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "models/families/config_keys.h"
#include "models/families/decoder/decoder_config.h"
#include "models/families/decoder/expert_config.h"
#include "runtime/check.h"
#include "shaders/attention/attention.h"
#include "shaders/router/router.h"

namespace vkformer {

namespace {

constexpr const char* unified = "gemma4_unified_text";
constexpr const char* activation = "hidden_activation";
constexpr const char *both_ways_key = "use_bidirectional_attention", *cap_key = "final_logit_softcapping";
constexpr const char *wide_key = "global_head_dim", *wide_heads_key = "num_global_key_value_heads";
constexpr const char *keys_as_values_key = "attention_k_eq_v", *shared_key = "num_kv_shared_layers";
constexpr const char* double_key = "use_double_wide_mlp";
constexpr const char *inputs_key = "hidden_size_per_layer_input", *inputs_rows_key = "vocab_size_per_layer_input";
constexpr const char *experts_key = "enable_moe_block", *chosen_key = "top_k_experts";
constexpr const char* expert_inner_key = "moe_intermediate_size";

/// What layers without a window have in place of `usual`: newer files say it of each such layer.
int64_t of_wide_layers(const JsonObject& json, const Decoder& d, const char* key, const char* layer_key, int64_t usual,
                       int64_t most) {
  constexpr const char* each = "per_layer_config";
  if (json.has(key) || !json.has(each)) return integer_or(json, key, usual, 1, most);
  const JsonObject layers = require_object(json, each);
  std::optional<int64_t> found;
  for (size_t i = 0; i < d.layers.size(); ++i) {
    if (d.layers[i].window > 0) continue;
    const std::string layer = std::to_string(i);
    const int64_t own =
        layers.has(layer) ? integer_or(require_object(layers, layer), layer_key, usual, 1, most) : usual;
    check(!found || own == *found, "{}: {} of layer {} has {} {}, another layer without a window {}", json.name(), each,
          i, layer_key, own, *found);
    found = own;
  }
  return found.value_or(usual);
}

/// Of all layers the last one never has a window, whatever the file says, as transformers has it.
void read_layers(const JsonObject& json, Decoder& d) {
  set_windows(json, d, window_of(json, d.family == unified ? 1024 : 512),
              [](int64_t layer) { return (layer + 1) % 6 != 0; });
  d.layers.back().window = 0;
  const int64_t wide = of_wide_layers(json, d, wide_key, "head_dim", 512, most_head_width);
  check(wide % 2 == 0, "{}: {} {} is odd; rotary positions turn pairs", json.name(), wide_key, wide);
  const bool keys_as_values = boolean_or(json, keys_as_values_key, false);
  const int64_t wide_heads =
      keys_as_values ? of_wide_layers(json, d, wide_heads_key, "num_key_value_heads", d.kv_heads, most_width)
                     : d.kv_heads;
  check(d.heads % wide_heads == 0, "{}: num_attention_heads {} is not a multiple of {} {}", json.name(), d.heads,
        wide_heads_key, wide_heads);
  for (Decoder::Layer& layer : d.layers) {
    layer.rotary = layer.window > 0 ? 1 : 0;
    if (layer.window > 0) continue;
    layer.head_width = wide;
    layer.kv_heads = wide_heads;
    layer.keys_as_values = keys_as_values;
  }
}

/// The last layers may see the keys and values of the last one before them that has a window as they have, or none.
void share_keys(const JsonObject& json, Decoder& d) {
  const auto layers = static_cast<int64_t>(d.layers.size());
  const int64_t shared = integer_or(json, shared_key, 0, 0, layers - 1);
  const bool twice = boolean_or(json, double_key, false);
  for (int64_t i = layers - shared; i < layers; ++i) {
    Decoder::Layer& layer = d.layers[static_cast<size_t>(i)];
    for (int64_t j = 0; j < layers - shared; ++j)
      if ((d.layers[static_cast<size_t>(j)].window > 0) == (layer.window > 0)) layer.kv_layer = j;
    check(layer.kv_layer >= 0, "{}: layer {} shares keys ({}), but none of the {} layers before is of its kind",
          json.name(), i, shared_key, layers - shared);
    if (twice) layer.inner = 2 * d.inner;
  }
}

void read_mixture(const JsonObject& json, Decoder& d) {
  if (!boolean_or(json, experts_key, false)) return;
  d.experts = {.count = require_integer(json, "num_experts", 1, most_experts),
               .chosen = require_integer(json, chosen_key, 1, most_experts),
               .inner = require_integer(json, expert_inner_key, 1, 1 << 22),
               .normalised = true,
               .stacks = Decoder::Experts::Stacks::rows,
               .beside = true,
               .own_norms = true,
               .name = "",
               .router = "router.proj"};
  check(d.experts.chosen <= d.experts.count, "{}: {} is {}, num_experts is {}", json.name(), chosen_key,
        d.experts.chosen, d.experts.count);
  for (Decoder::Layer& layer : d.layers) layer.experts = true;
}

void read_both_rotaries(const JsonObject& json, Decoder& d) {
  d.rotaries = {{.theta = 1e6, .scaling = RotaryConfig::Scaling::proportional, .share = 0.25}, {.theta = 1e4}};
  if (!json.has("rope_parameters")) return;
  const JsonObject both = require_object(json, "rope_parameters");
  for (const auto& [key, usual, rotary] :
       {std::tuple{"full_attention", 1e6, 0U}, std::tuple{"sliding_attention", 1e4, 1U}})
    d.rotaries[rotary] = RotaryConfig::from_json(require_object(both, key), json,
                                                 {.theta = usual, .context = d.context, .proportional = rotary == 0});
}

/// `twice`: layers that share keys are to have wide feed-forward layers, whether there are some or not.
nlohmann::json keys_of(const Decoder& d, bool twice) {
  const Decoder::Layer& wide = d.layers.back();
  const auto shared = std::ranges::count_if(d.layers, [](const Decoder::Layer& layer) { return layer.kv_layer >= 0; });
  nlohmann::json keys = {{"sliding_window", sliding_window(d)},
                         {"layer_types", layer_types(d)},
                         {"rope_parameters", rotary_keys(d)["rope_parameters"]},
                         {cap_key, cap_or_null(d.logit_cap)},
                         {"attention_bias", d.input_bias},
                         {wide_key, wide.head_width},
                         {keys_as_values_key, wide.keys_as_values},
                         {shared_key, shared},
                         {double_key, twice}};
  if (wide.keys_as_values) keys[wide_heads_key] = wide.kv_heads;
  if (d.family == unified) return keys;
  keys.update({{inputs_key, d.layer_inputs.width},
               {inputs_rows_key, d.layer_inputs.vocabulary},
               {experts_key, d.experts.count > 0}});
  if (d.experts.count > 0)
    keys.update(
        {{"num_experts", d.experts.count}, {chosen_key, d.experts.chosen}, {expert_inner_key, d.experts.inner}});
  return keys;
}

}  // namespace

Model make_gemma4(const JsonObject& json) {
  const bool is_unified = string_or(json, "model_type", "") == unified;
  const char* architecture = is_unified ? "Gemma4UnifiedForCausalLM" : "Gemma4ForCausalLM";
  Decoder d{.family = is_unified ? unified : "gemma4_text",
            .vocabulary = 262144,
            .context = is_unified ? 262144 : 131072,
            .width = 2304,
            .inner = 9216,
            .heads = 8,
            .kv_heads = 4,
            .head_width = 256,
            .score_scale = 1,
            .gate = Gate::gelu_tanh,
            .norms = Decoder::Norms::around,
            .query_norms = Decoder::QueryNorms::head,
            .value_norms = true,
            .layer_scales = true,
            .tied = true,
            .layers = std::vector<Decoder::Layer>(30)};
  read_decoder(json, d, architecture, activation);
  check(!json.has(both_ways_key) || json.value()[both_ways_key] == "vision",
        "{}: {} must be null or \"vision\", which texts alone don't have", json.name(), both_ways_key);
  d.embedding_scale = std::sqrt(static_cast<double>(d.width));
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  d.logit_cap = read_cap(json, cap_key, 0);
  read_layers(json, d);
  share_keys(json, d);
  read_both_rotaries(json, d);
  if (!is_unified) {
    d.layer_inputs = {.width = integer_or(json, inputs_key, 256, 0, most_width),
                      .vocabulary = integer_or(json, inputs_rows_key, 262144, 1, most_rows)};
    check(d.layer_inputs.width == 0 || d.layer_inputs.vocabulary >= d.vocabulary,
          "{}: {} {} is less than vocab_size {}", json.name(), inputs_rows_key, d.layer_inputs.vocabulary,
          d.vocabulary);
    read_mixture(json, d);
  }
  nlohmann::json written = decoder_keys(d, architecture, activation);
  written.update(keys_of(d, boolean_or(json, double_key, false)));
  return make_decoder(d, written);
}

}  // namespace vkformer
