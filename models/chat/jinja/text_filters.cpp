// Filters that give texts and numbers.

#include <cmath>
#include <map>

#include "models/chat/jinja/arguments.h"
#include "models/chat/jinja/filters.h"
#include "models/chat/jinja/json_text.h"
#include "models/chat/jinja/literals.h"
#include "models/chat/jinja/operations.h"
#include "models/chat/jinja/python_text.h"
#include "runtime/check.h"
#include "runtime/text_number.h"

namespace vkformer::jinja {

namespace {

template <std::string (*change)(std::string_view)>
Value change_filter(Budget& budget, const Value& object, const Arguments& arguments) {
  Parameters("a filter of texts", arguments, {});
  const std::string text = text_of(budget, object);
  budget.make(3 * text.size());
  return change(text);
}

Value string_filter(Budget& budget, const Value& object, const Arguments& arguments) {
  Parameters("filter 'string'", arguments, {});
  return text_of(budget, object);
}

Value trim(Budget& budget, const Value& object, const Arguments& arguments) {
  const Parameters given("filter 'trim'", arguments, {"chars"});
  const std::string text = text_of(budget, object);
  return given.find_or_none(0) ? strip(text, Side::both, given.text(0)) : strip(text, Side::both);
}

Value replace_filter(Budget& budget, const Value& object, const Arguments& arguments) {
  const Parameters given("filter 'replace'", arguments, {"old", "new", "count"});
  const std::string old = text_of(budget, given.required(0)), by = text_of(budget, given.required(1));
  return replaced(budget, text_of(budget, object), old, by, given.find_or_none(2) ? given.integer(2) : -1);
}

Value indent(Budget& budget, const Value& object, const Arguments& arguments) {
  const Parameters given("filter 'indent'", arguments, {"width", "first", "blank"});
  check_defined(object);
  check(object.is_text(), "filter 'indent' takes a text, not {}", type_name(object));
  std::string space = "    ";
  if (given.find(0) && given.find(0)->is_text()) {
    space = given.text(0);
  } else if (given.find(0)) {
    const int64_t width = given.integer(0);
    check(width <= 1000, "filter 'indent': a width of {} is not supported", width);
    space.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  }
  const bool blank = given.truth_or(2, false);
  budget.step(std::ssize(object.text()));
  const std::vector<std::string> lines = split_lines(object.text() + "\n", false);
  budget.make(lines.size() * (space.size() + 1 + sizeof(std::string)) + object.text().size());
  std::string result = given.truth_or(1, false) ? space : "";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) result += '\n';
    if (i > 0 && (blank || !lines[i].empty())) result += space;
    result += lines[i];
  }
  return result;
}

Value tojson(Budget& budget, const Value& object, const Arguments& arguments) {
  const Parameters given("filter 'tojson'", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style{.ascii = given.truth_or(0, false), .sorted = given.truth_or(3, false)};
  if (const Value* wanted = given.find_or_none(1)) {
    if (wanted->is_text()) {
      style.indent = wanted->text();
    } else {
      check(given.integer(1) <= 100, "filter 'tojson': an indent of {} is not supported", given.integer(1));
      style.indent = std::string(static_cast<size_t>(std::max<int64_t>(given.integer(1), 0)), ' ');
    }
    style.between = ",";
  }
  if (const Value* separators = given.find_or_none(2)) {
    const bool two = separators->is<Sequence>() && separators->items().size() == 2 &&
                     separators->items()[0].is_text() && separators->items()[1].is_text();
    check(two, "filter 'tojson': 'separators' must be two texts");
    style.between = separators->items()[0].text();
    style.behind_key = separators->items()[1].text();
  }
  return json_text(budget, object, style);
}

/// Python's int() of a text; nothing where it is no integer.
std::optional<Value> integer_of(std::string_view text) {
  text = strip(text, Side::both);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text[0] < '0' || text[0] > '9') return {};
  // Base 10 alone: no 0x10, and zeros in front are fine.
  while (text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9') text.remove_prefix(1);
  if (text.size() > 1 && text[0] == '0' && text[1] != '_') return {};
  const NumberLiteral literal = read_number(text, false);
  if (literal.length == 0) fail("an integer has more than 64 bits");
  if (literal.length != text.size()) return {};
  return Value(negative ? -literal.integer : literal.integer);
}

/// Python's float() of a text.
std::optional<double> float_of(std::string_view text) {
  text = strip(text, Side::both);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || !((text[0] >= '0' && text[0] <= '9') || text[0] == '.')) return {};
  const std::optional<double> value = number_in<double>(text);
  return negative && value ? -*value : value;
}

