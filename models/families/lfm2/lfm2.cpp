#include "models/families/lfm2/lfm2.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/decoder/decoder_config.h"
#include "models/families/decoder/expert_config.h"
#include "models/families/decoder/mixer_config.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr const char* mixtures = "lfm2_moe";
constexpr const char* indices_key = "full_attn_idxs";
constexpr const char *plain_key = "num_dense_layers", *choice_key = "use_expert_bias";
constexpr const char *adjust_key = "block_auto_adjust_ff_dim", *older_inner_key = "block_ff_dim";
constexpr const char *positions_key = "conv_L_cache", *bias_key = "conv_bias", *epsilon = "norm_eps";
constexpr std::string_view convolution = "conv", full = "full_attention";

/// By their types or, in older files, by the numbers of those with attention; all have it where neither is there.
void read_layers(const JsonObject& json, Decoder& d) {
  constexpr auto mixer = Decoder::Mixer::short_convolution;
  if (read_mixers(json, d, convolution, mixer, {full}) || !json.has(indices_key)) return;
  const size_t count = d.layers.size();
  const nlohmann::json& indices = json.value()[indices_key];
  const auto is_layer = [&](const auto& i) { return i.is_number_integer() && i >= int64_t{0} && i < count; };
  check(indices.is_array() && std::ranges::all_of(indices, is_layer),
        "{}: {} must be a list of layers' numbers, from 0 to {}", json.name(), indices_key, count - 1);
  for (size_t i = 0; i < count; ++i)
    if (std::ranges::none_of(indices, [i](const auto& index) { return index == i; })) d.layers[i].mixer = mixer;
}

/// Unless told otherwise files have the width of a layer without gates.
int64_t inner_width(const JsonObject& json, int64_t written) {
  if (!boolean_or(json, adjust_key, true)) return written;
  const double factor = number_or(json, "block_ffn_dim_multiplier", 1, 1e-3, 1e3);
  const int64_t step = integer_or(json, "block_multiple_of", 256, 1, most_width);
  const auto width = static_cast<int64_t>(factor * static_cast<double>(2 * written / 3));
  return (width + step - 1) / step * step;
}

void read_mixture(const JsonObject& json, Decoder& d) {
  read_experts(json, d, 1);
  read_deepseek_experts(json, d, true);
  read_plain_layers(json, d, plain_key, 2);
  d.experts.choice_bias = boolean_or(json, choice_key, true);
}

nlohmann::json mixture_keys(const Decoder& d) {
  nlohmann::json keys = expert_keys(d);
  keys.update(deepseek_expert_keys(d));
  keys.update({{plain_key, plain_layers_of(d)}, {choice_key, d.experts.choice_bias}});
  return keys;
}

}  // namespace

Model make_lfm2(const JsonObject& json) {
  const bool has_experts = string_or(json, "model_type", "") == mixtures;
  const char* architecture = has_experts ? "Lfm2MoeForCausalLM" : "Lfm2ForCausalLM";
  Decoder d{.family = has_experts ? mixtures : "lfm2",
            .vocabulary = 65536,
            .context = 128000,
            .width = has_experts ? 2048 : 2560,
            .inner = has_experts ? 7168 : 12288,
            .heads = 32,
            .kv_heads = 8,
            .head_width = 0,
            .inner_name = "feed_forward",
            .inner_gate = "w1",
            .inner_up = "w3",
            .inner_down = "w2",
            .attention_output = "out_proj",
            .attention_before = "operator_norm",
            .inner_first = "ffn_norm",
            .query_norms = Decoder::QueryNorms::head,
            .query_norm = "q_layernorm",
            .key_norm = "k_layernorm",
            .last_norm = "model.embedding_norm",
            .tied = true,
            .layers = std::vector<Decoder::Layer>(32),
            .experts = {.count = 32,
                        .chosen = 4,
                        .inner = 1792,
                        .sigmoid = true,
                        .epsilon = 1e-6,
                        .name = "feed_forward",
                        .choice = "expert_bias",
                        .gate = "w1",
                        .up = "w3",
                        .down = "w2"}};
  read_decoder(json, d, architecture);
  d.epsilon = number_or(json, epsilon, 1e-5, 0, 1);
  d.tied = boolean_or(json, "tie_embedding", d.tied);
  if (has_experts)
    read_mixture(json, d);
  else
    d.inner = inner_width(json, integer_or(json, older_inner_key, d.inner, 1, 4 * most_width));
  d.convolution.positions = integer_or(json, positions_key, 3, 2, 8);
  d.convolution.bias = boolean_or(json, bias_key, false);
  read_layers(json, d);
  read_rotary(json, d, 1e6);

  nlohmann::json written = decoder_keys(d, architecture);
  written.erase("rms_norm_eps");
  written.update({{epsilon, d.epsilon},
                  {"layer_types", mixer_types(d, convolution, full)},
                  {positions_key, d.convolution.positions},
                  {bias_key, d.convolution.bias},
                  {"tie_embedding", d.tied}});
  written.update(has_experts ? mixture_keys(d) : nlohmann::json{{adjust_key, false}, {older_inner_key, d.inner}});
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
