#include "models/families/nanochat/nanochat.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"

namespace vkformer {

Model make_nanochat(const JsonObject& json) {
  constexpr const char* architecture = "NanoChatForCausalLM";
  constexpr const char* cap = "final_logit_softcapping";
  Decoder d{.family = "nanochat",
            .vocabulary = 50304,
            .width = 768,
            .inner = 8192,
            .heads = 6,
            .kv_heads = 0,
            .head_width = 0,
            .gated = false,
            .inner_up = "fc1",
            .inner_down = "fc2",
            .norm = Decoder::Norm::rms_plain,
            .query_norms = Decoder::QueryNorms::head,
            .embedding_normed = true,
            .norms_turned = true,
            .layers = std::vector<Decoder::Layer>(12)};
  read_decoder(json, d, architecture);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  d.logit_cap = read_cap(json, cap, 15);
  read_rotary(json, d);
  d.rotaries[0].backwards = true;

  nlohmann::json written = decoder_keys(d, architecture);
  written.update({{"attention_bias", d.input_bias}, {cap, cap_or_null(d.logit_cap)}});
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
