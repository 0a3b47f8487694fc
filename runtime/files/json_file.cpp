#include "runtime/files/json_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/json_reader.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

using nlohmann::json;

/// "line 3, column 5" of the byte at `offset`.
std::string place_in(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t newline = before.rfind('\n');
  return fmt::format("line {}, column {}", line, newline == before.npos ? before.size() + 1 : before.size() - newline);
}

/// The parser's message without its "[json.exception.parse_error.101] parse error at line 3, column 5: ".
std::string reason_of(const json::exception& error) {
  const std::string_view message = error.what();
  const size_t colon = message.find(": ");
  const size_t bracket = message.find("] ");
  if (colon != message.npos) return printable(message.substr(colon + 2));
  return printable(bracket == message.npos ? message : message.substr(bracket + 2));
}

const json& require_field(const JsonObject& object, std::string_view key) {
  const auto field = object.value().find(key);
  check(object.has(key), "{}: \"{}\" is missing; add it", object.name(), key);
  return *field;
}

/// The value as a message shows it: scalars as they are, containers by their kind.
std::string shown(const json& value) {
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  return value.is_structured() ? fmt::format("an {}", value.type_name()) : printable(value.dump());
}

/// Throws Error for an object of too many members, in `value` or below it.
void check_members(const json& value, std::string_view name) {
  check(!value.is_object() || value.size() <= json_ordered_limit,
        "{}: an object has {} members; at most {} can be read", printable(name), value.size(), json_ordered_limit);
  if (value.is_structured())
    for (const json& part : value) check_members(part, name);
}

constexpr std::string_view infinity = "Infinity";

/// Python writes numbers without a bound as Infinity, which JSON does not have: here null, of as many characters, so
/// that messages say the right places.
std::string with_null_for_infinity(std::string_view text) {
  std::string result(text);
  bool in_string = false;
  for (size_t i = 0; i < result.size(); ++i) {
    if (result[i] == '"') in_string = !in_string;
    if (in_string && result[i] == '\\') ++i;
    if (in_string || std::string_view(result).substr(i, infinity.size()) != infinity) continue;
    result.replace(i, infinity.size(), "null    ");
    if (i > 0 && result[i - 1] == '-') result[i - 1] = ' ';
  }
  return result;
}

}  // namespace

json parse_json(std::string_view text, std::string_view name) {
  try {
    JsonReader reader(name);
    json::sax_parse(text.begin(), text.end(), &reader);
    return reader.take();
  } catch (const json::parse_error& error) {
    const size_t offset = error.byte == 0 ? 0 : error.byte - 1;
    fail("{}: not valid JSON at {} ({}); correct it or download it again", printable(name), place_in(text, offset),
         reason_of(error));
  } catch (const json::exception& error) {
    fail("{}: not valid JSON ({}); correct it or download it again", printable(name), reason_of(error));
  }
}

nlohmann::ordered_json parse_json_in_order(std::string_view text, std::string_view name) {
  check_members(parse_json(text, name), name);
  return nlohmann::ordered_json::parse(text.begin(), text.end());
}

JsonObject::JsonObject(std::shared_ptr<const json> file, const json* here, std::string name)
    : file_(std::move(file)), here_(here), name_(std::move(name)) {}

JsonObject JsonObject::load(const std::filesystem::path& path, size_t size_limit) {
  const MappedFile file(path);
  check(file.bytes().size() <= size_limit, "{}: {} bytes are more than a JSON file may have here ({}); check the path",
        printable(path.generic_string()), file.bytes().size(), size_limit);
  if (file.text().find(infinity) == std::string_view::npos) return parse(file.text(), path.generic_string());
  return parse(with_null_for_infinity(file.text()), path.generic_string());
}

JsonObject JsonObject::parse(std::string_view text, std::string name) {
  name = printable(name);
  json value = parse_json(text, name);
  return make(std::move(value), std::move(name));
}

JsonObject JsonObject::make(json value, std::string name) {
  const auto file = std::make_shared<const json>(std::move(value));
  check(file->is_object(), "{}: the file holds {}, not a JSON object {{...}}; check that it is the right file", name,
        shown(*file));
  return {file, file.get(), std::move(name)};
}

bool JsonObject::has(std::string_view key) const { return contains(key) && !here_->find(key)->is_null(); }

bool JsonObject::contains(std::string_view key) const {
  if (asked_) asked_->emplace(key);
  return here_->contains(key);
}

int64_t require_integer(const JsonObject& object, std::string_view key, int64_t min, int64_t max) {
  const json& value = require_field(object, key);
  const bool fits =
      value.is_number_unsigned() ? value.get<uint64_t>() <= uint64_t{INT64_MAX} : value.is_number_integer();
  const int64_t number = fits ? value.get<int64_t>() : 0;
  check(fits && number >= min && number <= max, "{}: \"{}\" must be an integer from {} to {}, not {}", object.name(),
        key, min, max, shown(value));
  return number;
}

double require_number(const JsonObject& object, std::string_view key, double min, double max) {
  const json& value = require_field(object, key);
  const double number = value.is_number() ? value.get<double>() : NAN;
  check(number >= min && number <= max, "{}: \"{}\" must be a number from {} to {}, not {}", object.name(), key, min,
        max, shown(value));
  return number;
}

bool require_boolean(const JsonObject& object, std::string_view key) {
  const json& value = require_field(object, key);
  check(value.is_boolean(), "{}: \"{}\" must be true or false, not {}", object.name(), key, shown(value));
  return value.get<bool>();
}

std::string require_string(const JsonObject& object, std::string_view key) {
  const json& value = require_field(object, key);
  check(value.is_string(), "{}: \"{}\" must be a string, not {}", object.name(), key, shown(value));
  return value.get<std::string>();
}

JsonObject require_object(const JsonObject& object, std::string_view key) {
  const json& value = require_field(object, key);
  check(value.is_object(), "{}: \"{}\" must be an object {{...}}, not {}", object.name(), key, shown(value));
  return {object.file_, &value, fmt::format("{}, {}", object.name(), key)};
}

std::vector<JsonObject> require_objects(const JsonObject& object, std::string_view key) {
  const json& value = require_field(object, key);
  check(value.is_array(), "{}: \"{}\" must be an array [...], not {}", object.name(), key, shown(value));
  std::vector<JsonObject> objects;
  for (const json& element : value) {
    const std::string name = fmt::format("{}, {}[{}]", object.name(), key, objects.size());
    check(element.is_object(), "{} must be an object {{...}}, not {}", name, shown(element));
    objects.push_back({object.file_, &element, name});
  }
  return objects;
}

int64_t integer_or(const JsonObject& object, std::string_view key, int64_t otherwise, int64_t min, int64_t max) {
  return object.has(key) ? require_integer(object, key, min, max) : otherwise;
}

double number_or(const JsonObject& object, std::string_view key, double otherwise, double min, double max) {
  return object.has(key) ? require_number(object, key, min, max) : otherwise;
}

bool boolean_or(const JsonObject& object, std::string_view key, bool otherwise) {
  return object.has(key) ? require_boolean(object, key) : otherwise;
}

std::string string_or(const JsonObject& object, std::string_view key, std::string otherwise) {
  return object.has(key) ? require_string(object, key) : otherwise;
}

void write_json(const std::filesystem::path& path, const json& value) {
  std::string text;
  try {
    text = value.dump(2) + '\n';
  } catch (const json::exception& error) {
    fail("cannot write {}: {}; use UTF-8 in names and texts", printable(path.generic_string()), reason_of(error));
  }
  write_file_atomically(path, text);
}

}  // namespace vkformer
