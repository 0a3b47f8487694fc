#pragma once
// JSON in and out of templates: as Python's json.dumps() writes it, keys in their own order.

#include <nlohmann/json_fwd.hpp>

#include "models/chat/jinja/budget.h"
#include "models/chat/jinja/value.h"

namespace vkformer::jinja {

/// Throws Error for numbers that 64 bits do not hold, and for too many levels.
Value value_of(const nlohmann::ordered_json& json);

struct JsonStyle {
  bool ascii = false;                 ///< everything else escaped
  std::optional<std::string> indent;  ///< of each level, a line for each value; none: all in one line
  std::string between = ", ", behind_key = ": ";
  bool sorted = false;  ///< by key
};
/// Throws Error for values that JSON has not.
std::string json_text(Budget& budget, const Value& value, const JsonStyle& style);

}  // namespace vkformer::jinja
