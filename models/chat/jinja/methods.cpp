#include "models/chat/jinja/methods.h"

#include <algorithm>
#include <span>

#include "models/chat/jinja/arguments.h"
#include "models/chat/jinja/operations.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer::jinja {

namespace {

using Names = std::span<const std::string_view>;

constexpr std::string_view changing_list[] = {"append", "clear",  "extend",  "insert",
                                              "pop",    "remove", "reverse", "sort"};
constexpr std::string_view changing_dictionary[] = {"clear", "pop", "popitem", "setdefault", "update"};

// What Python has and templates hardly use.
constexpr std::string_view other_of_text[] = {
    "casefold",    "center",  "encode", "expandtabs", "format_map", "isascii", "isdecimal", "isidentifier", "isnumeric",
    "isprintable", "istitle", "ljust",  "maketrans",  "rindex",     "rjust",   "swapcase",  "translate",    "zfill"};
constexpr std::string_view other_of_integer[] = {
    "as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator", "from_bytes", "imag",
    "numerator",        "real",      "to_bytes",   "is_integer"};
constexpr std::string_view other_of_float[] = {"as_integer_ratio", "conjugate", "fromhex", "hex", "imag",
                                               "is_integer",       "real"};
constexpr std::string_view other_of_dictionary[] = {"fromkeys"};
constexpr std::string_view other_of_range[] = {"start", "stop", "step"};
constexpr std::string_view other_of_view[] = {"mapping", "isdisjoint"};

Names changing(const Value& object) {
  if (object.is_list()) return changing_list;
  if (object.is_dictionary()) return changing_dictionary;
  return {};
}

Names other(const Value& object) {
  if (object.is_text()) return other_of_text;
  if (object.is_integer()) return other_of_integer;
  if (object.is<double>()) return other_of_float;
  if (object.is_dictionary()) return other_of_dictionary;
  if (object.is<Sequence>() && object.as<Sequence>().kind == Sequence::Kind::range) return other_of_range;
  if (object.is<Sequence>() && object.as<Sequence>().kind >= Sequence::Kind::keys) return other_of_view;
  return {};
}

Value bound(const Value& object, const std::string& name, std::function<Value(const Arguments&)> call) {
  Extent extent = extent_of_all({object});
  return Value(std::make_shared<const Callable>(Callable{name, std::move(call), extent}));
}

}  // namespace

std::optional<Value> method_of(Budget& budget, const Value& object, const std::string& name) {
  if (object.is<std::shared_ptr<const Loop>>()) return loop_attribute(budget, object, name);
  const Method method = object.is_text() ? text_method(name) : container_method(object, name);
  if (method)
    return bound(object, name, [&budget, object, method](const Arguments& arguments) {
      if (object.is_text()) budget.look_through(extent_of(object).weight + extent_of_all(arguments.positional).weight);
      return method(budget, object, arguments);
    });
  if (std::ranges::find(changing(object), name) != changing(object).end())
    return Value::undefined(fmt::format("'{}' would change a {}, which templates may not do", name, type_name(object)));
  if (std::ranges::find(other(object), name) == other(object).end()) return {};
  return bound(object, name, [object, name](const Arguments&) -> Value {
    fail("'{}' of a {} is not supported", name, type_name(object));
  });
}

std::optional<Value> loop_attribute(Budget& budget, const Value& object, std::string_view name) {
  const std::shared_ptr<const Loop> loop = object.as<std::shared_ptr<const Loop>>();
  const auto size = std::ssize(*loop->items);
  const auto index = static_cast<int64_t>(loop->index0);
  const auto neighbour = [&](int64_t at) {
    return at >= 0 && at < size ? (*loop->items)[static_cast<size_t>(at)]
                                : Value::undefined(at < 0 ? "there is no previous item" : "there is no next item");
  };
  if (name == "index") return index + 1;
  if (name == "index0") return index;
  if (name == "revindex") return size - index;
  if (name == "revindex0") return size - index - 1;
  if (name == "first") return index == 0;
  if (name == "last") return index + 1 == size;
  if (name == "length") return static_cast<int64_t>(size);
  if (name == "depth") return int64_t{1};  // of recursive loops alone it is more
  if (name == "depth0") return int64_t{0};
  if (name == "previtem") return neighbour(index - 1);
  if (name == "nextitem") return neighbour(index + 1);
  if (name == "cycle")
    return bound(object, "cycle", [index](const Arguments& arguments) -> Value {
      check(!arguments.positional.empty() && arguments.named.empty(), "loop.cycle needs what it goes through");
      return arguments.positional[static_cast<size_t>(index) % arguments.positional.size()];
    });
  if (name == "changed")
    return bound(object, "changed", [&budget, loop](const Arguments& arguments) -> Value {
      budget.step(extent_of_all(arguments.positional).weight);
      std::optional<Values>& last = *loop->changed;
      const bool same = last && std::equal(last->begin(), last->end(), arguments.positional.begin(),
                                           arguments.positional.end(), equal);
      if (!same) last = arguments.positional;
      return !same;
    });
  return {};
}

}  // namespace vkformer::jinja
