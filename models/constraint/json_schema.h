#pragma once
// JSON schemas as grammars.

#include <nlohmann/json.hpp>
#include <string>

namespace vkformer {

/// GBNF of the JSON texts that a schema (draft 2020-12 and older ones) takes: type, properties in the schema's order,
/// required, additionalProperties, items, prefixItems, minItems, maxItems, minLength, maxLength, pattern (of a regular
/// expression what needs no looking around or back), format (date, time, date-time, uuid), enum, const, anyOf, oneOf,
/// allOf of one schema, $ref within the schema, and bounds of integers. An object with "properties" has no others
/// unless additionalProperties says so, as in llama.cpp: models would go on inventing some. White space is at most a
/// blank, or a line's end and what the next is indented by. `name` is the schema's in errors. Throws Error, naming the
/// place in the schema, for keywords that it does not know but that would forbid something.
std::string gbnf_of_schema(const nlohmann::ordered_json& schema, const std::string& name);

/// The same of a schema's text.
std::string gbnf_of_schema_text(const std::string& text, const std::string& name);

}  // namespace vkformer
