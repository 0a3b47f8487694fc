#pragma once
// The methods of Python's types that templates may call.

#include <optional>

#include "models/chat/jinja/budget.h"
#include "models/chat/jinja/value.h"

namespace vkformer::jinja {

/// A method, or what else a value has under this name; nothing where Python has none. Methods that would change a list
/// or a dictionary are undefined, as in Jinja's sandbox; others that are not supported say so when they are called.
std::optional<Value> method_of(Budget& budget, const Value& object, const std::string& name);

// Of one type each: nothing where it has no such method that is supported here.
using Method = Value (*)(Budget&, const Value& object, const Arguments&);
Method text_method(std::string_view name);
Method container_method(const Value& object, std::string_view name);
std::optional<Value> loop_attribute(Budget& budget, const Value& object, std::string_view name);

}  // namespace vkformer::jinja
