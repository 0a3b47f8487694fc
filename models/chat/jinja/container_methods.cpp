// dict.items(), list.index() and the like.

#include "models/chat/jinja/arguments.h"
#include "models/chat/jinja/methods.h"
#include "models/chat/jinja/operations.h"
#include "runtime/check.h"

namespace vkformer::jinja {

namespace {

template <Sequence::Kind kind>
Value view(Budget& budget, const Value& object, const Arguments& arguments) {
  Parameters("a dictionary's method", arguments, {});
  const auto& items = object.dictionary().items;
  budget.make(3 * items.size() * sizeof(Value));
  Values all;
  for (const auto& [key, value] : items) {
    if (kind == Sequence::Kind::keys) all.push_back(key);
    if (kind == Sequence::Kind::values) all.push_back(value);
    if (kind == Sequence::Kind::items) all.push_back(Value::tuple({key, value}));
  }
  return Value::sequence(kind, std::move(all));
}

Value get(Budget& budget, const Value& object, const Arguments& arguments) {
  const Parameters given("a dictionary's get", arguments, {"key", "default"});
  check(arguments.named.empty(), "a dictionary's get takes no arguments by name");
  budget.step(object.dictionary().extent.weight);
  const Value* found = object.dictionary().find(given.required(0));
  return found ? *found : given.find(1) ? *given.find(1) : Value();
}

Value copy(Budget&, const Value& object, const Arguments& arguments) {
  Parameters("copy", arguments, {});
  return object;  // nothing can change it
}

Value index_of(Budget& budget, const Value& object, const Arguments& arguments) {
  const Parameters given("a list's index", arguments, {"value"});
  budget.step(extent_of(object).weight);
  const Values& items = object.items();
  for (size_t i = 0; i < items.size(); ++i)
    if (equal(items[i], given.required(0))) return static_cast<int64_t>(i);
  fail("the value that index() looks for is not there");
}

Value count_of(Budget& budget, const Value& object, const Arguments& arguments) {
  const Parameters given("a list's count", arguments, {"value"});
  budget.step(extent_of(object).weight);
  int64_t times = 0;
  for (const Value& item : object.items()) times += equal(item, given.required(0));
  return times;
}

}  // namespace

Method container_method(const Value& object, std::string_view name) {
  using Kind = Sequence::Kind;
  if (object.is_dictionary()) {
    if (name == "get") return get;
    if (name == "items") return view<Kind::items>;
    if (name == "keys") return view<Kind::keys>;
    if (name == "values") return view<Kind::values>;
    if (name == "copy") return copy;
  }
  const bool is_view = object.is<Sequence>() && object.as<Sequence>().kind >= Kind::keys;
  if (object.is<Sequence>() && !is_view) {
    if (name == "index") return index_of;
    if (name == "count") return count_of;
    if (name == "copy" && object.is_list()) return copy;
  }
  return nullptr;
}

}  // namespace vkformer::jinja
