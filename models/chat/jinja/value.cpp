#include "models/chat/jinja/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "models/chat/jinja/python_text.h"
#include "runtime/check.h"

namespace vkformer::jinja {

namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

void enclose(Extent& extent, const Value& inner) {
  const Extent inside = extent_of(inner);
  extent.depth = std::max(extent.depth, inside.depth + 1);
  check(extent.depth <= deepest_value, "containers lie more than {} levels deep in each other", deepest_value);
  extent.weight = std::min(extent.weight + inside.weight, heaviest_value);
}

std::string joined(const Values& items, std::string_view open, std::string_view close) {
  std::string text(open);
  for (const Value& item : items) {
    if (text.size() > open.size()) text += ", ";
    text += representation(item);
  }
  return text.append(close);
}

std::string representation(const Sequence& sequence) {
  switch (sequence.kind) {
    case Sequence::Kind::list: return joined(*sequence.items, "[", "]");
    case Sequence::Kind::tuple: return joined(*sequence.items, "(", sequence.items->size() == 1 ? ",)" : ")");
    case Sequence::Kind::keys: return joined(*sequence.items, "dict_keys([", "])");
    case Sequence::Kind::values: return joined(*sequence.items, "dict_values([", "])");
    case Sequence::Kind::items: return joined(*sequence.items, "dict_items([", "])");
    case Sequence::Kind::range: break;
  }
  fail("a range has no text of use; make a list of it");
}

std::string representation(const Dictionary& dictionary) {
  std::string text = "{";
  for (const auto& [key, value] : dictionary.items) {
    if (text.size() > 1) text += ", ";
    text += jinja::representation(key) + ": " + jinja::representation(value);
  }
  return text + "}";
}

bool equal(const Dictionary& a, const Dictionary& b) {
  return a.items.size() == b.items.size() && std::all_of(a.items.begin(), a.items.end(), [&](const auto& item) {
           const Value* other = b.find(item.first);
           return other && jinja::equal(item.second, *other);
         });
}

/// Whether a number compares with an integer exactly, as Python's do, and not by way of a rounded double.
int compare_numbers(const Value& a, const Value& b) {
  if (a.is_integer() && b.is_integer()) return a.integer() < b.integer() ? -1 : a.integer() > b.integer();
  const auto exact = [](const Value& value) {
    return value.is<double>() ? static_cast<long double>(value.as<double>())
                              : static_cast<long double>(value.integer());
  };
  const long double x = exact(a), y = exact(b);
  return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;  // 2: not a number
}

}  // namespace

Value Value::undefined(std::string reason) {
  return Value(std::in_place_type<Undefined>, Undefined{std::make_shared<const std::string>(std::move(reason))});
}

Value Value::sequence(Sequence::Kind kind, Values items) {
  const Extent extent = extent_of_all(items);
  return Value(std::in_place_type<Sequence>, Sequence{kind, std::make_shared<const Values>(std::move(items)), extent});
}

Value Value::iterator(Values items) {
  const Extent extent = extent_of_all(items);
  return Value(std::in_place_type<std::shared_ptr<Iterator>>,
               std::make_shared<Iterator>(Iterator{std::move(items), 0, extent}));
}

Value Value::dictionary(std::vector<std::pair<Value, Value>> items) {
  Extent extent{.depth = 1};
  for (const auto& [key, value] : items) {
    enclose(extent, key);
    enclose(extent, value);
  }
  return Value(std::in_place_type<std::shared_ptr<const Dictionary>>,
               std::make_shared<const Dictionary>(Dictionary{std::move(items), extent}));
}

const Value* Dictionary::find(const Value& key) const {
  const auto found = std::ranges::find_if(items, [&](const auto& item) { return equal(item.first, key); });
  return found == items.end() ? nullptr : &found->second;
}

const Value* Dictionary::find_text(std::string_view key) const {
  const auto found =
      std::ranges::find_if(items, [&](const auto& item) { return item.first.is_text() && item.first.text() == key; });
  return found == items.end() ? nullptr : &found->second;
}

Extent extent_of(const Value& value) {
  return std::visit(Overloaded{[](const Value::Text& of) { return Extent{.weight = 1 + std::ssize(*of) / 16}; },
                               [](const Sequence& of) { return of.extent; },
                               [](const std::shared_ptr<const Dictionary>& of) { return of->extent; },
                               [](const std::shared_ptr<Iterator>& of) { return of->extent; },
                               [](const std::shared_ptr<const Callable>& of) { return of->extent; },
                               [](const std::shared_ptr<const Loop>& of) { return of->extent; },
                               [](const auto&) { return Extent(); }},
                    value.content());
}

