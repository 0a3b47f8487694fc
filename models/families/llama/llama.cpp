#include "models/families/llama/llama.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"

namespace vkformer {

namespace {

const char* architecture_name(const std::string& family) {
  return family == "mistral" ? "MistralForCausalLM"
         : family == "qwen2" ? "Qwen2ForCausalLM"
         : family == "arcee" ? "ArceeForCausalLM"
                             : "LlamaForCausalLM";
}

/// Mistral: sliding_window, null for none. Qwen2: only with use_sliding_window, from layer max_window_layers on. Absent
/// is 4096 in both.
void read_family(const JsonObject& json, Decoder& d) {
  if (d.family == "llama" || d.family == "arcee") {
    d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
    d.inner_bias = boolean_or(json, "mlp_bias", false);
  } else if (d.family == "mistral") {
    set_windows(json, d, window_of(json, 4096), [](int64_t) { return true; });
  } else {
    d.input_bias = true;
    read_upper_windows(json, d);
  }
}

nlohmann::json family_keys(const Decoder& d) {
  if (d.family == "llama" || d.family == "arcee") return {{"attention_bias", d.input_bias}, {"mlp_bias", d.inner_bias}};
  if (d.family == "mistral") return {{"sliding_window", sliding_window(d)}};
  return upper_windows(d);
}

}  // namespace

Model make_llama(const JsonObject& json) {
  Decoder d{.family = require_string(json, "model_type"), .layers = std::vector<Decoder::Layer>(32)};
  d.kv_heads = d.family == "mistral" ? 8 : 0;
  d.head_width = 0;
  if (d.family == "arcee") {
    d.width = 2560;
    d.inner = 18432;
    d.context = 4096;
    d.epsilon = 1e-5;
    d.gated = false;
  }
  const char* architecture = architecture_name(d.family);
  read_decoder(json, d, architecture);
  read_family(json, d);
  read_rotary(json, d);

  nlohmann::json written = decoder_keys(d, architecture);
  written.update(family_keys(d));
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
