#include "models/families/qwen_vl_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace vkformer {

namespace {

struct TextFamily {
  std::string_view type, text;  ///< model_type of the whole, and of what writes in it
  double theta;                 ///< where a config has no rope_theta
};
constexpr TextFamily text_families[] = {
    {"qwen2_vl", "qwen2", 1e6}, {"qwen2_5_vl", "qwen2", 1e6}, {"qwen3_vl", "qwen3", 5e5}};

const TextFamily* text_family(const JsonObject& config) {
  const std::string type = string_or(config, "model_type", "");
  const auto found = std::ranges::find(text_families, type, &TextFamily::type);
  return found == std::end(text_families) ? nullptr : found;
}

}  // namespace

bool is_qwen_vl(const JsonObject& config) { return config.has("vision_config") && text_family(config) != nullptr; }

nlohmann::json qwen_vl_text(const JsonObject& config) {
  const TextFamily& family = *text_family(config);
  nlohmann::json text = config.has("text_config") ? require_object(config, "text_config").value() : config.value();
  text.erase("vision_config");
  const JsonObject vision = require_object(config, "vision_config");
  if (vision.has("deepstack_visual_indexes")) text[deepstack_key] = vision.value()["deepstack_visual_indexes"].size();
  text["model_type"] = family.text;
  // One object of all that positions need, with the name that transformers 5 has for plain ones.
  nlohmann::json rotary = {{"rope_theta", text.value("rope_theta", nlohmann::json(family.theta))}};
  for (const char* key : {"rope_parameters", "rope_scaling"})
    if (text.contains(key) && text[key].is_object()) rotary.update(text[key]);
  rotary.erase("type");
  const auto given = [&](const char* key) {
    return text.contains("rope_scaling") && text["rope_scaling"].is_object() && text["rope_scaling"].contains(key);
  };
  if (!rotary.contains("rope_type") && given("type")) rotary["rope_type"] = text["rope_scaling"]["type"];
  if (rotary.value("rope_type", nlohmann::json()) == nlohmann::json("mrope")) rotary["rope_type"] = "default";
  text.erase("rope_scaling");
  text["rope_parameters"] = rotary;
  return text;
}

}  // namespace vkformer
