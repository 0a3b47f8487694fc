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

/// `count` ids below `vocabulary` that are not periodic.
inline std::vector<int32_t> some_ids(int64_t count, int64_t vocabulary, int64_t step) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>((i * step + i / 7) % vocabulary));
  return ids;
}

}  // namespace vkformer::testing
