#pragma once
// Models of configs: of the recorded ones, and of those that a test writes.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "models/families/registry.h"
#include "models/model.h"
#include "runtime/files/json_file.h"

namespace vkformer::testing {

inline const std::filesystem::path fixtures = VKFORMER_FIXTURES;

/// A recorded model's config.json, with other values.
inline nlohmann::json fixture_config(const std::string& fixture,
                                     const nlohmann::json& changes = nlohmann::json::object()) {
  nlohmann::json config = JsonObject::load(fixtures / fixture / "config.json").value();
  config.update(changes);
  return config;
}

inline Model model_of(const nlohmann::json& config) {
  return make_model(JsonObject::parse(config.dump(), "config.json"));
}

/// Latent attention in two layers, of which one has experts.
inline nlohmann::json latent_config() {
  return {{"model_type", "glm4_moe_lite"},
          {"vocab_size", 23},
          {"max_position_embeddings", 512},
          {"hidden_size", 64},
          {"intermediate_size", 96},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 4},
          {"q_lora_rank", 64},
          {"kv_lora_rank", 64},
          {"qk_nope_head_dim", 16},
          {"qk_rope_head_dim", 16},
          {"v_head_dim", 32},
          {"n_routed_experts", 4},
          {"num_experts_per_tok", 2},
          {"moe_intermediate_size", 32}};
}

/// `count` ids below `vocabulary` that are not periodic.
inline std::vector<int32_t> some_ids(int64_t count, int64_t vocabulary, int64_t step) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>((i * step + i / 7) % vocabulary));
  return ids;
}

}  // namespace vkformer::testing
