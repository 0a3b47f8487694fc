#include "models/data/prompt_rows.h"

#include <filesystem>

#include "models/data/json_lines.h"
#include "models/data/lines.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"

namespace vkformer {

namespace {

PromptRow row_of(const JsonObject& object, const std::string& line) {
  if (object.has("messages")) {
    const std::vector<JsonObject> messages = require_objects(object, "messages");
    check(!messages.empty(), "{}: there are no messages", object.name());
    for (const JsonObject& message : messages) require_string(message, "role");
    // Templates may write keys in the order in which they stand.
    const auto in_order = parse_json_in_order(line, object.name());
    return {.stretches = {},
            .messages = in_order.at("messages"),
            .tools = in_order.value("tools", nlohmann::ordered_json())};
  }
  if (object.has("prompt"))
    return {.stretches = {{require_string(object, "prompt"), false}, {require_string(object, "completion"), true}}};
  check(object.has("text"), "{}: a row has \"prompt\" and \"completion\", or \"messages\", or \"text\"", object.name());
  return {.stretches = {{require_string(object, "text"), true}}};
}

}  // namespace

void for_rows_of_prompts(std::string_view content, const std::string& name, const TakePromptRow& take) {
  const std::string kind = std::filesystem::path(name).extension().generic_string();
  check(kind == ".jsonl" || kind == ".ndjson", "{}: rows of prompts are JSON lines, a file that ends in .jsonl", name);
  const std::vector<std::string> lines = split_lines(content, name);
  bool any = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find_first_not_of(" \t\r") == std::string::npos) continue;
    take(parse_json_line(lines[i], name, i + 1), lines[i], i + 1);
    any = true;
  }
  check(any, "{} has no rows", name);
}

PromptRows read_prompt_rows(std::string_view content, const std::string& name) {
  PromptRows rows{.name = name, .rows = {}};
  for_rows_of_prompts(content, name, [&](const JsonObject& object, const std::string& line, size_t number) {
    rows.rows.push_back(row_of(object, line));
    rows.rows.back().line = number;
  });
  return rows;
}

}  // namespace vkformer
