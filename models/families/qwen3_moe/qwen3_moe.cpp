#include "models/families/qwen3_moe/qwen3_moe.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"
#include "runtime/check.h"
#include "shaders/router/router.h"

namespace vkformer {

namespace {

constexpr const char* architecture = "Qwen3MoeForCausalLM";

/// Layers that have one feed-forward layer each, whatever decoder_sparse_step says.
std::vector<int64_t> plain_layers(const JsonObject& json) {
  if (!json.has("mlp_only_layers")) return {};
  const nlohmann::json& list = json.value()["mlp_only_layers"];
  check(list.is_array() && std::ranges::all_of(list, [](const auto& layer) { return layer.is_number_integer(); }),
        "{}: mlp_only_layers must be a list of layers' numbers", json.name());
  return list.get<std::vector<int64_t>>();
}

void read_experts(const JsonObject& json, Decoder& d) {
  Decoder::Experts& experts = d.experts;
  // transformers 5 writes the newer name.
  const char* count = json.has("num_local_experts") ? "num_local_experts" : "num_experts";
  experts.count = integer_or(json, count, 128, 0, most_experts);
  experts.chosen = integer_or(json, "num_experts_per_tok", 8, 1, most_experts);
  experts.inner = integer_or(json, "moe_intermediate_size", 768, 1, 1 << 22);
  experts.normalised = boolean_or(json, "norm_topk_prob", false);
  check(experts.count == 0 || experts.chosen <= experts.count, "{}: num_experts_per_tok is {}, {} is {}", json.name(),
        experts.chosen, count, experts.count);
  check(!boolean_or(json, "output_router_logits", false),
        "{}: output_router_logits, which adds the routers' balance to the loss, is not supported", json.name());
  const int64_t step = integer_or(json, "decoder_sparse_step", 1, 1, 10000);
  const std::vector<int64_t> plain = plain_layers(json);
  for (size_t i = 0; i < d.layers.size(); ++i) {
    const auto layer = static_cast<int64_t>(i);
    d.layers[i].experts = experts.count > 0 && (layer + 1) % step == 0 && std::ranges::count(plain, layer) == 0;
  }
}

nlohmann::json expert_keys(const Decoder& d) {
  nlohmann::json plain = nlohmann::json::array();
  for (size_t i = 0; i < d.layers.size(); ++i)
    if (!d.layers[i].experts) plain.push_back(i);
  return {{"num_experts", d.experts.count},
          {"num_experts_per_tok", d.experts.chosen},
          {"moe_intermediate_size", d.experts.inner},
          {"norm_topk_prob", d.experts.normalised},
          {"decoder_sparse_step", 1},
          {"mlp_only_layers", plain}};
}

}  // namespace

Model make_qwen3_moe(const JsonObject& json) {
  Decoder d{.family = "qwen3_moe",
            .vocabulary = 151936,
            .context = 32768,
            .width = 2048,
            .inner = 6144,
            .heads = 32,
            .kv_heads = 4,
            .head_width = 0,
            .query_norms = Decoder::QueryNorms::head,
            .layers = std::vector<Decoder::Layer>(24)};
  read_decoder(json, d, architecture);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  const int64_t window = boolean_or(json, "use_sliding_window", false) ? window_of(json, 4096) : 0;
  for (Decoder::Layer& layer : d.layers) layer.window = window;
  read_experts(json, d);
  read_rotary(json, d);

  nlohmann::json written = decoder_keys(d, architecture);
  written["attention_bias"] = d.input_bias;
  written["use_sliding_window"] = window > 0;
  written["sliding_window"] = sliding_window(d);
  written.update(expert_keys(d));
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
