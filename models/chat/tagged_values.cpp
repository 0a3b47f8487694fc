#include "models/chat/tagged_values.h"

#include <algorithm>
#include <optional>

#include "models/chat/white_space.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"

namespace vkformer {

namespace {

using Json = nlohmann::ordered_json;

/// A member; nullptr where there is none.
const Json* member(const Json* object, std::string_view key) {
  if (!object || !object->is_object()) return nullptr;
  const auto found = object->find(key);
  return found == object->end() ? nullptr : &*found;
}

/// The schema of a tool's arguments.
const Json* parameters_of(const Json& tools, std::string_view name) {
  for (const Json& tool : tools)
    if (const Json* function = member(&tool, "function"); function && function->value("name", "") == name)
      return member(function, "parameters");
  return nullptr;
}

/// Whether a schema, a part of `root`, takes values of that type; where it says nothing of types, `otherwise`.
bool takes_type(const Json& root, const Json* schema, std::string_view type, bool otherwise, int depth = 0) {
  constexpr int deepest = 8;
  if (!schema || !schema->is_object() || depth > deepest) return otherwise;
  if (const Json* reference = member(schema, "$ref"); reference && reference->is_string()) {
    const std::string& to = reference->get_ref<const std::string&>();
    if (!to.starts_with("#/")) return otherwise;
    const Json* target = &root;
    for (size_t at = 2; target && at <= to.size();) {
      const size_t end = std::min(to.find('/', at), to.size());
      target = member(target, std::string_view(to).substr(at, end - at));
      at = end + 1;
    }
    return takes_type(root, target, type, otherwise, depth + 1);
  }
  if (const Json* types = member(schema, "type"))
    return *types == type || (types->is_array() && std::ranges::find(*types, Json(type)) != types->end());
  for (const char* key : {"anyOf", "oneOf"})
    if (const Json* parts = member(schema, key); parts && parts->is_array())
      return std::ranges::any_of(*parts,
                                 [&](const Json& part) { return takes_type(root, &part, type, otherwise, depth + 1); });
  const auto is_type = [&](const Json& value) { return type == "null" ? value.is_null() : value.is_string(); };
  if (const Json* values = member(schema, "enum"); values && values->is_array())
    return std::ranges::any_of(*values, is_type);
  if (const Json* value = member(schema, "const")) return is_type(*value);
  return otherwise;
}

std::optional<Json> json_of(std::string_view text) {
  try {
    const std::string whole = fmt::format("{{\"value\": {}}}", text);
    JsonObject::parse(whole, "a value");  // which bounds how deep it is
    const Json parsed = Json::parse(whole);
    if (parsed.size() == 1) return parsed["value"];  // not several members
  } catch (const Error&) {
    // A text, then.
  }
  return std::nullopt;
}

/// A literal of Python's as JSON: True, False and None, and texts in single quotes.
std::string json_of_python(std::string_view text) {
  std::string json;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\' && i + 1 < text.size()) {
        ++i;
        json += text[i] == '\'' ? std::string("'") : std::string{c, text[i]};
      } else if (c == quote) {
        json += '"';
        quote = 0;
      } else {
        json += c == '"' ? std::string("\\\"") : std::string(1, c);
      }
      continue;
    }
    constexpr std::pair<std::string_view, std::string_view> words[] = {
        {"True", "true"}, {"False", "false"}, {"None", "null"}};
    const auto* word = std::ranges::find_if(words, [&](const auto& w) { return text.substr(i).starts_with(w.first); });
    if (c == '\'' || c == '"') {
      quote = c;
      json += '"';
    } else if (word != std::end(words)) {
      json += word->second;
      i += word->first.size() - 1;
    } else {
      json += c;
    }
  }
  return json;
}

}  // namespace

Json tagged_value(const Json& tools, std::string_view name, std::string_view key, std::string_view text) {
  const Json* parameters = parameters_of(tools, name);
  const Json* schema = member(member(parameters, "properties"), key);
  static const Json nothing = Json::object();
  const Json& whole = parameters ? *parameters : nothing;
  const std::string_view bare = trimmed(text);
  if ((bare == "null" || bare == "None") && takes_type(whole, schema, "null", false)) return nullptr;
  if (takes_type(whole, schema, "string", true)) return std::string(text);
  if (auto value = json_of(text)) return *value;
  if (auto value = json_of(json_of_python(text))) return *value;
  return std::string(text);
}

bool has_tool(const Json& tools, std::string_view name) {
  return std::ranges::any_of(tools, [&](const Json& tool) {
    const Json* function = member(&tool, "function");
    return function && function->value("name", "") == name;
  });
}

}  // namespace vkformer
