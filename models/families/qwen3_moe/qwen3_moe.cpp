#include "models/families/qwen3_moe/qwen3_moe.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"
#include "models/families/decoder/expert_config.h"

namespace vkformer {

Model make_qwen3_moe(const JsonObject& json) {
  constexpr const char* architecture = "Qwen3MoeForCausalLM";
  Decoder d{.family = "qwen3_moe",
            .vocabulary = 151936,
            .context = 32768,
            .width = 2048,
            .inner = 6144,
            .heads = 32,
            .kv_heads = 4,
            .head_width = 0,
            .query_norms = Decoder::QueryNorms::head,
            .layers = std::vector<Decoder::Layer>(24),
            .experts = {.count = 128, .chosen = 8, .inner = 768}};
  read_decoder(json, d, architecture);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  const int64_t window = boolean_or(json, "use_sliding_window", false) ? window_of(json, 4096) : 0;
  for (Decoder::Layer& layer : d.layers) layer.window = window;
  read_experts(json, d, 0);
  read_qwen_experts(json, d);
  read_rotary(json, d);

  nlohmann::json written = decoder_keys(d, architecture);
  written["attention_bias"] = d.input_bias;
  written["use_sliding_window"] = window > 0;
  written["sliding_window"] = sliding_window(d);
  written.update(expert_keys(d));
  written.update(qwen_expert_keys(d));
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
