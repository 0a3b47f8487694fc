// Filters that look at the values in a value.

#include <algorithm>
#include <map>

#include "models/chat/jinja/arguments.h"
#include "models/chat/jinja/filters.h"
#include "models/chat/jinja/operations.h"
#include "models/chat/jinja/python_text.h"
#include "runtime/check.h"

namespace vkformer::jinja {

namespace {

bool is_iterator(const Value& value) { return value.is<std::shared_ptr<Iterator>>(); }

Value default_filter(Budget&, const Value& object, const Arguments& arguments) {
  const Parameters given("filter 'default'", arguments, {"default_value", "boolean"});
  const bool absent = object.is_undefined() || (given.truth_or(1, false) && !truth(object));
  if (!absent) return object;
  return given.find(0) ? *given.find(0) : Value(std::string());
}

Value length_filter(Budget& budget, const Value& object, const Arguments& arguments) {
  Parameters("filter 'length'", arguments, {});
  return length_of(budget, object);
}

Value first(Budget& budget, const Value& object, const Arguments& arguments) {
  Parameters("filter 'first'", arguments, {});
  if (is_iterator(object)) {
    Iterator& iterator = *object.as<std::shared_ptr<Iterator>>();
    if (iterator.next < iterator.items.size()) return iterator.items[iterator.next++];
    return Value::undefined("there is no first item");
  }
  Values items = iterate(budget, object);
  return items.empty() ? Value::undefined("there is no first item") : items.front();
}

Value last(Budget& budget, const Value& object, const Arguments& arguments) {
  Parameters("filter 'last'", arguments, {});
  check(!is_iterator(object), "filter 'last' takes no {}; make a list of it", type_name(object));
  Values items = iterate(budget, object);
  return items.empty() ? Value::undefined("there is no last item") : items.back();
}

Value list_filter(Budget& budget, const Value& object, const Arguments& arguments) {
  Parameters("filter 'list'", arguments, {});
  return Value::list(iterate(budget, object));
}

Value reverse(Budget& budget, const Value& object, const Arguments& arguments) {
  Parameters("filter 'reverse'", arguments, {});
  Values items = iterate(budget, object);
  std::ranges::reverse(items);
  if (object.is_text()) return joined(budget, items, "");
  return is_iterator(object) ? Value::list(std::move(items)) : Value::iterator(std::move(items));
}

Value items_filter(Budget& budget, const Value& object, const Arguments& arguments) {
  Parameters("filter 'items'", arguments, {});
  if (object.is_undefined()) return Value::iterator({});
  check(object.is_dictionary(), "filter 'items' takes a dictionary, not {}", type_name(object));
  budget.make(3 * object.dictionary().items.size() * sizeof(Value));
  Values pairs;
  for (const auto& [key, value] : object.dictionary().items) pairs.push_back(Value::tuple({key, value}));
  return Value::iterator(std::move(pairs));
}

Value join(Budget& budget, const Value& object, const Arguments& arguments) {
  const Parameters given("filter 'join'", arguments, {"d", "attribute"});
  Values items = iterate(budget, object);
  if (const Value* path = given.find_or_none(1))
    for (Value& each : items) each = looked_up(budget, each, *path);
  return joined(budget, items, given.find(0) ? text_of(budget, *given.find(0)) : "");
}

/// The arguments from `begin` on.
Arguments rest_of(const Arguments& arguments, size_t begin) {
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin(), rest.positional.begin() + static_cast<std::ptrdiff_t>(begin));
  return rest;
}

const std::string& name_in(const Arguments& arguments, size_t index, std::string_view what) {
  check(index < arguments.positional.size() && arguments.positional[index].is_text(), "{} needs a name as a text",
        what);
  return arguments.positional[index].text();
}

Value map_filter(Budget& budget, const Value& object, const Arguments& arguments) {
  if (!truth(object)) return Value::iterator({});
  Values items = iterate(budget, object);
  const bool attribute = arguments.positional.empty() && std::ranges::any_of(arguments.named, [](const auto& item) {
                           return item.first == "attribute";
                         });
  if (attribute) {
    const Parameters given("filter 'map'", arguments, {"attribute", "default"});
    for (Value& each : items) each = looked_up(budget, each, given.required(0), given.find_or_none(1));
  } else {
    const std::string& name = name_in(arguments, 0, "filter 'map'");
    const Arguments rest = rest_of(arguments, 1);
    for (Value& each : items) each = apply_filter(budget, name, each, rest);
  }
  return Value::iterator(std::move(items));
}

template <bool wanted, bool of_attribute>
Value select_filter(Budget& budget, const Value& object, const Arguments& arguments) {
  if (!truth(object)) return Value::iterator({});
  constexpr size_t test = of_attribute ? 1 : 0;
  check(arguments.positional.size() >= test, "a filter that selects by an attribute needs its name");
  const bool tested = arguments.positional.size() > test;
  const Arguments rest = rest_of(arguments, tested ? test + 1 : test);
  Values kept;
  for (const Value& each : iterate(budget, object)) {
    const Value value = of_attribute ? looked_up(budget, each, arguments.positional[0]) : each;
    const bool passes =
        tested ? apply_test(budget, name_in(arguments, test, "a filter that selects"), value, rest) : truth(value);
    if (passes == wanted) kept.push_back(each);
  }
  return Value::iterator(std::move(kept));
}

Value sum(Budget& budget, const Value& object, const Arguments& arguments) {
  const Parameters given("filter 'sum'", arguments, {"attribute", "start"});
  Value total = given.find(1) ? *given.find(1) : Value(int64_t{0});
  check(!total.is_text(), "filter 'sum' adds no texts; join them");
  for (const Value& each : iterate(budget, object))
    total = arithmetic(budget, "+", total, given.find_or_none(0) ? looked_up(budget, each, *given.find(0)) : each);
  return total;
}

}  // namespace

FilterFunction sequence_filter(std::string_view name) {
  static const std::map<std::string_view, FilterFunction> filters = {
      {"default", default_filter},
      {"d", default_filter},
      {"length", length_filter},
      {"count", length_filter},
      {"first", first},
      {"last", last},
      {"list", list_filter},
      {"reverse", reverse},
      {"items", items_filter},
      {"join", join},
      {"map", map_filter},
      {"select", select_filter<true, false>},
      {"reject", select_filter<false, false>},
      {"selectattr", select_filter<true, true>},
      {"rejectattr", select_filter<false, true>},
      {"sum", sum},
  };
  const auto found = filters.find(name);
  return found == filters.end() ? nullptr : found->second;
}

}  // namespace vkformer::jinja
