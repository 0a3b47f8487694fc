#pragma once
// What configs that can't be are answered with.

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "models/families/registry.h"
#include "models/model.h"
#include "runtime/check.h"

/// The error that make_model throws for this config, or "accepted".
inline std::string message_of(const nlohmann::json& config) {
  try {
    vkformer::make_model(vkformer::JsonObject::parse(config.dump(), "config.json"));
  } catch (const vkformer::Error& error) {
    return error.what();
  }
  return "accepted";
}

/// Checks that the config is refused in one line that names the file and holds `word`.
inline void check_refused(const nlohmann::json& config, const std::string& word) {
  const std::string text = message_of(config);
  INFO(text);
  CHECK(text.find(word) != std::string::npos);
  CHECK(text.find("config.json") != std::string::npos);
  CHECK(text.find('\n') == std::string::npos);
}
