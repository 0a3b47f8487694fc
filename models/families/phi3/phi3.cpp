#include "models/families/phi3/phi3.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"

namespace vkformer {

Model make_phi3(const JsonObject& json) {
  constexpr const char* architecture = "Phi3ForCausalLM";
  Decoder d{.family = "phi3",
            .vocabulary = 32064,
            .context = 4096,
            .width = 3072,
            .inner = 8192,
            .kv_heads = 0,
            .head_width = 0,
            .epsilon = 1e-5,
            .joint_inputs = true,
            .joint_inner = true,
            .layers = std::vector<Decoder::Layer>(32)};
  read_decoder(json, d, architecture);
  d.output_dropout = number_or(json, "resid_pdrop", 0, 0, 0.99);
  set_windows(json, d, window_of(json, 0), [](int64_t) { return true; });
  read_rotary(json, d, 10000, true);

  nlohmann::json written = decoder_keys(d, architecture);
  written.update({{"resid_pdrop", d.output_dropout}, {"sliding_window", sliding_window(d)}});
  if (d.rotaries[0].scaling == RotaryConfig::Scaling::longrope)
    written["original_max_position_embeddings"] = d.rotaries[0].original_context;
  written.update(part_rotary_keys(d));
  Model model = make_decoder(d, written);
  model.dropout_keys.emplace_back("resid_pdrop");
  return model;
}

}  // namespace vkformer
