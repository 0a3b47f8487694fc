// str.strip() and the like.

#include <algorithm>
#include <map>

#include "models/chat/jinja/arguments.h"
#include "models/chat/jinja/methods.h"
#include "models/chat/jinja/operations.h"
#include "models/chat/jinja/python_text.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer::jinja {

namespace {

Value list_of(Budget& budget, std::vector<std::string> parts) {
  budget.make(parts.size() * (sizeof(Value) + sizeof(std::string)));
  Values items;
  for (std::string& part : parts) items.emplace_back(std::move(part));
  return Value::list(std::move(items));
}

template <Side side>
Value strip_method(Budget&, const Value& object, const Arguments& arguments) {
  const Parameters given("a text's strip", arguments, {"chars"});
  if (!given.find_or_none(0)) return strip(object.text(), side);
  return strip(object.text(), side, given.text(0));
}

template <bool from_right>
Value split_method(Budget& budget, const Value& object, const Arguments& arguments) {
  const Parameters given("a text's split", arguments, {"sep", "maxsplit"});
  const int64_t most = given.integer_or(1, -1);
  if (!given.find_or_none(0)) return list_of(budget, split(object.text(), most, from_right));
  check(!given.text(0).empty(), "a text can't be split at an empty one");
  return list_of(budget, split(object.text(), given.text(0), most, from_right));
}

Value splitlines(Budget& budget, const Value& object, const Arguments& arguments) {
  const Parameters given("a text's splitlines", arguments, {"keepends"});
  return list_of(budget, split_lines(object.text(), given.truth_or(0, false)));
}

/// The part of a text that the optional arguments `first` and the one behind it leave.
std::string part_of(Budget& budget, const Value& object, const Parameters& given, size_t first) {
  const auto bound = [&](size_t index) { return given.find(index) ? *given.find(index) : Value(); };
  if (!given.find(first) && !given.find(first + 1)) return object.text();
  return slice(budget, object, bound(first), bound(first + 1), Value()).text();
}

template <bool at_end>
Value starts_method(Budget& budget, const Value& object, const Arguments& arguments) {
  const Parameters given(at_end ? "a text's endswith" : "a text's startswith", arguments, {"prefix", "start", "end"});
  const Value& wanted = given.required(0);
  const std::string text = part_of(budget, object, given, 1);
  const auto matches = [&](const Value& part) {
    check(part.is_text(), "a text can begin and end with a text, not with a {}", type_name(part));
    return at_end ? text.ends_with(part.text()) : text.starts_with(part.text());
  };
  if (!wanted.is_tuple()) return matches(wanted);
  budget.step(extent_of(wanted).weight);
  return std::ranges::any_of(wanted.items(), matches);
}

Value replace_method(Budget& budget, const Value& object, const Arguments& arguments) {
  const Parameters given("a text's replace", arguments, {"old", "new", "count"});
  return replaced(budget, object.text(), given.text(0), given.text(1), given.integer_or(2, -1));
}

template <std::string (*change)(std::string_view)>
Value changed(Budget& budget, const Value& object, const Arguments& arguments) {
  Parameters("a text's method", arguments, {});
  budget.make(3 * object.text().size());
  return change(object.text());
}

template <CharacterClass which>
Value is_method(Budget&, const Value& object, const Arguments& arguments) {
  Parameters("a text's method", arguments, {});
  return all_are(object.text(), which);
}

/// The character at which a part stands, or -1.
template <bool from_right>
Value find_method(Budget&, const Value& object, const Arguments& arguments) {
  const Parameters given("a text's find", arguments, {"sub"});
  const std::string& text = object.text();
  const size_t at = from_right ? rfind(text, given.text(0)) : find(text, given.text(0));
  return at == text.npos ? int64_t{-1} : length(std::string_view(text).substr(0, at));
}

Value index_method(Budget& budget, const Value& object, const Arguments& arguments) {
  Value found = find_method<false>(budget, object, arguments);
  check(found.integer() >= 0, "the text that index() looks for is not there");
  return found;
}

Value count_method(Budget&, const Value& object, const Arguments& arguments) {
  return count(object.text(), Parameters("a text's count", arguments, {"sub"}).text(0));
}

Value join_method(Budget& budget, const Value& object, const Arguments& arguments) {
  const Parameters given("a text's join", arguments, {"iterable"});
  const Values items = iterate(budget, given.required(0));
  for (const Value& item : items) check(item.is_text(), "join() of a text takes texts, not {}", type_name(item));
  return joined(budget, items, object.text());
}

Value removeprefix(Budget&, const Value& object, const Arguments& arguments) {
  const std::string prefix = Parameters("a text's removeprefix", arguments, {"prefix"}).text(0);
  return object.text().starts_with(prefix) ? object.text().substr(prefix.size()) : object.text();
}

Value removesuffix(Budget&, const Value& object, const Arguments& arguments) {
  const std::string suffix = Parameters("a text's removesuffix", arguments, {"suffix"}).text(0);
  const std::string& text = object.text();
  return text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text;
}

/// The argument that a field of format() names: by its place, by its name or, without either, the next one.
const Value& formatted_argument(const Arguments& arguments, std::string_view field, size_t& next) {
  const auto named = std::ranges::find(arguments.named, field, &std::pair<std::string, Value>::first);
  if (named != arguments.named.end()) return named->second;
  constexpr size_t most_digits = 6;
  const bool number = field.size() <= most_digits && field.find_first_not_of("0123456789") == field.npos;
  check(number, "format() has no argument {} for its text; {{}}, {{0}} and {{name}} are supported", in_quotes(field));
  const size_t index = field.empty() ? next++ : std::stoul(std::string(field));
  check(index < arguments.positional.size(), "format() has {} arguments, and its text asks for more",
        arguments.positional.size());
  return arguments.positional[index];
}

Value format_method(Budget& budget, const Value& object, const Arguments& arguments) {
  const std::string& text = object.text();
  std::string result;
  size_t next = 0;
  bool counted = false, numbered = false;
  for (size_t at = 0; at < text.size();) {
    const size_t brace = std::min(text.find_first_of("{}", at), text.size());
    result.append(text, at, brace - at);
    if (brace == text.size()) break;
    if (text.substr(brace + 1, 1) == text.substr(brace, 1)) {  // two stand for one
      result += text[brace];
      at = brace + 2;
      continue;
    }
    const size_t end = text.find('}', brace);
    check(text[brace] == '{' && end != text.npos, "format() finds a single '{}' in its text", text[brace]);
    const std::string_view field = std::string_view(text).substr(brace + 1, end - brace - 1);
    (field.empty() ? counted : numbered) |= field.find_first_not_of("0123456789") == field.npos;
    check(!counted || !numbered, "format() takes either {{}} or numbers, not both");
    result += text_of(budget, formatted_argument(arguments, field, next));
    at = end + 1;
  }
  budget.make(result.size());
  return result;
}

template <bool from_right>
Value partition_method(Budget&, const Value& object, const Arguments& arguments) {
  const std::string separator = Parameters("a text's partition", arguments, {"sep"}).text(0);
  check(!separator.empty(), "a text can't be split at an empty one");
  const std::string& text = object.text();
  const size_t at = from_right ? rfind(text, separator) : find(text, separator);
  if (at != text.npos)
    return Value::tuple({Value(text.substr(0, at)), Value(separator), Value(text.substr(at + separator.size()))});
  const Value none{std::string()};
  return Value::tuple(from_right ? Values{none, none, object} : Values{object, none, none});
}

}  // namespace

