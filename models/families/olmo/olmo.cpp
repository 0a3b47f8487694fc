#include "models/families/olmo/olmo.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"
#include "runtime/check.h"

namespace vkformer {

Model make_olmo(const JsonObject& json) {
  constexpr const char* architecture = "OlmoForCausalLM";
  Decoder d{.family = "olmo",
            .vocabulary = 50304,
            .kv_heads = 0,
            .head_width = 0,
            .epsilon = 1e-5,
            .norm = Decoder::Norm::plain,
            .layers = std::vector<Decoder::Layer>(32)};
  read_decoder(json, d, architecture);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  check(!json.has("clip_qkv"), "{}: clip_qkv, which bounds queries, keys and values, is not supported; null is",
        json.name());
  read_rotary(json, d);

  nlohmann::json written = decoder_keys(d, architecture);
  written["attention_bias"] = d.input_bias;
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
