#include "models/families/qwen2_moe/qwen2_moe.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"
#include "models/families/decoder/expert_config.h"
#include "runtime/check.h"

namespace vkformer {

Model make_qwen2_moe(const JsonObject& json) {
  constexpr const char* architecture = "Qwen2MoeForCausalLM";
  Decoder d{.family = "qwen2_moe",
            .vocabulary = 151936,
            .context = 32768,
            .width = 2048,
            .inner = 5632,
            .heads = 16,
            .kv_heads = 16,
            .head_width = 0,
            .layers = std::vector<Decoder::Layer>(24),
            .experts = {.count = 60, .chosen = 4, .inner = 1408}};
  read_decoder(json, d, architecture);
  d.input_bias = boolean_or(json, "qkv_bias", true);
  check(!boolean_or(json, "use_sliding_window", false),
        "{}: use_sliding_window is not supported: versions of transformers differ in which layers have one",
        json.name());
  read_experts(json, d, 0);
  read_qwen_experts(json, d);
  d.experts.shared = integer_or(json, "shared_expert_intermediate_size", 5632, 1, 1 << 22);
  read_rotary(json, d);

  nlohmann::json written = decoder_keys(d, architecture);
  written.update({{"qkv_bias", d.input_bias},
                  {"use_sliding_window", false},
                  {"shared_expert_intermediate_size", d.experts.shared}});
  written.update(expert_keys(d));
  written.update(qwen_expert_keys(d));
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
