#pragma once
// Jinja's filters and tests, and transformers' tojson.

#include "models/chat/jinja/budget.h"
#include "models/chat/jinja/value.h"

namespace vkformer::jinja {

/// object | name(arguments). Throws Error for filters that are not supported.
Value apply_filter(Budget& budget, const std::string& name, const Value& object, const Arguments& arguments);
/// object is name(arguments). Throws Error for tests that are not supported.
bool apply_test(Budget& budget, const std::string& name, const Value& object, const Arguments& arguments);

using FilterFunction = Value (*)(Budget&, const Value& object, const Arguments&);
// nullptr: none of these has the name.
FilterFunction text_filter(std::string_view name);
FilterFunction sequence_filter(std::string_view name);
FilterFunction ordering_filter(std::string_view name);

/// The attribute "a.b.0" of a value, as filters look it up: parts between dots, numbers being indices. An integer is an
/// index. Where `otherwise` is given it stands for what is undefined on the way.
Value looked_up(Budget& budget, Value object, const Value& path, const Value* otherwise = nullptr);

}  // namespace vkformer::jinja
