#include "models/families/glm4_moe/glm4_moe.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"
#include "models/families/decoder/expert_config.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr const char *norms_key = "use_qk_norm", *plain_key = "first_k_dense_replace";
constexpr const char* shared_key = "n_shared_experts";

}  // namespace

Model make_glm4_moe(const JsonObject& json) {
  constexpr const char* architecture = "Glm4MoeForCausalLM";
  Decoder d{.family = "glm4_moe",
            .vocabulary = 151552,
            .context = 131072,
            .inner = 10944,
            .heads = 96,
            .kv_heads = 8,
            .head_width = 0,
            .epsilon = 1e-5,
            .rotary_share = 0.5,
            .layers = std::vector<Decoder::Layer>(46),
            .experts = {.count = 128,
                        .chosen = 8,
                        .inner = 1408,
                        .shared_gated = false,
                        .sigmoid = true,
                        .epsilon = 1e-20,
                        .choice_bias = true,
                        .shared_name = "shared_experts"}};
  read_decoder(json, d, architecture);
  d.input_bias = boolean_or(json, "attention_bias", false);
  if (boolean_or(json, norms_key, false)) d.query_norms = Decoder::QueryNorms::head;
  read_experts(json, d, 1);
  read_deepseek_experts(json, d, true);
  read_one_group(json, d, 1);
  read_plain_layers(json, d, plain_key, 1);
  d.experts.shared = d.experts.inner * integer_or(json, shared_key, 1, 1, 64);
  read_rotary(json, d, 10000, true);

  nlohmann::json written = decoder_keys(d, architecture);
  written.update({{"attention_bias", d.input_bias},
                  {norms_key, d.query_norms == Decoder::QueryNorms::head},
                  {plain_key, plain_layers_of(d)},
                  {shared_key, d.experts.shared / d.experts.inner},
                  {"num_nextn_predict_layers", 0}});  // which is left out, whatever the file had
  written.update(expert_keys(d, "n_routed_experts"));
  written.update(deepseek_expert_keys(d));
  written.update(one_group_keys());
  written.update(part_rotary_keys(d));
  return make_decoder(d, written);
}

}  // namespace vkformer
