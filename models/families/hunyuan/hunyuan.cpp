#include "models/families/hunyuan/hunyuan.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"

namespace vkformer {

namespace {

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
  constexpr const char* architecture = "HunYuanDenseV1ForCausalLM";
  Decoder d{.family = "hunyuan_v1_dense",
            .vocabulary = 290943,
            .kv_heads = 0,
            .head_width = 0,
            .epsilon = 1e-5,
            .query_norms = Decoder::QueryNorms::head,
            .query_norm = "query_layernorm",
            .key_norm = "key_layernorm",
            .norms_turned = true,
            .layers = std::vector<Decoder::Layer>(32)};
  read_decoder(json, d, architecture);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  const nlohmann::json rotary = read_ntk(json, d);

  nlohmann::json written = decoder_keys(d, architecture);
  written["attention_bias"] = d.input_bias;
  written.update(rotary);
  return make_decoder(d, written);
}

}  // namespace vkformer
