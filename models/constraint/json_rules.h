#pragma once
// JSON itself as rules of a grammar.

#include <string>

namespace vkformer {

/// With those of these rules that `gbnf` asks for, and that they ask for: value, object, array, string, number,
/// integer, boolean and null; space (white space where people write it), char (of a string), chars (any number of
/// them), member; date, time and uuid as in strings.
std::string with_json_rules(std::string gbnf);

}  // namespace vkformer
