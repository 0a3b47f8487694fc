#include "models/families/deepseek/deepseek.h"

#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/decoder/decoder_config.h"
#include "models/families/decoder/expert_config.h"
#include "models/families/decoder/latent_config.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr const char *shared_key = "n_shared_experts", *plain_key = "first_k_dense_replace";
constexpr const char *kinds_key = "mlp_layer_types", *plain_kind = "dense", *expert_kind = "sparse";
constexpr const char *scores_key = "scoring_func", *method_key = "topk_method";

/// What an absent key stands for.
struct Kind {
  const char* architecture;
  Decoder usual;
  int64_t plain_layers, shared, groups;
};

Kind deepseek_v2() {
  return {"DeepseekV2ForCausalLM",
          {.context = 2048,
           .heads = 32,
           .kv_heads = 0,
           .head_width = 64,
           .layers = std::vector<Decoder::Layer>(32),
           .experts = {.count = 64, .chosen = 6, .inner = 1407},
           .latent = {.query_rank = 1536}},
          0,
          2,
          1};
}

Kind deepseek_v3() {
  return {"DeepseekV3ForCausalLM",
          {.vocabulary = 129280,
           .context = 4096,
           .width = 7168,
           .inner = 18432,
           .heads = 128,
           .kv_heads = 0,
           .head_width = 64,
           .layers = std::vector<Decoder::Layer>(61),
           .experts = {.count = 256, .chosen = 8, .inner = 2048, .sigmoid = true, .factor = 2.5},
           .latent = {.query_rank = 1536}},
          3,
          1,
          8};
}

Kind glm4_moe_lite() {
  return {"Glm4MoeLiteForCausalLM",
          {.vocabulary = 154880,
           .context = 202752,
           .width = 2048,
           .inner = 10240,
           .heads = 20,
           .kv_heads = 0,
           .head_width = 64,
           .epsilon = 1e-5,
           .layers = std::vector<Decoder::Layer>(47),
           .experts = {.count = 64, .chosen = 4, .inner = 1536, .sigmoid = true, .factor = 1.8},
           .latent = {.query_rank = 768, .plain = 192, .value_width = 256}},
          1,
          1,
          1};
}

/// Which layers have experts: a list, or how many of the first ones have none.
void read_kinds(const JsonObject& json, Decoder& d, int64_t usual) {
  if (!json.has(kinds_key)) return read_plain_layers(json, d, plain_key, usual);
  const std::vector<std::string> kinds =
      require_layer_names(json, kinds_key, {plain_kind, expert_kind}, d.layers.size());
  for (size_t i = 0; i < d.layers.size(); ++i) d.layers[i].experts = kinds[i] == expert_kind;
}

nlohmann::json kinds_of(const Decoder& d) {
  nlohmann::json kinds = nlohmann::json::array();
  for (const Decoder::Layer& layer : d.layers) kinds.push_back(layer.experts ? expert_kind : plain_kind);
  return kinds;
}

void read_routing(const JsonObject& json, Decoder& d, int64_t usual_groups) {
  const char* scores = d.experts.sigmoid ? "sigmoid" : "softmax";
  check(string_or(json, scores_key, scores) == scores, "{}: {} must be {} for {}", json.name(), scores_key, scores,
        d.family);
  read_deepseek_experts(json, d, d.experts.sigmoid);
  read_one_group(json, d, usual_groups);
}

}  // namespace

Model make_deepseek(const JsonObject& json) {
  const std::string family = require_string(json, "model_type");
  Kind kind = family == "deepseek_v2" ? deepseek_v2() : family == "deepseek_v3" ? deepseek_v3() : glm4_moe_lite();
  Decoder d = std::move(kind.usual);
  d.family = family;
  d.experts.shared_gated = false;
  d.experts.shared_name = "shared_experts";
  d.experts.epsilon = d.experts.sigmoid ? 1e-20 : 0;
  d.experts.choice_bias = d.experts.sigmoid;
  read_decoder(json, d, kind.architecture);
  read_experts(json, d, 1);
  read_routing(json, d, kind.groups);
  read_kinds(json, d, kind.plain_layers);
  d.experts.shared = d.experts.inner * integer_or(json, shared_key, kind.shared, 0, 64);
  check(!boolean_or(json, "mlp_bias", false), "{}: mlp_bias is not supported", json.name());
  read_latent(json, d);

  nlohmann::json written = decoder_keys(d, kind.architecture);
  written.update(expert_keys(d, "n_routed_experts"));
  written.update(deepseek_expert_keys(d));
  written.update(one_group_keys());
  written.update(latent_keys(d));
  written.update({{plain_key, plain_layers_of(d)},
                  {kinds_key, kinds_of(d)},
                  {shared_key, d.experts.shared / d.experts.inner},
                  {scores_key, d.experts.sigmoid ? "sigmoid" : "softmax"},
                  {method_key, d.experts.sigmoid ? "noaux_tc" : "greedy"},
                  {"num_nextn_predict_layers", 0}});  // which are left out, whatever the file had
  return make_decoder(d, written);
}

}  // namespace vkformer
