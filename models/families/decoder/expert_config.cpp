#include "models/families/decoder/expert_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/check.h"
#include "shaders/router/router.h"

namespace vkformer {

namespace {

constexpr const char *expert_inner_key = "moe_intermediate_size", *normalised_key = "norm_topk_prob";
constexpr const char *factor_key = "routed_scaling_factor", *groups_key = "n_group";
constexpr const char* chosen_groups_key = "topk_group";

/// Layers that have one feed-forward layer each, whatever decoder_sparse_step says.
std::vector<int64_t> plain_layers(const JsonObject& json) {
  if (!json.has("mlp_only_layers")) return {};
  const nlohmann::json& list = json.value()["mlp_only_layers"];
  check(list.is_array() && std::ranges::all_of(list, [](const auto& layer) { return layer.is_number_integer(); }),
        "{}: mlp_only_layers must be a list of layers' numbers", json.name());
  return list.get<std::vector<int64_t>>();
}

}  // namespace

void read_experts(const JsonObject& json, Decoder& d, int64_t fewest, const char* chosen) {
  Decoder::Experts& experts = d.experts;
  // Versions of transformers write one name or another, whichever the family began with.
  const char* count = "num_experts";
  for (const char* name : {"num_local_experts", "n_routed_experts", "moe_num_experts"})
    if (json.has(name)) count = name;
  experts.count = integer_or(json, count, experts.count, fewest, most_experts);
  experts.chosen = integer_or(json, chosen, experts.chosen, experts.count > 0 ? 1 : 0, most_experts);
  check(experts.count == 0 || experts.chosen <= experts.count, "{}: {} is {}, {} is {}", json.name(), chosen,
        experts.chosen, count, experts.count);
  check(!boolean_or(json, "output_router_logits", false),
        "{}: output_router_logits, which adds the routers' balance to the loss, is not supported", json.name());
  for (Decoder::Layer& layer : d.layers) layer.experts = experts.count > 0;
}

void read_plain_layers(const JsonObject& json, Decoder& d, const char* key, int64_t usual) {
  const int64_t plain = integer_or(json, key, usual, 0, most_layers);
  for (size_t i = 0; i < d.layers.size() && std::cmp_less(i, plain); ++i) d.layers[i].experts = false;
}

int64_t plain_layers_of(const Decoder& d) {
  return std::ranges::find_if(d.layers, &Decoder::Layer::experts) - d.layers.begin();
}

void read_deepseek_experts(const JsonObject& json, Decoder& d, bool normalised) {
  d.experts.inner = integer_or(json, expert_inner_key, d.experts.inner, 1, 1 << 22);
  d.experts.normalised = boolean_or(json, normalised_key, normalised);
  d.experts.factor = number_or(json, factor_key, d.experts.factor, 0, 1e6);
}

nlohmann::json deepseek_expert_keys(const Decoder& d) {
  return {{expert_inner_key, d.experts.inner}, {normalised_key, d.experts.normalised}, {factor_key, d.experts.factor}};
}

void read_one_group(const JsonObject& json, const Decoder& d, int64_t usual) {
  const int64_t groups = integer_or(json, groups_key, usual, 1, d.experts.count);
  check(groups == 1, "{}: {} is {}; experts that are chosen by groups are not supported", json.name(), groups_key,
        groups);
}

nlohmann::json one_group_keys() { return {{groups_key, 1}, {chosen_groups_key, 1}}; }

nlohmann::json expert_keys(const Decoder& d, const char* count, const char* chosen) {
  return {{count, d.experts.count}, {chosen, d.experts.chosen}};
}

void read_qwen_experts(const JsonObject& json, Decoder& d, bool normalised) {
  d.experts.inner = integer_or(json, expert_inner_key, d.experts.inner, 1, 1 << 22);
  d.experts.normalised = boolean_or(json, normalised_key, normalised);
  const int64_t step = integer_or(json, "decoder_sparse_step", 1, 1, 10000);
  const std::vector<int64_t> plain = plain_layers(json);
  for (size_t i = 0; i < d.layers.size(); ++i) {
    const auto layer = static_cast<int64_t>(i);
    if ((layer + 1) % step != 0 || std::ranges::count(plain, layer) > 0) d.layers[i].experts = false;
  }
}

nlohmann::json qwen_expert_keys(const Decoder& d) {
  nlohmann::json plain = nlohmann::json::array();
  for (size_t i = 0; i < d.layers.size(); ++i)
    if (!d.layers[i].experts) plain.push_back(i);
  return {{expert_inner_key, d.experts.inner},
          {normalised_key, d.experts.normalised},
          {"decoder_sparse_step", 1},
          {"mlp_only_layers", plain}};
}

}  // namespace vkformer
