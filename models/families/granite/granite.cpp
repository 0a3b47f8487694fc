#include "models/families/granite/granite.h"

#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/decoder/decoder_config.h"
#include "models/families/decoder/expert_config.h"
#include "models/families/decoder/mixer_config.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr const char *hybrid = "granitemoehybrid", *mixture = "granitemoe";
constexpr const char* positions_key = "position_embedding_type";
constexpr const char *inner_key = "shared_intermediate_size", *expert_inner_key = "intermediate_size";
constexpr const char* experts_key = "num_local_experts";
constexpr const char *heads_key = "mamba_n_heads", *width_key = "mamba_d_head", *groups_key = "mamba_n_groups";
constexpr const char *state_key = "mamba_d_state", *convolution_key = "mamba_d_conv", *expand_key = "mamba_expand";
constexpr const char *convolution_bias_key = "mamba_conv_bias", *bias_key = "mamba_proj_bias";
constexpr std::string_view state_space = "mamba", attention = "attention";

void read_mamba(const JsonObject& json, Decoder& d) {
  Decoder::Mamba& mamba = d.mamba;
  mamba.heads = integer_or(json, heads_key, mamba.heads, 1, most_width);
  mamba.groups = integer_or(json, groups_key, mamba.groups, 1, most_width);
  mamba.state_width = integer_or(json, state_key, mamba.state_width, 1, 256);
  mamba.positions = integer_or(json, convolution_key, mamba.positions, 2, 8);
  mamba.convolution_bias = boolean_or(json, convolution_bias_key, true);
  mamba.bias = boolean_or(json, bias_key, false);
  const int64_t inner = integer_or(json, expand_key, 2, 1, 1024) * d.width;
  const bool derived = !json.has(width_key) || json.value()[width_key] == "auto";
  mamba.head_width = derived ? inner / mamba.heads : require_integer(json, width_key, 1, 256);
  check(mamba.head_width >= 1 && mamba.head_width <= 256 && mamba.head_width * mamba.heads == inner,
        "{}: {} heads of {} ({}, {}) are not {} times hidden_size {}", json.name(), mamba.heads, mamba.head_width,
        heads_key, width_key, expand_key, d.width);
  check(mamba.heads % mamba.groups == 0, "{}: {} {} is not a multiple of {} {}", json.name(), heads_key, mamba.heads,
        groups_key, mamba.groups);
  check_steps(json);
}

void read_granite_experts(const JsonObject& json, Decoder& d, int64_t fewest) {
  d.experts = {.count = 8,
               .chosen = 2,
               .inner = d.inner,
               .normalised = true,
               .stacks = Decoder::Experts::Stacks::rows,
               .name = "block_sparse_moe",
               .router = "router.layer",
               .all_gates = "input_linear.weight",
               .all_downs = "output_linear.weight"};
  read_experts(json, d, fewest);
}

/// Granite 4: state spaces stand for attention in some layers, mixtures of experts beside the feed-forward layer, which
/// files call a shared expert, and positions may be missing.
void read_hybrid(const JsonObject& json, Decoder& d) {
  if (!read_mixers(json, d, state_space, Decoder::Mixer::mamba, {attention, "full_attention"}))
    for (Decoder::Layer& layer : d.layers) layer.mixer = Decoder::Mixer::mamba;
  read_mamba(json, d);
  read_granite_experts(json, d, 0);
  d.experts.beside = true;
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
  const Decoder::Mamba& mamba = d.mamba;
  nlohmann::json keys = expert_keys(d, experts_key);
  keys.update(step_keys());
  keys.update({{"layer_types", mixer_types(d, state_space, attention)},
               {expert_inner_key, d.experts.inner},
               {inner_key, d.inner},
               {positions_key, d.layers[0].rotary < 0 ? "nope" : "rope"},
               {heads_key, mamba.heads},
               {width_key, mamba.head_width},
               {groups_key, mamba.groups},
               {state_key, mamba.state_width},
               {convolution_key, mamba.positions},
               {expand_key, mamba.heads * mamba.head_width / d.width},
               {convolution_bias_key, mamba.convolution_bias},
               {bias_key, mamba.bias}});
  return keys;
}

}  // namespace

Model make_granite(const JsonObject& json) {
  const std::string type = string_or(json, "model_type", "granite");
  const bool is_hybrid = type == hybrid, has_experts = type == mixture;
  const char* architecture = is_hybrid     ? "GraniteMoeHybridForCausalLM"
                             : has_experts ? "GraniteMoeForCausalLM"
                                           : "GraniteForCausalLM";
  Decoder d{.family = type, .kv_heads = 0, .head_width = 0, .layers = std::vector<Decoder::Layer>(32)};
  read_decoder(json, d, architecture);
  if (is_hybrid) read_hybrid(json, d);
  if (has_experts) read_granite_experts(json, d, 1);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  d.inner_bias = type == "granite" && boolean_or(json, "mlp_bias", false);
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
  if (is_hybrid) written.update(hybrid_keys(d));
  if (has_experts) written.update(expert_keys(d, experts_key));
  if (type == "granite") written["mlp_bias"] = d.inner_bias;
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
