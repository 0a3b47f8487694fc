#include "models/chat/jinja/operations.h"

#include <algorithm>
#include <cmath>

#include "models/chat/jinja/methods.h"
#include "models/chat/jinja/python_text.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer::jinja {

namespace {

/// Where a slice begins and ends, as Python's slice.indices().
struct Bounds {
  int64_t begin, end, step;
};
Bounds bounds_of(int64_t size, const Value& begin, const Value& end, const Value& step) {
  const auto index = [](const Value& value) {
    check_defined(value);
    check(value.is_integer(), "the bounds of a slice must be integers, not {}", type_name(value));
    return value.integer();
  };
  Bounds bounds{0, 0, step.is_none() ? 1 : index(step)};
  check(bounds.step != 0, "the step of a slice is 0");
  const bool back = bounds.step < 0;
  const int64_t lowest = back ? -1 : 0, highest = back ? size - 1 : size;
  const auto place = [&](const Value& value, int64_t otherwise) {
    if (value.is_none()) return otherwise;
    const int64_t at = index(value);
    return std::clamp(at < 0 ? (at < -size ? lowest : at + size) : at, lowest, highest);
  };
  bounds.begin = place(begin, back ? highest : lowest);
  bounds.end = place(end, back ? lowest : highest);
  return bounds;
}

template <class Take>
void walk(const Bounds& bounds, const Take& take) {
  const auto size = bounds.step > 0 ? bounds.end - bounds.begin : bounds.begin - bounds.end;
  for (int64_t done = 0, at = bounds.begin; done < size;) {
    take(static_cast<size_t>(at));
    // A step may be as large as an integer can be.
    const uint64_t far = bounds.step > 0 ? static_cast<uint64_t>(bounds.step) : 0 - static_cast<uint64_t>(bounds.step);
    if (far >= static_cast<uint64_t>(size - done)) break;
    done += static_cast<int64_t>(far);
    at += bounds.step;
  }
}

bool contains(Budget& budget, const Value& container, const Value& value) {
  if (container.is_undefined()) return false;
  if (container.is_text()) {
    check_defined(value);
    check(value.is_text(), "'in' of a text needs a text, not {}", type_name(value));
    return find(container.text(), value.text()) != std::string::npos;
  }
  if (container.is_dictionary()) return container.dictionary().find(value) != nullptr;
  if (container.is<std::shared_ptr<Iterator>>()) {
    Iterator& iterator = *container.as<std::shared_ptr<Iterator>>();
    while (iterator.next < iterator.items.size())
      if (equal(iterator.items[iterator.next++], value)) return true;
    return false;
  }
  return std::ranges::any_of(iterate(budget, container), [&](const Value& item) { return equal(item, value); });
}

Value missing(const Value& object, std::string_view name) {
  return Value::undefined(fmt::format("a value of type {} has no {}", type_name(object), in_quotes(name)));
}

}  // namespace

void check_defined(const Value& value) {
  if (value.is_undefined()) fail("{}", *value.as<Undefined>().reason);
}

bool compare(Budget& budget, const std::string& operation, const Value& a, const Value& b) {
  budget.step(std::min(extent_of(a).weight, extent_of(b).weight));
  if (operation == "in" || operation == "not in") {
    budget.step(extent_of(b).weight);
    return contains(budget, b, a) == (operation == "in");
  }
  if (operation == "==") return equal(a, b);
  if (operation == "!=") return !equal(a, b);
  check_defined(a);
  check_defined(b);
  if (a.is_number() && b.is_number() && (std::isnan(a.number()) || std::isnan(b.number()))) return false;
  if (operation == "<") return less(a, b);
  if (operation == ">") return less(b, a);
  if (operation == "<=") return !less(b, a);
  return !less(a, b);
}

Values iterate(Budget& budget, const Value& value) {
  if (value.is_undefined()) return {};
  Values items;
  if (value.is_text()) {
    budget.make(value.text().size() * sizeof(Value));
    for (std::string& character : characters(value.text())) items.emplace_back(std::move(character));
    return items;
  }
  if (value.is<Sequence>()) {
    budget.make(value.items().size() * sizeof(Value));
    return value.items();
  }
  if (value.is_dictionary()) {
    budget.make(value.dictionary().items.size() * sizeof(Value));
    for (const auto& [key, of] : value.dictionary().items) items.push_back(key);
    return items;
  }
  check(!value.is<std::shared_ptr<const Loop>>(), "iterating over 'loop' itself is not supported");
  check(value.is<std::shared_ptr<Iterator>>(), "a {} can't be iterated over", type_name(value));
  Iterator& iterator = *value.as<std::shared_ptr<Iterator>>();
  budget.make((iterator.items.size() - iterator.next) * sizeof(Value));
  items.assign(iterator.items.begin() + static_cast<std::ptrdiff_t>(iterator.next), iterator.items.end());
  iterator.next = iterator.items.size();
  return items;
}

