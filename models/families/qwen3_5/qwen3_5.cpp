#include "models/families/qwen3_5/qwen3_5.h"

#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/decoder/decoder_config.h"
#include "models/families/decoder/expert_config.h"
#include "models/families/decoder/mixer_config.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr const char* gates_key = "attn_output_gate";
constexpr std::string_view recurrent = "linear_attention", full = "full_attention";
constexpr const char *mixtures = "qwen3_5_moe_text", *next = "qwen3_next";

void read_layer_types(const JsonObject& json, Decoder& d) {
  if (read_mixers(json, d, recurrent, Decoder::Mixer::delta_net, {full})) return;
  const int64_t step = integer_or(json, "full_attention_interval", 4, 1, most_layers);
  for (size_t i = 0; i < d.layers.size(); ++i)
    if ((static_cast<int64_t>(i) + 1) % step != 0) d.layers[i].mixer = Decoder::Mixer::delta_net;
}

struct Size {
  const char* key;
  int64_t Decoder::DeltaNet::*size;
  int64_t least, most;
};
constexpr Size sizes[] = {{"linear_num_key_heads", &Decoder::DeltaNet::key_heads, 1, most_width},
                          {"linear_num_value_heads", &Decoder::DeltaNet::heads, 1, most_width},
                          {"linear_key_head_dim", &Decoder::DeltaNet::key_width, 1, 256},
                          {"linear_value_head_dim", &Decoder::DeltaNet::value_width, 1, 256},
                          {"linear_conv_kernel_dim", &Decoder::DeltaNet::positions, 2, 8}};

void read_delta_net(const JsonObject& json, Decoder& d) {
  for (const Size& of : sizes) d.delta.*of.size = integer_or(json, of.key, d.delta.*of.size, of.least, of.most);
  check(d.delta.heads % d.delta.key_heads == 0,
        "{}: linear_num_value_heads {} is not a multiple of "
        "linear_num_key_heads {}",
        json.name(), d.delta.heads, d.delta.key_heads);
  check(boolean_or(json, gates_key, true), "{}: {} must be true: attention without gates is not supported", json.name(),
        gates_key);
}

/// What absent keys of a family stand for.
Decoder usual(const std::string& family) {
  Decoder d{.family = family,
            .vocabulary = 248320,
            .context = 32768,
            .width = 2048,
            .heads = 16,
            .kv_heads = 2,
            .head_width = 256,
            .query_norms = Decoder::QueryNorms::head,
            .gain_less_one = true,
            .output_gate = true,
            .rotary_share = 0.25,
            .experts = {.count = 256, .chosen = 8, .inner = 512, .normalised = true}};
  if (family == next) {
    d.vocabulary = 151936;
    d.inner = 5632;
    d.layers.resize(48);
    d.experts.count = 512;
    d.experts.chosen = 10;
    d.delta.by_key_head = true;
  } else if (family == mixtures) {
    d.layers.resize(40);
    d.experts.stacks = Decoder::Experts::Stacks::rows;
  } else {
    d.width = 4096;
    d.inner = 12288;
    d.kv_heads = 4;
    d.layers.resize(32);
  }
  return d;
}

/// Reads the experts, and gives what is written of them.
nlohmann::json read_mixtures(const JsonObject& json, Decoder& d) {
  constexpr const char *inner = "moe_intermediate_size", *shared = "shared_expert_intermediate_size";
  read_experts(json, d, 1);
  nlohmann::json written = expert_keys(d);
  if (d.family == next) {
    read_qwen_experts(json, d, true);
    written.update(qwen_expert_keys(d));
  } else {
    d.experts.inner = integer_or(json, inner, d.experts.inner, 1, 1 << 22);
    written[inner] = d.experts.inner;
  }
  d.experts.shared = integer_or(json, shared, 512, 1, 1 << 22);
  written[shared] = d.experts.shared;
  return written;
}

}  // namespace

Model make_qwen3_5(const JsonObject& json) {
  const std::string family = require_string(json, "model_type");
  Decoder d = usual(family);
  const char* architecture = family == next       ? "Qwen3NextForCausalLM"
                             : family == mixtures ? "Qwen3_5MoeForCausalLM"
                                                  : "Qwen3_5ForCausalLM";
  read_decoder(json, d, architecture);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  read_layer_types(json, d);
  read_delta_net(json, d);
  read_rotary(json, d, 10000, true);

  nlohmann::json written = decoder_keys(d, architecture);
  written.update({{"attention_bias", d.input_bias}, {"layer_types", mixer_types(d, recurrent, full)}});
  for (const Size& of : sizes) written[of.key] = d.delta.*of.size;
  written.update(part_rotary_keys(d));
  if (family == mixtures) written.erase("intermediate_size");  // no layer has one
  if (family == next || family == mixtures) written.update(read_mixtures(json, d));
  return make_decoder(d, written);
}

}  // namespace vkformer