Value int_filter(Budget&, const Value& object, const Arguments& arguments) {
  const Parameters given("filter 'int'", arguments, {"default", "base"});
  check(given.integer_or(1, 10) == 10, "filter 'int' with another base than 10 is not supported");
  check_defined(object);
  if (object.is_integer()) return object.integer();
  std::optional<double> value;
  if (object.is_text()) {
    if (auto whole = integer_of(object.text())) return *whole;
    value = float_of(object.text());
  } else if (object.is<double>() && std::isfinite(object.as<double>())) {
    value = object.as<double>();
  }
  if (!value) return given.find(0) ? *given.find(0) : Value(int64_t{0});
  check(std::abs(*value) < 9.2e18, "an integer has more than 64 bits");
  return static_cast<int64_t>(*value);
}

Value float_filter(Budget&, const Value& object, const Arguments& arguments) {
  const Parameters given("filter 'float'", arguments, {"default"});
  check_defined(object);
  if (object.is_number()) return object.number();
  if (object.is_text())
    if (const auto value = float_of(object.text())) return *value;
  return given.find(0) ? *given.find(0) : Value(0.0);
}

Value absolute(Budget&, const Value& object, const Arguments& arguments) {
  Parameters("filter 'abs'", arguments, {});
  check_defined(object);
  check(object.is_number(), "filter 'abs' takes a number, not {}", type_name(object));
  if (object.is<double>()) return std::abs(object.as<double>());
  return object.integer() < 0 ? negated(object) : Value(object.integer());
}

Value round_filter(Budget&, const Value& object, const Arguments& arguments) {
  const Parameters given("filter 'round'", arguments, {"precision", "method"});
  check_defined(object);
  check(object.is_number(), "filter 'round' takes a number, not {}", type_name(object));
  const int64_t precision = given.integer_or(0, 0);
  const std::string method = given.find(1) ? given.text(1) : "common";
  check(precision >= 0 && precision <= 15, "filter 'round' to {} digits is not supported", precision);
  if (method == "ceil" || method == "floor") {
    const double scale = std::pow(10.0, static_cast<double>(precision)), scaled = object.number() * scale;
    return (method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale;
  }
  check(method == "common", "filter 'round' knows the methods common, ceil and floor");
  if (object.is_integer()) return object.integer();
  // As Python does: to the decimal nearest to the exact value.
  return std::stod(fmt::format("{:.{}f}", object.number(), precision));
}

/// Without autoescape a text is safe as it is.
Value safe(Budget& budget, const Value& object, const Arguments& arguments) {
  return string_filter(budget, object, arguments);
}

}  // namespace

FilterFunction text_filter(std::string_view name) {
  static const std::map<std::string_view, FilterFunction> filters = {
      {"upper", change_filter<upper>},
      {"lower", change_filter<lower>},
      {"title", change_filter<title_of_words>},
      {"capitalize", change_filter<capitalize>},
      {"string", string_filter},
      {"safe", safe},
      {"trim", trim},
      {"replace", replace_filter},
      {"indent", indent},
      {"tojson", tojson},
      {"int", int_filter},
      {"float", float_filter},
      {"abs", absolute},
      {"round", round_filter},
  };
  const auto found = filters.find(name);
  return found == filters.end() ? nullptr : found->second;
}

}  // namespace vkformer::jinja
