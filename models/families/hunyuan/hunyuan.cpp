#include "models/families/hunyuan/hunyuan.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/decoder/decoder_config.h"
#include "models/families/decoder/expert_config.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr const char *mixture = "hunyuan_v1_moe", *chosen_key = "moe_topk";
constexpr const char *expert_inner_key = "moe_intermediate_size", *shared_key = "num_shared_expert";

/// The released files have a list of what is the same in all layers.
nlohmann::json with_one_for_all(const JsonObject& json) {
  nlohmann::json config = json.value();
  for (const char* key : {"num_experts", chosen_key, expert_inner_key, shared_key}) {
    const auto list = config.find(key);
    if (list == config.end() || !list->is_array()) continue;
    check(!list->empty() && std::ranges::count(*list, list->front()) == std::ssize(*list),
          "{}: {} differs from layer to layer; that is not supported", json.name(), key);
    const nlohmann::json first = list->front();
    *list = first;
  }
  return config;
}

void read_mixture(const JsonObject& json, Decoder& d) {
  d.experts = {.count = 1,
               .chosen = 1,
               .shared_gated = false,
               .normalised = true,
               .router = "gate.wg",
               .shared_name = "shared_mlp"};
  const JsonObject one = JsonObject::make(with_one_for_all(json), json.name());
  read_experts(one, d, 1, chosen_key);
  d.experts.inner = integer_or(one, expert_inner_key, d.inner, 1, 4 * most_width);
  d.experts.shared = d.inner * integer_or(one, shared_key, 1, 1, 64);
  // Of the first files' keys that transformers has not taken over.
  check(!boolean_or(json, "use_cla", false), "{}: use_cla, layers that see others' keys, is not supported",
        json.name());
  for (const char* key : {"use_qk_norm", "use_mixed_mlp_moe"})
    check(boolean_or(json, key, true), "{}: {} must be true for {}", json.name(), key, d.family);
  check(integer_or(json, "moe_layer_num_skipped", 0, 0, most_layers) == 0,
        "{}: moe_layer_num_skipped, layers without experts, is not supported", json.name());
}

nlohmann::json mixture_keys(const Decoder& d) {
  nlohmann::json keys = expert_keys(d, "num_experts", chosen_key);
  keys.update({{expert_inner_key, d.experts.inner}, {shared_key, d.experts.shared / d.inner}});
  return keys;
}

/// A larger base from the start, of NTK-aware scaling: "dynamic" with an "alpha". Gives the keys as they are.
nlohmann::json read_ntk(const JsonObject& json, Decoder& d) {
  const JsonObject place = RotaryConfig::place(json);
  const std::string type = string_or(place, "rope_type", string_or(place, "type", "default"));
  if (type != "dynamic" || !place.has("alpha")) {
    read_rotary(json, d);
    return d.rotaries[0].keys();
  }
  const double theta = number_or(place, "rope_theta", number_or(json, "rope_theta", 10000, 1e-3, 1e12), 1e-3, 1e12);
  const double alpha = require_number(place, "alpha", 1e-6, 1e9), width = static_cast<double>(d.head_width);
  d.rotaries = {{.theta = theta * std::pow(alpha, width / (width - 2))}};
  nlohmann::json scaling = place.value();
  scaling.erase("type");
  scaling["rope_type"] = type;
  nlohmann::json keys = {{"rope_theta", theta}, {"rope_scaling", scaling}, {"rope_parameters", scaling}};
  keys["rope_scaling"].erase("rope_theta");
  keys["rope_parameters"]["rope_theta"] = theta;
  return keys;
}

}  // namespace

Model make_hunyuan(const JsonObject& json) {
  const bool has_experts = string_or(json, "model_type", "") == mixture;
  const char* architecture = has_experts ? "HunYuanMoEV1ForCausalLM" : "HunYuanDenseV1ForCausalLM";
  Decoder d{.family = has_experts ? mixture : "hunyuan_v1_dense",
            .vocabulary = 290943,
            .kv_heads = 0,
            .head_width = integer_or(json, "attention_head_dim", 0, 1, most_width),
            .epsilon = 1e-5,
            .query_norms = Decoder::QueryNorms::head,
            .query_norm = "query_layernorm",
            .key_norm = "key_layernorm",
            .norms_turned = true,
            .layers = std::vector<Decoder::Layer>(32)};
  read_decoder(json, d, architecture);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  if (has_experts) read_mixture(json, d);
  const nlohmann::json rotary = read_ntk(json, d);

  nlohmann::json written = decoder_keys(d, architecture);
  written["attention_bias"] = d.input_bias;
  if (has_experts) written.update(mixture_keys(d));
  written.update(rotary);
  return make_decoder(d, written);
}

}  // namespace vkformer
