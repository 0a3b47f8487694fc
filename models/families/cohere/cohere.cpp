#include "models/families/cohere/cohere.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"
#include "runtime/check.h"

namespace vkformer {

Model make_cohere(const JsonObject& json) {
  const bool newer = require_string(json, "model_type") == "cohere2";
  const char* architecture = newer ? "Cohere2ForCausalLM" : "CohereForCausalLM";
  Decoder d{.family = newer ? "cohere2" : "cohere",
            .vocabulary = 256000,
            .context = 8192,
            .width = 8192,
            .inner = 22528,
            .heads = 64,
            .kv_heads = 0,
            .head_width = 0,
            .epsilon = 1e-5,
            .norm = Decoder::Norm::gain,
            .norms = Decoder::Norms::parallel,
            .tied = true,
            .turns_neighbours = true,
            .layers = std::vector<Decoder::Layer>(40)};
  read_decoder(json, d, architecture);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  d.logit_scale = number_or(json, "logit_scale", 0.0625, 1e-6, 1e6);
  check(!boolean_or(json, "use_qk_norm", false),
        "{}: use_qk_norm, norms of queries and keys with a gain for each head, is not supported", json.name());
  if (newer) {
    const int64_t pattern = integer_or(json, "sliding_window_pattern", 4, 1, 10000);
    set_windows(json, d, window_of(json, 4096), [&](int64_t layer) { return (layer + 1) % pattern != 0; });
    for (Decoder::Layer& layer : d.layers) layer.rotary = layer.window > 0 ? 0 : -1;
  }
  read_rotary(json, d, newer ? 10000 : 5e5);

  nlohmann::json written = decoder_keys(d, architecture);
  written.update({{"attention_bias", d.input_bias}, {"logit_scale", d.logit_scale}});
  if (newer) written.update({{"sliding_window", sliding_window(d)}, {"layer_types", layer_types(d)}});
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
