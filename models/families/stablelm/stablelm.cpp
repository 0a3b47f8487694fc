#include "models/families/stablelm/stablelm.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"
#include "runtime/check.h"

namespace vkformer {

Model make_stablelm(const JsonObject& json) {
  constexpr const char* architecture = "StableLmForCausalLM";
  Decoder d{.family = "stablelm",
            .vocabulary = 50304,
            .context = 4096,
            .width = 2560,
            .inner = 6912,
            .head_width = 0,
            .epsilon = 1e-5,
            .norm = Decoder::Norm::layer,
            .rotary_share = 0.25,
            .layers = std::vector<Decoder::Layer>(32)};
  read_decoder(json, d, architecture);
  d.input_bias = boolean_or(json, "use_qkv_bias", false);
  for (const char* key : {"qk_layernorm", "use_parallel_residual"})
    check(!boolean_or(json, key, false), "{}: {} is not supported for stablelm", json.name(), key);
  check(number_or(json, "hidden_dropout", 0, 0, 0.99) == 0,
        "{}: hidden_dropout, which leaves attention out, is not supported for stablelm; it must be 0", json.name());
  read_rotary(json, d, 10000, true);

  nlohmann::json written = decoder_keys(d, architecture);
  written.update(part_rotary_keys(d));
  written.update({{"use_qkv_bias", d.input_bias},
                  {"qk_layernorm", false},
                  {"use_parallel_residual", false},
                  {"hidden_dropout", 0}});
  return make_decoder(d, written);
}

}  // namespace vkformer
