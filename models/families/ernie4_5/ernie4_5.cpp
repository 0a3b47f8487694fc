#include "models/families/ernie4_5/ernie4_5.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"

namespace vkformer {

namespace {

/// Of the class that came with the first files, by the name of transformers' own.
JsonObject with_class_of_today(const JsonObject& json, const char* architecture) {
  nlohmann::json all = json.value();
  if (all.value("architectures", nlohmann::json()) != nlohmann::json{"Ernie4_5_ForCausalLM"}) return json;
  all["architectures"] = {architecture};
  return JsonObject::make(std::move(all), json.name());
}

}  // namespace

Model make_ernie4_5(const JsonObject& config) {
  constexpr const char* architecture = "Ernie4_5ForCausalLM";
  const JsonObject json = with_class_of_today(config, architecture);
  Decoder d{.family = "ernie4_5",
            .vocabulary = 103424,
            .context = 131072,
            .width = 1024,
            .inner = 3072,
            .heads = 16,
            .kv_heads = 2,
            .epsilon = 1e-5,
            .tied = true,
            .turns_neighbours = true,
            .layers = std::vector<Decoder::Layer>(18)};
  read_decoder(json, d, architecture);
  d.attention_dropout = 0;  // transformers has none here
  d.input_bias = d.output_bias = d.inner_bias = boolean_or(json, "use_bias", false);
  read_rotary(json, d, 5e5);

  nlohmann::json written = decoder_keys(d, architecture);
  written["use_bias"] = d.input_bias;
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
