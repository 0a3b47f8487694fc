#include "models/families/granite/granite.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/decoder/decoder_config.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr const char* hybrid = "granitemoehybrid";
constexpr const char *types_key = "layer_types", *positions_key = "position_embedding_type";
constexpr const char *inner_key = "shared_intermediate_size", *experts_key = "num_local_experts";

/// Granite 4 of attention alone: what files call a shared expert is the feed-forward layer, and positions may be
/// missing.
void read_hybrid(const JsonObject& json, Decoder& d) {
  check(integer_or(json, experts_key, 8, 0, most_width) == 0, "{}: {} must be 0: mixtures of experts are not supported",
        json.name(), experts_key);
  const nlohmann::json types = json.value().value(types_key, nlohmann::json());
  const bool attention =
      types.is_array() && types.size() == d.layers.size() && std::ranges::all_of(types, [](const nlohmann::json& type) {
        return type == "attention" || type == "full_attention";
      });
  check(attention, "{}: {} must be \"attention\" for each of {} layers: others (mamba) are not supported", json.name(),
        types_key, d.layers.size());
  d.inner = integer_or(json, inner_key, 1024, 1, 4 * most_width);
  d.joint_inner = true;
  d.inner_name = "shared_mlp";
  d.inner_joint = "input_linear";
  d.inner_down = "output_linear";
  const std::string positions = string_or(json, positions_key, "nope");
  check(positions == "rope" || positions == "nope", "{}: {} must be rope or nope", json.name(), positions_key);
  if (positions == "nope")
    for (Decoder::Layer& layer : d.layers) layer.rotary = -1;
}

nlohmann::json hybrid_keys(const Decoder& d) {
  return {{experts_key, 0},
          {types_key, std::vector<std::string>(d.layers.size(), "attention")},
          {inner_key, d.inner},
          {positions_key, d.layers[0].rotary < 0 ? "nope" : "rope"}};
}

}  // namespace

Model make_granite(const JsonObject& json) {
  const bool is_hybrid = string_or(json, "model_type", "") == hybrid;
  const char* architecture = is_hybrid ? "GraniteMoeHybridForCausalLM" : "GraniteForCausalLM";
  Decoder d{.family = is_hybrid ? hybrid : "granite",
            .kv_heads = 0,
            .head_width = 0,
            .layers = std::vector<Decoder::Layer>(32)};
  read_decoder(json, d, architecture);
  if (is_hybrid) read_hybrid(json, d);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  d.inner_bias = !is_hybrid && boolean_or(json, "mlp_bias", false);
  const auto factor = [&](const char* key) { return number_or(json, key, 1, 1e-6, 1e6); };
  const double divisor = factor("logits_scaling");
  d.embedding_scale = factor("embedding_multiplier");
  d.score_scale = factor("attention_multiplier");
  d.residual_scale = factor("residual_multiplier");
  d.logit_scale = 1 / divisor;
  read_rotary(json, d);

  nlohmann::json written = decoder_keys(d, architecture);
  written.update({{"attention_bias", d.input_bias},
                  {"embedding_multiplier", d.embedding_scale},
                  {"attention_multiplier", d.score_scale},
                  {"residual_multiplier", d.residual_scale},
                  {"logits_scaling", divisor}});
  if (is_hybrid)
    written.update(hybrid_keys(d));
  else
    written["mlp_bias"] = d.inner_bias;
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
