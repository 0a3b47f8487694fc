#include "models/chat/jinja/json_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/text/unicode.h"
#include "runtime/check.h"

namespace vkformer::jinja {

namespace {

class JsonWriter {
 public:
  JsonWriter(Budget& budget, const JsonStyle& style) : budget_(budget), style_(style) {}

  std::string write(const Value& value) {
    any(value);
    return std::move(result_);
  }

 private:
  void put(std::string_view text) {
    budget_.make(text.size());
    result_ += text;
  }

  void line() {
    if (!style_.indent) return;
    put("\n");
    for (int i = 0; i < level_; ++i) put(*style_.indent);
  }

  void escaped(uint32_t unit) { put(fmt::format("\\u{:04x}", unit)); }

  void text(std::string_view text) {
    budget_.look_through(std::ssize(text) / 16);
    put("\"");
    for_each_character(text, [&](char32_t c, size_t at, size_t bytes) {
      constexpr std::string_view marked = "\"\\\n\r\t\f\b", marks = "\"\\nrtfb";
      const auto code = static_cast<uint32_t>(c);
      const size_t mark = code < 0x80 ? marked.find(static_cast<char>(code)) : marked.npos;
      if (mark != marked.npos)
        put(std::string("\\") + marks[mark]);
      else if (code >= 0x20 && (!style_.ascii || code < 0x7F))
        put(text.substr(at, bytes));
      else if (code <= 0xFFFF)
        escaped(code);
      else {
        escaped(0xD800 + ((code - 0x10000) >> 10));
        escaped(0xDC00 + ((code - 0x10000) & 0x3FF));
      }
    });
    put("\"");
  }

  static std::string number(const Value& value) {
    if (value.is<bool>()) return value.as<bool>() ? "true" : "false";
    if (value.is<int64_t>()) return fmt::format("{}", value.as<int64_t>());
    const double of = value.as<double>();
    return std::isnan(of) ? "NaN" : std::isinf(of) ? (of < 0 ? "-Infinity" : "Infinity") : float_text(of);
  }

  /// Brackets around parts, each of which `part(i)` writes.
  template <class Part>
  void group(char open, char close, size_t count, const Part& part) {
    put({&open, 1});
    ++level_;
    for (size_t i = 0; i < count; ++i) {
      // With lines for values, the blank behind a comma is the line's end.
      if (i > 0) put(style_.between);
      line();
      part(i);
    }
    --level_;
    if (count > 0) line();
    put({&close, 1});
  }

  void any(const Value& value) {
    budget_.step();
    if (value.is_none()) return put("null");
    if (value.is_number()) return put(number(value));
    if (value.is_text()) return text(value.text());
    if (value.is_list() || value.is_tuple())
      return group('[', ']', value.items().size(), [&](size_t i) { any(value.items()[i]); });
    check(value.is_dictionary(), "tojson: a value of type {} is not JSON", type_name(value));
    std::vector<const std::pair<Value, Value>*> items;
    for (const auto& item : value.dictionary().items) items.push_back(&item);
    budget_.make(items.size() * sizeof items[0]);
    if (style_.sorted)
      std::ranges::stable_sort(items, [](const auto* a, const auto* b) { return less(a->first, b->first); });
    group('{', '}', items.size(), [&](size_t i) {
      const Value& key = items[i]->first;
      check(key.is_text() || key.is_number() || key.is_none(), "tojson: a key of type {} is not JSON", type_name(key));
      text(key.is_text() ? key.text() : key.is_none() ? "null" : number(key));
      put(style_.behind_key);
      any(items[i]->second);
    });
  }

  Budget& budget_;
  const JsonStyle& style_;
  int level_ = 0;
  std::string result_;
};

}  // namespace

Value value_of(const nlohmann::ordered_json& json) {
  using Type = nlohmann::ordered_json::value_t;
  switch (json.type()) {
    case Type::null: return {};
    case Type::boolean: return json.get<bool>();
    case Type::number_integer: return json.get<int64_t>();
    case Type::number_float: return json.get<double>();
    case Type::string: return json.get_ref<const std::string&>();
    case Type::number_unsigned:
      check(json.get<uint64_t>() <= INT64_MAX, "the number {} has more than 64 bits", json.get<uint64_t>());
      return json.get<int64_t>();
    case Type::array: {
      Values items;
      for (const auto& item : json) items.push_back(value_of(item));
      return Value::list(std::move(items));
    }
    case Type::object: {
      std::vector<std::pair<Value, Value>> items;
      for (const auto& [key, item] : json.items()) items.emplace_back(Value(key), value_of(item));
      return Value::dictionary(std::move(items));
    }
    default: fail("a value of JSON is neither text, number, list nor object");
  }
}

std::string json_text(Budget& budget, const Value& value, const JsonStyle& style) {
  return JsonWriter(budget, style).write(value);
}

}  // namespace vkformer::jinja
