#include "models/chat/jinja/filters.h"

#include "models/chat/jinja/operations.h"
#include "models/chat/jinja/python_text.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer::jinja {

Value apply_filter(Budget& budget, const std::string& name, const Value& object, const Arguments& arguments) {
  budget.step();
  const Budget::Level level(budget);
  FilterFunction filter = text_filter(name);
  if (!filter) filter = sequence_filter(name);
  if (!filter) filter = ordering_filter(name);
  check(filter != nullptr, "the filter {} is not supported", in_quotes(name));
  if (object.is_text()) budget.look_through(extent_of(object).weight);
  return filter(budget, object, arguments);
}

Value looked_up(Budget& budget, Value object, const Value& path, const Value* otherwise) {
  const auto step_into = [&](const Value& part) {
    object = item(budget, object, part);
    if (otherwise && object.is_undefined()) object = *otherwise;
  };
  if (path.is_integer()) {
    step_into(path);
    return object;
  }
  check(path.is_text(), "an attribute is looked up by a text, not by a {}", type_name(path));
  for (std::string& part : split(path.text(), ".", -1, false)) {
    budget.step();
    const bool index = all_are(part, CharacterClass::digit) && part.size() < 10;
    step_into(index ? Value(int64_t{std::stoi(part)}) : Value(std::move(part)));
  }
  return object;
}

}  // namespace vkformer::jinja
