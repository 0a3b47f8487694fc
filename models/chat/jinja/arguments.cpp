#include "models/chat/jinja/arguments.h"

#include <algorithm>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer::jinja {

Parameters::Parameters(std::string what, const Arguments& arguments, std::initializer_list<std::string_view> names)
    : what_(std::move(what)), names_(names), values_(names.size(), nullptr) {
  check(arguments.positional.size() <= names.size(), "{} takes {} arguments here, not {}", what_, names.size(),
        arguments.positional.size());
  for (size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::ranges::find(names_, name);
    check(found != names_.end(), "{} has no argument {} here", what_, in_quotes(name));
    const Value*& place = values_[static_cast<size_t>(found - names_.begin())];
    check(place == nullptr, "{} has the argument {} twice", what_, in_quotes(name));
    place = &value;
  }
}

const Value* Parameters::find_or_none(size_t index) const {
  const Value* value = find(index);
  return value && value->is_none() ? nullptr : value;
}

const Value& Parameters::required(size_t index) const {
  check(values_[index] != nullptr, "{} lacks its argument '{}'", what_, names_[index]);
  return *values_[index];
}

const std::string& Parameters::text(size_t index) const {
  const Value& value = required(index);
  check(value.is_text(), "{}: '{}' must be a text, not {}", what_, names_[index], type_name(value));
  return value.text();
}

int64_t Parameters::integer(size_t index) const {
  const Value& value = required(index);
  check(value.is_integer(), "{}: '{}' must be an integer, not {}", what_, names_[index], type_name(value));
  return value.integer();
}

int64_t Parameters::integer_or(size_t index, int64_t otherwise) const {
  return find(index) ? integer(index) : otherwise;
}

bool Parameters::truth_or(size_t index, bool otherwise) const { return find(index) ? truth(*find(index)) : otherwise; }

}  // namespace vkformer::jinja
