#include "models/families/nemotron_h/nemotron_h.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/decoder/decoder_config.h"
#include "models/families/decoder/expert_config.h"
#include "models/families/decoder/mixer_config.h"
#include "models/families/layers.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

constexpr std::string_view prefix = "backbone.";
constexpr const char *kinds_key = "layers_block_type", *other_kinds_key = "layer_types";
constexpr const char* pattern_key = "hybrid_override_pattern";
constexpr const char *activation_key = "mlp_hidden_act", *epsilon_key = "layer_norm_epsilon";
constexpr const char *heads_key = "mamba_num_heads", *width_key = "mamba_head_dim", *groups_key = "n_groups";
constexpr const char *state_key = "ssm_state_size", *convolution_key = "conv_kernel";
constexpr const char *convolution_bias_key = "use_conv_bias", *bias_key = "use_bias";
constexpr const char *shared_key = "moe_shared_expert_intermediate_size", *latent_key = "moe_latent_size";

/// What a layer is: its name in newer files, and its letter in the pattern of older ones.
struct Kind {
  std::string_view name;
  char letter;
};
constexpr Kind mamba{"mamba", 'M'}, attention{"attention", '*'}, mixture{"moe", 'E'}, feed_forward{"mlp", '-'};
constexpr Kind kinds[] = {mamba, attention, mixture, feed_forward};

std::vector<std::string> kinds_of_pattern(const JsonObject& json) {
  const std::string pattern = string_or(json, pattern_key, "ME*-");
  std::vector<std::string> names;
  for (const char letter : pattern) {
    const auto* kind = std::ranges::find(kinds, letter, &Kind::letter);
    check(kind != std::end(kinds), "{}: {} has {}; layers are M, *, E and -", json.name(), pattern_key,
          in_quotes(std::string(1, letter)));
    names.emplace_back(kind->name);
  }
  return names;
}

/// The name of each layer's kind.
std::vector<std::string> kinds_of(const JsonObject& json) {
  const char* key = json.has(kinds_key) ? kinds_key : other_kinds_key;
  std::vector<std::string> names;
  if (json.has(key)) {
    std::vector<std::string_view> known;
    for (const Kind& kind : kinds) known.push_back(kind.name);
    names = require_layer_names(json, key, known, json.value()[key].size());
  } else {
    key = pattern_key;
    names = kinds_of_pattern(json);
  }
  const int64_t layers = integer_or(json, "num_hidden_layers", std::ssize(names), 1, most_layers);
  check(std::ssize(names) == layers, "{}: {} is of {} layers, num_hidden_layers is {}", json.name(), key, names.size(),
        layers);
  return names;
}

/// Puts one part into each layer.
void set_kinds(const std::vector<std::string>& names, Decoder& d) {
  d.layers.resize(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    Decoder::Layer& layer = d.layers[i];
    layer.rotary = -1;
    layer.experts = names[i] == mixture.name;
    layer.feeds = layer.experts || names[i] == feed_forward.name;
    layer.mixer = layer.feeds              ? Decoder::Mixer::none
                  : names[i] == mamba.name ? Decoder::Mixer::mamba
                                           : Decoder::Mixer::attention;
  }
}

void read_mamba(const JsonObject& json, Decoder& d) {
  Decoder::Mamba& sizes = d.mamba;
  const auto size = [&](const char* key, const char* older, int64_t usual, int64_t least, int64_t most) {
    return integer_or(json, key, integer_or(json, older, usual, least, most), least, most);
  };
  sizes.heads = integer_or(json, heads_key, 128, 1, most_width);
  sizes.head_width = integer_or(json, width_key, 64, 1, 256);
  sizes.groups = size(groups_key, "mamba_n_groups", 8, 1, most_width);
  sizes.state_width = integer_or(json, state_key, 128, 1, 256);
  sizes.positions = size(convolution_key, "mamba_d_conv", 4, 2, 8);
  sizes.convolution_bias = boolean_or(json, convolution_bias_key, boolean_or(json, "mamba_conv_bias", true));
  sizes.bias = boolean_or(json, bias_key, false);
  sizes.normed_by_group = true;
  check(sizes.heads % sizes.groups == 0, "{}: {} {} is not a multiple of {} {}", json.name(), heads_key, sizes.heads,
        groups_key, sizes.groups);
  check(gate_of(json, "mamba_hidden_act", "silu") == Gate::silu, "{}: mamba_hidden_act must be silu", json.name());
  check_steps(json);
}