Extent extent_of_all(const Values& items) {
  Extent extent{.depth = 1};
  for (const Value& item : items) enclose(extent, item);
  return extent;
}

std::string_view type_name(const Value& value) {
  constexpr std::string_view names[] = {"undefined", "None", "bool",      "int",       "float",    "str",
                                        "",          "dict", "generator", "namespace", "function", "loop"};
  constexpr std::string_view sequences[] = {"list", "tuple", "range", "dict_keys", "dict_values", "dict_items"};
  if (value.is<Sequence>()) return sequences[static_cast<size_t>(value.as<Sequence>().kind)];
  return names[value.content().index()];
}

bool truth(const Value& value) {
  return std::visit(Overloaded{[](const Undefined&) { return false; }, [](const None&) { return false; },
                               [](bool of) { return of; }, [](int64_t of) { return of != 0; },
                               [](double of) { return of != 0; }, [](const Value::Text& of) { return !of->empty(); },
                               [](const Sequence& of) { return !of.items->empty(); },
                               [](const std::shared_ptr<const Dictionary>& of) { return !of->items.empty(); },
                               [](const auto&) { return true; }},
                    value.content());
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.content().index() != b.content().index()) return false;
  if (a.is_undefined() || a.is_none()) return true;
  if (a.is_text()) return a.text() == b.text();
  if (a.is_dictionary()) return equal(a.dictionary(), b.dictionary());
  if (a.is<Sequence>()) {
    const Sequence &x = a.as<Sequence>(), &y = b.as<Sequence>();
    check((x.kind != Sequence::Kind::keys && x.kind != Sequence::Kind::items) || x.kind != y.kind,
          "{} can't be compared here; make lists of them", type_name(a));
    return x.kind == y.kind && (x.kind != Sequence::Kind::values || x.items == y.items) &&
           std::equal(x.items->begin(), x.items->end(), y.items->begin(), y.items->end(),
                      [](const Value& one, const Value& other) { return equal(one, other); });
  }
  if (a.is<std::shared_ptr<Iterator>>()) return a.as<std::shared_ptr<Iterator>>() == b.as<std::shared_ptr<Iterator>>();
  if (a.is<std::shared_ptr<Namespace>>())
    return a.as<std::shared_ptr<Namespace>>() == b.as<std::shared_ptr<Namespace>>();
  fail("a {} can't be compared", type_name(a));
}

bool less(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == -1;
  if (a.is_text() && b.is_text()) return a.text() < b.text();  // bytes of UTF-8 are in the order of characters
  if ((a.is_list() && b.is_list()) || (a.is_tuple() && b.is_tuple())) {
    const Values &x = a.items(), &y = b.items();
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i)
      if (!equal(x[i], y[i])) return less(x[i], y[i]);
    return x.size() < y.size();
  }
  for (const Value* value : {&a, &b})
    if (value->is_undefined()) fail("{}", *value->as<Undefined>().reason);
  fail("{} and {} have no order", type_name(a), type_name(b));
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  // The shortest digits that give the number back, with an exponent where Python has one.
  char buffer[40];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string text(buffer, end);
  const size_t e = text.find('e');
  const int exponent = std::stoi(text.substr(e + 1));
  if (exponent < -4 || exponent >= 16) return text;
  const bool negative = text[0] == '-';
  std::string digits;
  for (char c : text.substr(0, e))
    if (c >= '0' && c <= '9') digits += c;
  if (exponent < 0) {
    digits.insert(0, static_cast<size_t>(-exponent), '0');
    digits.insert(1, ".");
  } else {
    const auto whole = static_cast<size_t>(exponent) + 1;
    if (digits.size() < whole) digits.append(whole - digits.size(), '0');
    digits.insert(whole, digits.size() == whole ? ".0" : ".");
  }
  return (negative ? "-" : "") + digits;
}

std::string to_text(const Value& value) {
  if (value.is_text()) return value.text();
  return value.is_undefined() ? std::string() : representation(value);
}

std::string representation(const Value& value) {
  return std::visit(
      Overloaded{
          [](const Undefined&) { return std::string("Undefined"); }, [](const None&) { return std::string("None"); },
          [](bool of) { return std::string(of ? "True" : "False"); }, [](int64_t of) { return fmt::format("{}", of); },
          [](double of) { return float_text(of); }, [](const Value::Text& of) { return quoted_text(*of); },
          [](const Sequence& of) { return representation(of); },
          [](const std::shared_ptr<const Dictionary>& of) { return representation(*of); },
          [&](const auto&) -> std::string { fail("a {} has no text of use", type_name(value)); }},
      value.content());
}

}  // namespace vkformer::jinja
