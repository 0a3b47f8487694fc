#pragma once
// The values of a template: Python's, as far as chat templates know them. All but namespaces and iterators stay as they
// were made, as in Jinja's ImmutableSandboxedEnvironment.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace vkformer::jinja {

class Value;
using Values = std::vector<Value>;
struct Dictionary;
struct Iterator;
struct Namespace;
struct Callable;
struct Loop;

/// What a name or a key that is not there gives: prints as nothing, is false, and fails where it is used.
struct Undefined {
  std::shared_ptr<const std::string> reason;  ///< "'tools' is undefined"
};
struct None {};

/// How much there is to a value when all of it is printed, compared or deleted.
struct Extent {
  int depth = 0;       ///< levels of containers
  int64_t weight = 1;  ///< values, and sixteenths of texts' bytes, each as often as it occurs; never above heaviest
};
/// Containers deeper in each other are refused: what looks at all of them recurses once a level.
inline constexpr int deepest_value = 100;
inline constexpr int64_t heaviest_value = int64_t{1} << 40;

/// Several values in an order that can be read again and again.
struct Sequence {
  enum class Kind : uint8_t { list, tuple, range, keys, values, items };
  Kind kind = Kind::list;
  std::shared_ptr<const Values> items;
  Extent extent;
};

class Value {
 public:
  using Text = std::shared_ptr<const std::string>;
  using Content = std::variant<Undefined, None, bool, int64_t, double, Text, Sequence,
                               std::shared_ptr<const Dictionary>, std::shared_ptr<Iterator>, std::shared_ptr<Namespace>,
                               std::shared_ptr<const Callable>, std::shared_ptr<const Loop>>;

  Value() : content_(None()) {}
  Value(bool value) : content_(value) {}
  Value(int64_t value) : content_(value) {}
  Value(double value) : content_(value) {}
  Value(std::string text) : content_(std::make_shared<const std::string>(std::move(text))) {}
  Value(std::string_view text) : Value(std::string(text)) {}
  Value(const char*) = delete;
  Value(std::shared_ptr<Namespace> value) : content_(std::move(value)) {}
  Value(std::shared_ptr<const Callable> value) : content_(std::move(value)) {}
  Value(std::shared_ptr<const Loop> value) : content_(std::move(value)) {}
  static Value undefined(std::string reason);
  /// Each throws Error where containers lie deeper in each other than deepest_value.
  static Value sequence(Sequence::Kind kind, Values items);
  static Value list(Values items) { return sequence(Sequence::Kind::list, std::move(items)); }
  static Value tuple(Values items) { return sequence(Sequence::Kind::tuple, std::move(items)); }
  static Value iterator(Values items);
  static Value dictionary(std::vector<std::pair<Value, Value>> items);

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(content_);
  }
  bool is_undefined() const { return is<Undefined>(); }
  bool is_none() const { return is<None>(); }
  bool is_text() const { return is<Text>(); }
  bool is_list() const { return is<Sequence>() && as<Sequence>().kind == Sequence::Kind::list; }
  bool is_tuple() const { return is<Sequence>() && as<Sequence>().kind == Sequence::Kind::tuple; }
  /// Python's int, of which bool is one.
  bool is_integer() const { return is<int64_t>() || is<bool>(); }
  bool is_number() const { return is_integer() || is<double>(); }
  template <class T>
  const T& as() const {
    return std::get<T>(content_);
  }
  const std::string& text() const { return *as<Text>(); }
  const Values& items() const { return *as<Sequence>().items; }
  const Dictionary& dictionary() const { return *as<std::shared_ptr<const Dictionary>>(); }
  bool is_dictionary() const { return is<std::shared_ptr<const Dictionary>>(); }
  int64_t integer() const { return is<bool>() ? as<bool>() : as<int64_t>(); }
  double number() const { return is<double>() ? as<double>() : static_cast<double>(integer()); }
  const Content& content() const { return content_; }

 private:
  template <class T>
  explicit Value(std::in_place_type_t<T>, T value) : content_(std::move(value)) {}

  Content content_;
};

/// Python's dict: in the order of insertion. Keys are hashable.
struct Dictionary {
  std::vector<std::pair<Value, Value>> items;
  Extent extent;
  const Value* find(const Value& key) const;
  const Value* find_text(std::string_view key) const;
};

/// What map, selectattr and the like give: its values come once.
struct Iterator {
  Values items;
  size_t next = 0;
  Extent extent;
};

/// Jinja's namespace(), the one object that templates change.
struct Namespace {
  std::map<std::string, Value, std::less<>> attributes;
};

struct Arguments {
  Values positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// A macro, a function or a method of a value.
struct Callable {
  std::string name;
  std::function<Value(const Arguments&)> call;
  Extent extent;
};

/// "loop" in the body of a for.
struct Loop {
  std::shared_ptr<const Values> items;
  size_t index0 = 0;
  std::shared_ptr<std::optional<Values>> changed;  ///< what loop.changed() was given last
  Extent extent;
};

Extent extent_of(const Value& value);
/// Of a container of these. Throws Error for too many levels.
Extent extent_of_all(const Values& items);
/// "str", "list": what Python's type has for a name.
std::string_view type_name(const Value& value);
/// Python's bool().
bool truth(const Value& value);
/// Python's ==.
bool equal(const Value& a, const Value& b);
/// Python's a < b. Throws Error for what it does not order.
bool less(const Value& a, const Value& b);
/// Python's str() and repr(). Throws Error for functions, loops and what else has no text of use.
std::string to_text(const Value& value);
std::string representation(const Value& value);
/// Of a number as Python prints it: "1.0", "1e+16".
std::string float_text(double value);

}  // namespace vkformer::jinja