nlohmann::json mamba_keys(const Decoder& d) {
  return {{heads_key, d.mamba.heads},
          {width_key, d.mamba.head_width},
          {groups_key, d.mamba.groups},
          {state_key, d.mamba.state_width},
          {convolution_key, d.mamba.positions},
          {convolution_bias_key, d.mamba.convolution_bias},
          {bias_key, d.mamba.bias}};
}

void read_mixture(const JsonObject& json, Decoder& d) {
  read_experts(json, d, 1);
  read_deepseek_experts(json, d, true);
  read_one_group(json, d, 1);
  d.experts.shared = integer_or(json, shared_key, 7688, 1, 1 << 22);
  d.experts.latent = integer_or(json, latent_key, 0, 1, most_width);
}

nlohmann::json mixture_keys(const Decoder& d) {
  nlohmann::json keys = expert_keys(d, "n_routed_experts");
  keys.update(deepseek_expert_keys(d));
  keys.update(one_group_keys());
  keys[shared_key] = d.experts.shared;
  keys[latent_key] = d.experts.latent > 0 ? nlohmann::json(d.experts.latent) : nlohmann::json();
  return keys;
}

/// transformers calls tensors otherwise than the released files, and otherwise again where it writes some.
void add_other_names(std::vector<ParameterSpec>& parameters) {
  for (ParameterSpec& parameter : parameters) {
    if (!parameter.name.starts_with(prefix)) continue;
    const std::string rest = parameter.name.substr(prefix.size());
    parameter.other_names.push_back("model." + rest);
    if (rest == "embeddings.weight") parameter.other_names.emplace_back("backbone.embedding.weight");
  }
}

}  // namespace

Model make_nemotron_h(const JsonObject& json) {
  constexpr const char* architecture = "NemotronHForCausalLM";
  const std::vector<std::string> names = kinds_of(json);
  Decoder d{.family = "nemotron_h",
            .vocabulary = 131072,
            .context = 4096,
            .inner = 21504,
            .heads = 32,
            .kv_heads = 8,
            .head_width = integer_or(json, "attention_head_dim", 128, 1, most_width),
            .gated = false,
            .embedding = "backbone.embeddings",
            .stack = "backbone.layers",
            .mixer = "mixer",
            .inner_name = "mixer",
            .attention_before = "norm",
            .inner_first = "norm",
            .last_norm = "backbone.norm_f",
            .layers = std::vector<Decoder::Layer>(names.size()),
            .experts = {.count = 8,
                        .chosen = 2,
                        .inner = 7688,
                        .shared_gated = false,
                        .sigmoid = true,
                        .epsilon = 1e-20,
                        .choice_bias = true,
                        .name = "mixer",
                        .shared_name = "shared_experts",
                        .all_gates = "experts.up_proj"}};
  read_decoder(json, d, architecture, activation_key);
  d.epsilon = number_or(json, epsilon_key, 1e-5, 0, 1);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  d.inner_bias = boolean_or(json, "mlp_bias", false);
  check(!json.has("sliding_window"), "{}: sliding_window is not supported for {}", json.name(), d.family);
  read_mamba(json, d);
  const bool has_experts = std::ranges::count(names, mixture.name) > 0;
  if (has_experts) read_mixture(json, d);
  set_kinds(names, d);

  nlohmann::json written = decoder_keys(d, architecture, activation_key);
  written.erase("rms_norm_eps");
  if (std::ranges::count(names, feed_forward.name) == 0) written.erase("intermediate_size");
  std::string pattern;
  for (const std::string& name : names) pattern += std::ranges::find(kinds, name, &Kind::name)->letter;
  written.update({{epsilon_key, d.epsilon},
                  {kinds_key, names},
                  {pattern_key, pattern},
                  {"attention_bias", d.input_bias},
                  {"mlp_bias", d.inner_bias},
                  {"num_nextn_predict_layers", 0}});  // which are left out, whatever the file had
  written.update(mamba_keys(d));
  written.update(step_keys());
  if (has_experts) written.update(mixture_keys(d));
  Model model = make_decoder(d, written);
  add_other_names(model.parameters);
  return model;
}

}  // namespace vkformer