Value item(Budget& budget, const Value& object, const Value& index) {
  check_defined(object);
  budget.step();
  if (object.is_dictionary()) {
    const Dictionary& dictionary = object.dictionary();
    budget.step(std::ssize(dictionary.items));
    if (const Value* found = index.is_text() ? dictionary.find_text(index.text()) : dictionary.find(index))
      return *found;
  } else if (index.is_integer() && (object.is_text() || object.is<Sequence>())) {
    using Kind = Sequence::Kind;
    const bool view = object.is<Sequence>() && object.as<Sequence>().kind >= Kind::keys;
    const int64_t size = length_of(budget, object);
    const int64_t at = index.integer() < 0 ? index.integer() + size : index.integer();
    if (!view && at >= 0 && at < size) {
      if (!object.is_text()) return object.items()[static_cast<size_t>(at)];
      const std::string_view rest = std::string_view(object.text()).substr(offset_of(object.text(), at));
      return rest.substr(0, read_utf8(rest, 0).length);
    }
  }
  if (!index.is_text()) return missing(object, index.is_integer() ? fmt::format("{}", index.integer()) : "such item");
  if (object.is<std::shared_ptr<Namespace>>()) return attribute(budget, object, index.text());
  if (auto method = method_of(budget, object, index.text())) return *std::move(method);
  return missing(object, index.text());
}

Value attribute(Budget& budget, const Value& object, const std::string& name) {
  check_defined(object);
  budget.step();
  if (object.is<std::shared_ptr<Namespace>>()) {
    const auto& attributes = object.as<std::shared_ptr<Namespace>>()->attributes;
    const auto found = attributes.find(name);
    return found != attributes.end() ? found->second : missing(object, name);
  }
  if (auto method = method_of(budget, object, name)) return *std::move(method);
  if (object.is_dictionary()) {
    budget.step(std::ssize(object.dictionary().items));
    if (const Value* found = object.dictionary().find_text(name)) return *found;
  }
  return missing(object, name);
}

Value slice(Budget& budget, const Value& object, const Value& begin, const Value& end, const Value& step) {
  check_defined(object);
  if (object.is_text()) {
    const std::string& text = object.text();
    const Bounds bounds = bounds_of(length_of(budget, object), begin, end, step);
    budget.make(text.size());
    if (bounds.step == 1) {
      const size_t from = offset_of(text, bounds.begin);
      if (bounds.end <= bounds.begin) return std::string();
      return text.substr(from, offset_of(text, bounds.end) - from);
    }
    budget.make(text.size() * sizeof(std::string));
    const std::vector<std::string> all = characters(text);
    std::string result;
    walk(bounds, [&](size_t at) { result += all[at]; });
    return result;
  }
  using Kind = Sequence::Kind;
  if (!object.is<Sequence>() || object.as<Sequence>().kind > Kind::range) return missing(object, "slices");
  const Values& items = object.items();
  const Bounds bounds = bounds_of(std::ssize(items), begin, end, step);
  budget.make(items.size() * sizeof(Value));
  Values result;
  walk(bounds, [&](size_t at) { result.push_back(items[at]); });
  return Value::sequence(object.as<Sequence>().kind, std::move(result));
}

int64_t length_of(Budget& budget, const Value& value) {
  if (value.is_undefined()) return 0;
  if (value.is_text()) {
    budget.step(std::ssize(value.text()) / 16);
    return length(value.text());
  }
  if (value.is<Sequence>()) return std::ssize(value.items());
  if (value.is_dictionary()) return std::ssize(value.dictionary().items);
  if (value.is<std::shared_ptr<const Loop>>()) return std::ssize(*value.as<std::shared_ptr<const Loop>>()->items);
  fail("a {} has no length", type_name(value));
}

std::string text_of(Budget& budget, const Value& value) {
  // Of a byte at most ten, as \U0001f600 is of one character of four.
  budget.make(static_cast<size_t>(extent_of(value).weight) * (value.is_text() ? 16 : 64));
  return to_text(value);
}

std::string replaced(Budget& budget, const std::string& text, const std::string& old, const std::string& by,
                     int64_t most) {
  budget.step(std::ssize(text) / 16);
  const int64_t times = most < 0 ? count(text, old) : std::min(most, count(text, old));
  budget.make(text.size() + static_cast<size_t>(times) * by.size());
  return replace(text, old, by, most);
}

std::string joined(Budget& budget, const Values& items, const std::string& separator) {
  std::string result;
  for (size_t i = 0; i < items.size(); ++i) {
    budget.make(i > 0 ? separator.size() : 0);
    if (i > 0) result += separator;
    result += text_of(budget, items[i]);
  }
  return result;
}

Value call(Budget& budget, const Value& function, const Arguments& arguments) {
  check_defined(function);
  check(function.is<std::shared_ptr<const Callable>>(), "a {} can't be called", type_name(function));
  budget.step();
  const Budget::Level level(budget);
  return function.as<std::shared_ptr<const Callable>>()->call(arguments);
}

}  // namespace vkformer::jinja
