#include "models/families/ernie4_5/ernie4_5.h"

#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/decoder/decoder_config.h"
#include "models/families/decoder/expert_config.h"

namespace vkformer {

namespace {

/// Of the class that came with the first files, by the name of transformers' own.
JsonObject with_class_of_today(const JsonObject& json, const char* architecture) {
  nlohmann::json all = json.value();
  if (all.value("architectures", nlohmann::json()) != nlohmann::json{"Ernie4_5_ForCausalLM"}) return json;
  all["architectures"] = {architecture};
  return JsonObject::make(std::move(all), json.name());
}

void read_layers(const JsonObject& json, Decoder& d, const char* architecture) {
  read_decoder(json, d, architecture);
  d.attention_dropout = 0;  // transformers has none here
  d.input_bias = d.output_bias = d.inner_bias = boolean_or(json, "use_bias", false);
  read_rotary(json, d, 5e5);
}

nlohmann::json layer_keys(const Decoder& d) {
  nlohmann::json keys = d.rotaries[0].keys();
  keys["use_bias"] = d.input_bias;
  return keys;
}

constexpr const char *count_key = "moe_num_experts", *chosen_key = "moe_k", *inner_key = "moe_intermediate_size";
constexpr const char *shared_key = "moe_num_shared_experts", *first_key = "moe_layer_start_index";
constexpr const char *last_key = "moe_layer_end_index", *step_key = "moe_layer_interval";

/// Every so many layers from the first to the last of them have experts.
struct ExpertLayers {
  int64_t first, last, step;

  ExpertLayers(const JsonObject& json, const Decoder& d)
      : first(integer_or(json, first_key, 1, 0, most_layers)),
        last(integer_or(json, last_key, -1, -1, most_layers)),
        step(integer_or(json, step_key, 1, 1, most_layers)) {
    if (last < 0) last = std::ssize(d.layers) - 1;
  }
};

void read_expert_layers(const JsonObject& json, Decoder& d) {
  const ExpertLayers with(json, d);
  for (int64_t i = 0; i < std::ssize(d.layers); ++i)
    d.layers[static_cast<size_t>(i)].experts = (i + 1) % with.step == 0 && i >= with.first && i <= with.last;
}

nlohmann::json expert_layer_keys(const JsonObject& json, const Decoder& d) {
  const ExpertLayers with(json, d);
  return {{first_key, with.first}, {last_key, with.last}, {step_key, with.step}};
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
  read_layers(json, d, architecture);

  nlohmann::json written = decoder_keys(d, architecture);
  written.update(layer_keys(d));
  return make_decoder(d, written);
}

Model make_ernie4_5_moe(const JsonObject& json) {
  constexpr const char* architecture = "Ernie4_5_MoeForCausalLM";
  Decoder d{.family = "ernie4_5_moe",
            .vocabulary = 103424,
            .context = 131072,
            .width = 2560,
            .inner = 12288,
            .heads = 20,
            .kv_heads = 4,
            .head_width = 0,
            .epsilon = 1e-5,
            .tied = true,
            .turns_neighbours = true,
            .layers = std::vector<Decoder::Layer>(28),
            .experts = {.count = 64,
                        .chosen = 6,
                        .inner = 1536,
                        .shared_gated = false,
                        .normalised = true,
                        .choice_bias = true,
                        .choice_row = true,
                        .choice = "moe_statics.e_score_correction_bias",
                        .shared_name = "shared_experts"}};
  read_layers(json, d, architecture);
  read_experts(json, d, 1, chosen_key);
  d.experts.inner = integer_or(json, inner_key, d.experts.inner, 1, 1 << 22);
  d.experts.shared = d.experts.inner * integer_or(json, shared_key, 2, 0, 64);
  read_expert_layers(json, d);

  nlohmann::json written = decoder_keys(d, architecture);
  written.update(layer_keys(d));
  written.update(expert_keys(d, count_key, chosen_key));
  written.update(expert_layer_keys(json, d));
  written.update({{inner_key, d.experts.inner}, {shared_key, d.experts.shared / d.experts.inner}});
  return make_decoder(d, written);
}

}  // namespace vkformer
