#include "models/families/olmoe/olmoe.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"
#include "models/families/decoder/expert_config.h"
#include "runtime/check.h"

namespace vkformer {

Model make_olmoe(const JsonObject& json) {
  constexpr const char* architecture = "OlmoeForCausalLM";
  Decoder d{.family = "olmoe",
            .vocabulary = 50304,
            .context = 4096,
            .width = 2048,
            .inner = 2048,
            .heads = 16,
            .kv_heads = 0,
            .head_width = 0,
            .epsilon = 1e-5,
            .query_norms = Decoder::QueryNorms::whole,
            .layers = std::vector<Decoder::Layer>(16),
            .experts = {.count = 64, .chosen = 8}};
  read_decoder(json, d, architecture);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  check(!json.has("clip_qkv"), "{}: clip_qkv, which bounds queries, keys and values, is not supported; null is",
        json.name());
  read_experts(json, d, 1);
  d.experts.inner = d.inner;
  d.experts.normalised = boolean_or(json, "norm_topk_prob", false);
  read_rotary(json, d);

  nlohmann::json written = decoder_keys(d, architecture);
  written["attention_bias"] = d.input_bias;
  written["norm_topk_prob"] = d.experts.normalised;
  written.update(expert_keys(d));
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
