#include "models/data/similar_rows.h"

#include <nlohmann/json.hpp>

#include "models/data/prompt_rows.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"

namespace vkformer {

namespace {

constexpr const char *positive = "positive", *negative = "negative";

std::vector<std::string> texts_of(const JsonObject& object) {
  const char* query = object.has("anchor") ? "anchor" : "query";
  for (const char* key : {query, positive})
    check(object.has(key),
          "{}: a row has \"query\", \"positive\" and, if there are any, \"negative\"; this has no \"{}\"",
          object.name(), key);
  std::vector<std::string> texts{require_string(object, query), require_string(object, positive)};
  if (!object.has(negative)) return texts;
  const nlohmann::json& others = object.value()[negative];
  if (others.is_string()) return texts.push_back(others), texts;
  check(others.is_array() && !others.empty(), "{}: \"negative\" must be a text or a list of texts", object.name());
  for (const nlohmann::json& other : others) {
    check(other.is_string(), "{}: \"negative\" must be a text or a list of texts", object.name());
    texts.push_back(other);
  }
  return texts;
}

}  // namespace

SimilarRows read_similar_rows(std::string_view content, const std::string& name) {
  SimilarRows rows{.name = name, .rows = {}};
  for_rows_of_prompts(content, name, [&](const JsonObject& object, const std::string&, size_t number) {
    SimilarRow row{.texts = texts_of(object), .line = number};
    if (rows.rows.empty()) rows.texts = std::ssize(row.texts);
    check(std::ssize(row.texts) == rows.texts,
          "{}: it has {} in \"negative\", and the rows before {}; all must have as many", object.name(),
          row.texts.size() - 2, rows.texts - 2);
    rows.rows.push_back(std::move(row));
  });
  return rows;
}

}  // namespace vkformer