Method text_method(std::string_view name) {
  static const std::map<std::string_view, Method> methods = {
      {"strip", strip_method<Side::both>},
      {"lstrip", strip_method<Side::left>},
      {"rstrip", strip_method<Side::right>},
      {"split", split_method<false>},
      {"rsplit", split_method<true>},
      {"splitlines", splitlines},
      {"startswith", starts_method<false>},
      {"endswith", starts_method<true>},
      {"replace", replace_method},
      {"upper", changed<upper>},
      {"lower", changed<lower>},
      {"title", changed<title>},
      {"capitalize", changed<capitalize>},
      {"isspace", is_method<CharacterClass::space>},
      {"isdigit", is_method<CharacterClass::digit>},
      {"isalpha", is_method<CharacterClass::letter>},
      {"isalnum", is_method<CharacterClass::letter_or_number>},
      {"isupper", is_method<CharacterClass::upper>},
      {"islower", is_method<CharacterClass::lower>},
      {"find", find_method<false>},
      {"rfind", find_method<true>},
      {"index", index_method},
      {"count", count_method},
      {"join", join_method},
      {"format", format_method},
      {"removeprefix", removeprefix},
      {"removesuffix", removesuffix},
      {"partition", partition_method<false>},
      {"rpartition", partition_method<true>},
  };
  const auto found = methods.find(name);
  return found == methods.end() ? nullptr : found->second;
}

}  // namespace vkformer::jinja
