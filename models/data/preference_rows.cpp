#include "models/data/preference_rows.h"

#include "runtime/check.h"
#include "runtime/files/json_file.h"

namespace vkformer {

namespace {

void check_messages(const JsonObject& object, const char* key) {
  for (const JsonObject& message : require_objects(object, key)) require_string(message, "role");
}

/// One side of a row of texts.
PromptRow text_of(const JsonObject& object, const char* side) {
  std::vector<TextStretch> stretches;
  if (object.has("prompt")) stretches.push_back({require_string(object, "prompt"), false});
  stretches.push_back({require_string(object, side), true});
  return {.stretches = std::move(stretches)};
}

/// One side of a row of messages; a prompt that is a text stands in the conversation, too.
PromptRow conversation_of(const nlohmann::ordered_json& in_order, const char* side) {
  auto messages = nlohmann::ordered_json::array();
  if (in_order.contains("prompt") && in_order.at("prompt").is_array()) messages = in_order.at("prompt");
  for (const auto& message : in_order.at(side)) messages.push_back(message);
  return {.stretches = {}, .messages = std::move(messages), .tools = in_order.value("tools", nlohmann::ordered_json())};
}

PreferenceRow preferences_of(const JsonObject& object, const std::string& line) {
  for (const char* side : {"chosen", "rejected"})
    check(object.has(side), "{}: a row has \"chosen\" and \"rejected\", and mostly \"prompt\"; this has no \"{}\"",
          object.name(), side);
  if (!object.value().at("chosen").is_array())
    return {.chosen = text_of(object, "chosen"), .rejected = text_of(object, "rejected")};
  check_messages(object, "chosen");
  check_messages(object, "rejected");
  if (object.has("prompt") && object.value().at("prompt").is_array()) check_messages(object, "prompt");
  // Templates may write keys in the order in which they stand.
  const auto in_order = parse_json_in_order(line, object.name());
  return {.chosen = conversation_of(in_order, "chosen"), .rejected = conversation_of(in_order, "rejected")};
}

}  // namespace

PreferenceRows read_preference_rows(std::string_view content, const std::string& name) {
  PreferenceRows rows{.name = name, .rows = {}};
  for_rows_of_prompts(content, name, [&](const JsonObject& object, const std::string& line, size_t number) {
    PreferenceRow row = preferences_of(object, line);
    row.chosen.line = row.rejected.line = number;
    rows.rows.push_back(std::move(row));
  });
  return rows;
}

}  // namespace vkformer
