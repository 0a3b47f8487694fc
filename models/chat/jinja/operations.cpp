#include "models/chat/jinja/operations.h"

#include <algorithm>
#include <cmath>

#include "models/chat/jinja/methods.h"
#include "models/chat/jinja/python_text.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer::jinja {

namespace {

std::string repeated(Budget& budget, const std::string& text, int64_t times) {
  if (times <= 0 || text.empty()) return {};
  check(times <= Budget::most_bytes / std::ssize(text), "a text of {} bytes can't be repeated {} times", text.size(),
        times);
  budget.make(text.size() * static_cast<size_t>(times));
  std::string result;
  for (int64_t i = 0; i < times; ++i) result += text;
  return result;
}

Value repeated(Budget& budget, const Value& sequence, int64_t times) {
  const Values& items = sequence.items();
  times = items.empty() ? 0 : std::max<int64_t>(times, 0);
  check(items.empty() || times <= Budget::most_bytes / std::ssize(items),
        "a list of {} items can't be repeated {} times", items.size(), times);
  budget.make(items.size() * static_cast<size_t>(times) * sizeof(Value));
  Values result;
  for (int64_t i = 0; i < times; ++i) result.insert(result.end(), items.begin(), items.end());
  return Value::sequence(sequence.as<Sequence>().kind, std::move(result));
}

Value power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (bool overflow = false; exponent > 0; exponent >>= 1) {
    if (exponent & 1) overflow = __builtin_mul_overflow(result, base, &result);
    check(!overflow, "an integer has more than 64 bits");
    if (exponent > 1) {
      // Zero, one and minus one stay small however large the exponent is.
      overflow = __builtin_mul_overflow(base, base, &base);
      check(!overflow, "an integer has more than 64 bits");
    }
  }
  return result;
}

Value integers(const std::string& operation, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  if (operation == "+") overflow = __builtin_add_overflow(a, b, &result);
  if (operation == "-") overflow = __builtin_sub_overflow(a, b, &result);
  if (operation == "*") overflow = __builtin_mul_overflow(a, b, &result);
  if (operation == "//" || operation == "%") {
    overflow = b == -1 && a == INT64_MIN;
    if (!overflow) {
      const int64_t rest = a % b;
      const bool below = rest != 0 && (rest < 0) != (b < 0);
      result = operation == "%" ? rest + (below ? b : 0) : a / b - (below ? 1 : 0);
    }
  }
  check(!overflow, "an integer has more than 64 bits");
  return operation == "**" ? power(a, b) : Value(result);
}

Value floats(const std::string& operation, double a, double b) {
  if (operation == "+") return a + b;
  if (operation == "-") return a - b;
  if (operation == "*") return a * b;
  if (operation == "/") return a / b;
  if (operation == "**") {
    check(a >= 0 || b == std::floor(b), "the power of a negative number is no real number");
    return std::pow(a, b);
  }
  // Python's float_divmod: the rest has the sign of b.
  double rest = std::fmod(a, b), quotient = (a - rest) / b;
  if (rest == 0) {
    rest = std::copysign(0.0, b);
  } else if ((rest < 0) != (b < 0)) {
    rest += b;
    quotient -= 1;
  }
  if (operation == "%") return rest;
  const double whole = std::floor(quotient);
  return quotient == 0 ? std::copysign(0.0, a / b) : whole + (quotient - whole > 0.5 ? 1 : 0);
}

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
    return container.text().find(value.text()) != std::string::npos;
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

Value arithmetic(Budget& budget, const std::string& operation, const Value& a, const Value& b) {
  check_defined(a);
  check_defined(b);
  if (a.is_number() && b.is_number()) {
    const bool divides = operation == "/" || operation == "//" || operation == "%";
    const bool negative_power = operation == "**" && b.number() < 0;
    check(b.number() != 0 || !divides, "a division by zero");
    check(a.number() != 0 || !negative_power, "a division by zero");
    const bool whole = a.is_integer() && b.is_integer() && operation != "/" && !negative_power;
    return whole ? integers(operation, a.integer(), b.integer()) : floats(operation, a.number(), b.number());
  }
  if (operation == "+" && a.is_text() && b.is_text()) {
    budget.make(a.text().size() + b.text().size());
    return a.text() + b.text();
  }
  if (operation == "+" && ((a.is_list() && b.is_list()) || (a.is_tuple() && b.is_tuple()))) {
    budget.make((a.items().size() + b.items().size()) * sizeof(Value));
    Values items = a.items();
    items.insert(items.end(), b.items().begin(), b.items().end());
    return Value::sequence(a.as<Sequence>().kind, std::move(items));
  }
  if (operation == "*" && (a.is_integer() || b.is_integer())) {
    const Value& value = a.is_integer() ? b : a;
    const int64_t times = (a.is_integer() ? a : b).integer();
    if (value.is_text()) return repeated(budget, value.text(), times);
    if (value.is_list() || value.is_tuple()) return repeated(budget, value, times);
  }
  check(operation != "%" || !a.is_text(), "formatting a text with % is not supported");
  fail("'{}' of {} and {}", operation, type_name(a), type_name(b));
}

Value negated(const Value& value) {
  check_defined(value);
  check(value.is_number(), "a {} has no sign", type_name(value));
  if (value.is<double>()) return -value.as<double>();
  return integers("-", 0, value.integer());
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
