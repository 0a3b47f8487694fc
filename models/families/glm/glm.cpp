#include "models/families/glm/glm.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"

namespace vkformer {

Model make_glm(const JsonObject& json) {
  const bool newer = require_string(json, "model_type") == "glm4";
  const char* architecture = newer ? "Glm4ForCausalLM" : "GlmForCausalLM";
  Decoder d{.family = newer ? "glm4" : "glm",
            .vocabulary = 151552,
            .context = 131072,
            .inner = 13696,
            .kv_heads = 2,
            .epsilon = 1.5625e-7,
            .norms = newer ? Decoder::Norms::around : Decoder::Norms::before,
            .attention_after = "post_self_attn_layernorm",
            .inner_before = "post_attention_layernorm",
            .inner_after = "post_mlp_layernorm",
            .joint_inner = true,
            .turns_neighbours = true,
            .rotary_share = 0.5,
            .layers = std::vector<Decoder::Layer>(40)};
  read_decoder(json, d, architecture);
  d.input_bias = boolean_or(json, "attention_bias", true);
  read_rotary(json, d, 10000, true);

  nlohmann::json written = decoder_keys(d, architecture);
  written["attention_bias"] = d.input_bias;
  written.update(part_rotary_keys(d));
  return make_decoder(d, written);
}

}  // namespace vkformer
