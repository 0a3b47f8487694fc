#pragma once
// What expressions do with values, as Python and Jinja's sandbox do it.

#include "models/chat/jinja/budget.h"
#include "models/chat/jinja/value.h"

namespace vkformer::jinja {

/// "+", "-", "*", "/", "//", "%", "**". Throws Error, as all of these, for what Python refuses, and for integers beyond
/// 64 bits.
Value arithmetic(Budget& budget, const std::string& operation, const Value& a, const Value& b);
Value negated(const Value& value);
/// "==", "!=", "<", "<=", ">", ">=", "in", "not in".
bool compare(Budget& budget, const std::string& operation, const Value& a, const Value& b);

/// The values that a for would see; an iterator has none left after.
Values iterate(Budget& budget, const Value& value);
/// object[index], object.name: undefined where there is none.
Value item(Budget& budget, const Value& object, const Value& index);
Value attribute(Budget& budget, const Value& object, const std::string& name);
/// object[begin:end:step]; None: as if it were not there.
Value slice(Budget& budget, const Value& object, const Value& begin, const Value& end, const Value& step);
/// Python's len().
int64_t length_of(Budget& budget, const Value& value);
/// str() of a value, its bytes counted.
std::string text_of(Budget& budget, const Value& value);
/// str.replace() and str.join(), their bytes counted; joined: of str() of all.
std::string replaced(Budget& budget, const std::string& text, const std::string& old, const std::string& by,
                     int64_t most);
std::string joined(Budget& budget, const Values& items, const std::string& separator);
Value call(Budget& budget, const Value& function, const Arguments& arguments);
/// Throws Error, saying what is undefined, where the value is that.
void check_defined(const Value& value);

}  // namespace vkformer::jinja
