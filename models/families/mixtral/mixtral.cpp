#include "models/families/mixtral/mixtral.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"
#include "models/families/decoder/expert_config.h"
#include "runtime/check.h"

namespace vkformer {

Model make_mixtral(const JsonObject& json) {
  constexpr const char* architecture = "MixtralForCausalLM";
  Decoder d{.family = "mixtral",
            .context = 131072,
            .inner = 14336,
            .kv_heads = 8,
            .head_width = 0,
            .epsilon = 1e-5,
            .layers = std::vector<Decoder::Layer>(32),
            .experts = {.count = 8,
                        .chosen = 2,
                        .normalised = true,
                        .name = "block_sparse_moe",
                        .gate = "w1",
                        .up = "w3",
                        .down = "w2"}};
  read_decoder(json, d, architecture);
  set_windows(json, d, window_of(json, 0), [](int64_t) { return true; });
  read_experts(json, d, 1);
  d.experts.inner = d.inner;
  check(number_or(json, "router_jitter_noise", 0, 0, 1) == 0,
        "{}: router_jitter_noise, by which training shakes what routers see, is not supported; 0 is", json.name());
  read_rotary(json, d, 1e6);

  nlohmann::json written = decoder_keys(d, architecture);
  written["sliding_window"] = sliding_window(d);
  written.update(expert_keys(d, "num_local_experts"));
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
