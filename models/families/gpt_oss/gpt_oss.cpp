#include "models/families/gpt_oss/gpt_oss.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"
#include "models/families/decoder/expert_config.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

/// With the scaling that the released models have where it says none.
JsonObject with_scaling(const JsonObject& json) {
  if (json.value().contains("rope_scaling") || json.has("rope_parameters")) return json;
  nlohmann::json all = json.value();
  all["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 32},      {"beta_fast", 32},
                         {"beta_slow", 1},      {"truncate", false}, {"original_max_position_embeddings", 4096}};
  return JsonObject::make(std::move(all), json.name());
}

}  // namespace

Model make_gpt_oss(const JsonObject& json) {
  constexpr const char* architecture = "GptOssForCausalLM";
  Decoder d{.family = "gpt_oss",
            .vocabulary = 201088,
            .context = 131072,
            .width = 2880,
            .inner = 2880,
            .heads = 64,
            .kv_heads = 8,
            .head_width = 64,
            .epsilon = 1e-5,
            .sinks = true,
            .layers = std::vector<Decoder::Layer>(36),
            .experts = {.count = 128,
                        .chosen = 4,
                        .normalised = true,  // a softmax of the chosen ones' logits is the same
                        .bias = true,
                        .stacks = Decoder::Experts::Stacks::columns,
                        .router = "router"}};
  read_decoder(json, d, architecture);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", true);
  set_windows(json, d, window_of(json, 128), [](int64_t layer) { return layer % 2 == 0; });
  read_experts(json, d, 1);
  d.experts.inner = d.inner;
  check(d.gate == Gate::silu, "{}: hidden_act must be silu", json.name());
  for (const auto& [key, only] : {std::pair{"swiglu_alpha", 1.702}, {"swiglu_limit", 7.0}})
    check(number_or(json, key, only, -1e9, 1e9) == only, "{}: {} {} is not supported; {} is", json.name(), key,
          number_or(json, key, only, -1e9, 1e9), only);
  read_rotary(with_scaling(json), d, 150000);

  nlohmann::json written = decoder_keys(d, architecture);
  written.update(
      {{"attention_bias", d.input_bias}, {"sliding_window", sliding_window(d)}, {"layer_types", layer_types(d)}});
  written.update(expert_keys(d, "num_local_experts"));
  written.update(d.rotaries[0].keys());
  d.gate = Gate::clamped;
  return make_decoder(d, written);
}

}  // namespace vkformer
