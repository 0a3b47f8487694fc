#include "models/families/ministral3/ministral3.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"

namespace vkformer {

Model make_ministral3(const JsonObject& json) {
  constexpr const char* architecture = "Ministral3ForCausalLM";
  Decoder d{.family = "ministral3",
            .vocabulary = 131072,
            .context = 262144,
            .inner = 14336,
            .kv_heads = 8,
            .epsilon = 1e-5,
            .layers = std::vector<Decoder::Layer>(34)};
  read_decoder(json, d, architecture);
  set_windows(json, d, window_of(json, 0), [](int64_t) { return true; });
  read_rotary(json, d, 1e6);

  nlohmann::json written = decoder_keys(d, architecture);
  written["sliding_window"] = sliding_window(d);
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
