#include "models/constraint/json_schema.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "models/constraint/grammar.h"
#include "models/constraint/integer_range.h"
#include "models/constraint/json_rules.h"
#include "models/constraint/pattern_grammar.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using Json = nlohmann::ordered_json;

/// Say what a text means, not what it may be.
const std::set<std::string, std::less<>> notes{
    "title",    "description",     "default",          "examples",   "$schema",  "$id",
    "$comment", "$defs",           "definitions",      "deprecated", "readOnly", "writeOnly",
    "$anchor",  "contentEncoding", "contentMediaType", "$vocabulary"};

class SchemaWriter {
 public:
  SchemaWriter(const Json& schema, const std::string& name) : whole_(schema), name_(name) {}

  std::string write() {
    const std::string root = part(whole_, "");
    std::string text = "root ::= " + root + "\n";
    for (const auto& [rule, body] : rules_) text += fmt::format("{} ::= {}\n", rule, body);
    return with_json_rules(text);
  }

 private:
  static constexpr int deepest = 400;

  [[noreturn]] void refuse(const std::string& place, const std::string& why) const {
    fail("{}{}: {}", name_, place.empty() ? "" : ", " + printable(place), why);
  }

  std::string add_rule(const std::string& body) {
    const std::string rule = fmt::format("part-{}", rules_.size());
    rules_.emplace_back(rule, body);
    return rule;
  }

  /// What stands for a schema in a rule: a group, or the name of a rule.
  std::string part(const Json& schema, const std::string& place) {
    if (++depth_ > deepest) refuse(place, "schemas are too deep in each other");
    std::string result = part_of(schema, place);
    --depth_;
    return result;
  }

  std::string part_of(const Json& schema, const std::string& place) {
    if (schema.is_boolean()) {
      if (!schema.get<bool>()) refuse(place, "false takes nothing");
      return "value";
    }
    if (!schema.is_object()) refuse(place, "a schema is an object, true or false");
    std::set<std::string> known;
    const std::string result = by_keywords(schema, place, known);
    for (const auto& [key, value] : schema.items())
      if (!known.contains(key) && !notes.contains(key))
        refuse(place, fmt::format("{} is not supported here; leave it out", in_quotes(key)));
    return result;
  }

  std::string by_keywords(const Json& schema, const std::string& place, std::set<std::string>& known) {
    const auto has = [&](const char* key) {
      if (!schema.contains(key)) return false;
      known.insert(key);
      return true;
    };
    if (has("$ref")) return reference(schema["$ref"], place);
    if (has("const")) {
      has("type");
      return gbnf_literal(schema["const"].dump());
    }
    if (has("enum")) {
      has("type");
      return literals(schema["enum"], place);
    }
    for (const char* key : {"anyOf", "oneOf", "allOf"})
      if (has(key)) return one_of(schema[key], place + "/" + key, std::string_view(key) == "allOf");
    if (!has("type")) {
      if (schema.contains("properties") || schema.contains("required") || schema.contains("additionalProperties"))
        return object(schema, place, known);
      if (schema.contains("items") || schema.contains("prefixItems")) return array(schema, place, known);
      if (schema.contains("pattern") || schema.contains("minLength") || schema.contains("maxLength") ||
          schema.contains("format"))
        return string(schema, place, known);
      return "value";
    }
    if (schema["type"].is_array()) {
      std::string all;
      for (const Json& type : schema["type"]) all += (all.empty() ? "" : " | ") + typed(type, schema, place, known);
      if (all.empty()) refuse(place, "\"type\" is an empty list");
      return "(" + all + ")";
    }
    return typed(schema["type"], schema, place, known);
  }

  std::string typed(const Json& type, const Json& schema, const std::string& place, std::set<std::string>& known) {
    if (type == "object") return object(schema, place, known);
    if (type == "array") return array(schema, place, known);
    if (type == "string") return string(schema, place, known);
    if (type == "integer") return integer(schema, place, known);
    if (type == "number" || type == "boolean" || type == "null") return type;
    refuse(place, fmt::format("there is no type {}", printable(type.dump(), 60)));
  }

  std::string literals(const Json& list, const std::string& place) {
    if (!list.is_array() || list.empty()) refuse(place, "\"enum\" is no list of values");
    std::string all;
    for (const Json& value : list) all += (all.empty() ? "" : " | ") + gbnf_literal(value.dump());
    return "(" + all + ")";
  }

  std::string one_of(const Json& list, const std::string& place, bool all_of) {
    if (!list.is_array() || list.empty()) refuse(place, "it is no list of schemas");
    if (all_of && list.size() > 1) refuse(place, "only one schema is supported; write them as one");
    std::string all;
    for (size_t i = 0; i < list.size(); ++i)
      all += (i == 0 ? "" : " | ") + part(list[i], fmt::format("{}/{}", place, i));
    return "(" + all + ")";
  }

  /// By a rule of its own, which may ask for itself.
  std::string reference(const Json& target, const std::string& place) {
    if (!target.is_string() || !target.get<std::string>().starts_with("#"))
      refuse(place, "\"$ref\" must point into the schema, as #/$defs/name does");
    const std::string pointer = target.get<std::string>().substr(1);
    if (const auto found = references_.find(pointer); found != references_.end()) return found->second;
    const Json* found = nullptr;
    try {
      const Json::json_pointer path(pointer);
      if (whole_.contains(path)) found = &whole_.at(path);
    } catch (const nlohmann::json::exception&) {
      refuse(place, fmt::format("{} is no place in a schema", in_quotes(pointer)));
    }
    if (!found) refuse(place, fmt::format("the schema has no {}", in_quotes(pointer)));
    const std::string rule = add_rule("");
    const size_t index = rules_.size() - 1;
    references_[pointer] = rule;
    const std::string body = part(*found, pointer);
    if (body == rule) refuse(pointer, "it refers to itself");
    rules_[index].second = body;
    return rule;
  }

  int64_t count_of(const Json& schema, const char* key, const std::string& place) const {
    const Json& value = schema[key];
    constexpr int64_t most = 100'000;
    if (!value.is_number_integer() || value < 0 || value > most)
      refuse(place, fmt::format("\"{}\" must be a whole number from 0 to {}", key, most));
    return value;
  }

  /// How often what is counted by `least` and `most` comes, less `before`.
  std::string times_of(const Json& schema, const char* least, const char* most, const std::string& place,
                       std::set<std::string>& known, int64_t before = 0) {
    known.insert({least, most});
    const int64_t from = schema.contains(least) ? count_of(schema, least, place) : 0;
    const bool limited = schema.contains(most);
    const int64_t to = limited ? count_of(schema, most, place) : 0;
    if (limited && to < from) refuse(place, fmt::format("\"{}\" is less than \"{}\"", most, least));
    const int64_t rest = std::max<int64_t>(from - before, 0);
    return limited ? fmt::format("{{{},{}}}", rest, std::max<int64_t>(to - before, 0)) : fmt::format("{{{},}}", rest);
  }

  std::string string(const Json& schema, const std::string& place, std::set<std::string>& known) {
    if (schema.contains("pattern")) {
      known.insert("pattern");
      if (!schema["pattern"].is_string()) refuse(place, "\"pattern\" is no text");
      const std::string where = fmt::format("{}{}, pattern", name_, place.empty() ? "" : ", " + printable(place));
      return fmt::format(R"("\"" ({}) "\"")", gbnf_of_pattern(schema["pattern"].get<std::string>(), "chars", where));
    }
    if (schema.contains("format")) {
      known.insert("format");
      const std::string format = schema["format"].is_string() ? schema["format"].get<std::string>() : "";
      if (format == "date-time") return R"("\"" date "T" time "\"")";
      if (format != "date" && format != "time" && format != "uuid")
        refuse(place, fmt::format("format {} is not supported (date, time, date-time and uuid are); leave it out",
                                  in_quotes(format)));
      return fmt::format(R"("\"" {} "\"")", format);
    }
    if (!schema.contains("minLength") && !schema.contains("maxLength")) return "string";
    return fmt::format(R"("\"" char{} "\"")", times_of(schema, "minLength", "maxLength", place, known));
  }

  std::optional<int64_t> bound(const Json& schema, const char* key, const std::string& place,
                               std::set<std::string>& known) const {
    if (!schema.contains(key)) return std::nullopt;
    known.insert(key);
    const Json& value = schema[key];
    const auto number = value.is_number() ? value.get<double>() : 0.5;
    constexpr double most = 1e15;
    if (number != std::floor(number) || std::abs(number) > most)
      refuse(place, fmt::format("\"{}\" of an integer must be a whole number of at most 15 digits", key));
    return static_cast<int64_t>(number);
  }

  std::string integer(const Json& schema, const std::string& place, std::set<std::string>& known) {
    auto first = bound(schema, "minimum", place, known), last = bound(schema, "maximum", place, known);
    if (const auto above = bound(schema, "exclusiveMinimum", place, known))
      first = std::max(first.value_or(INT64_MIN), *above + 1);
    if (const auto below = bound(schema, "exclusiveMaximum", place, known))
      last = std::min(last.value_or(INT64_MAX), *below - 1);
    if (!first && !last) return "integer";
    const std::string range = gbnf_of_integers(first, last);
    if (range.empty()) refuse(place, "no integer is in these bounds");
    return "(" + range + ")";
  }

  std::string array(const Json& schema, const std::string& place, std::set<std::string>& known) {
    // What each begins with, then what goes on with more.
    std::string fixed;
    int64_t count = 0;
    const char* tuple = schema.contains("prefixItems")                           ? "prefixItems"
                        : schema.contains("items") && schema["items"].is_array() ? "items"
                                                                                 : nullptr;
    if (tuple) {
      known.insert(tuple);
      if (!schema[tuple].is_array()) refuse(place, fmt::format("\"{}\" is no list of schemas", tuple));
      for (const Json& item : schema[tuple])
        fixed += (count == 0 ? "" : " \",\" space ") + part(item, fmt::format("{}/{}/{}", place, tuple, count)),
            ++count;
    }
    // Of what comes behind the tuple or, where there is none, behind the first.
    const std::string times = times_of(schema, "minItems", "maxItems", place, known, std::max<int64_t>(count, 1));
    const auto bound_of = [&](const char* key, int64_t otherwise) {
      return schema.contains(key) ? schema[key].get<int64_t>() : otherwise;
    };
    const int64_t least = bound_of("minItems", 0), most = bound_of("maxItems", INT64_MAX);
    const bool has_items = schema.contains("items") && !schema["items"].is_array();
    known.insert("items");
    // Behind a tuple nothing comes that nobody asked for.
    const bool more = has_items ? schema["items"] != Json(false) : tuple == nullptr || count < least;
    if (count > most || (!more && count < least))
      refuse(place, fmt::format("lists of {} items are not between \"minItems\" and \"maxItems\"", count));
    const std::string item = !more ? "" : add_rule(has_items ? part(schema["items"], place + "/items") : "value");
    // All of a tuple comes: models write what they are asked for.
    if (count > 0)
      return fmt::format(R"("[" space {}{} space "]")", fixed,
                         more ? fmt::format(R"( ("," space {}){})", item, times) : "");
    if (!more || most == 0) return R"("[" space "]")";
    return fmt::format(R"("[" space ({0} ("," space {0}){1} space){2} "]")", item, times, least == 0 ? "?" : "");
  }

  /// A JSON text that is none of these names, which are as JSON writes them; those that begin like one of them are
  /// written without escapes up to where they differ.
  std::string other_name(const std::set<std::string>& names) {
    std::map<std::string, std::set<std::string>> by_first;  // what follows the first character of each
    bool whole = false;
    for (const std::string& name : names) {
      if (name.empty()) {
        whole = true;
        continue;
      }
      const size_t length = read_utf8(name, 0).length;
      by_first[name.substr(0, length)].insert(name.substr(length));
    }
    std::string others = R"([^"\\\x7F\x00-\x1F)", choices;
    for (const auto& [first, rest] : by_first) {
      if (first != "\\" && first != "\"")
        others += (first == "]" || first == "-" || first == "^" || first == "[" ? "\\" : "") + first;
      choices += fmt::format(" | {} {}", gbnf_literal(first), other_name(rest));
    }
    return add_rule(others + "] char*" + choices + (whole ? "" : " | \"\""));
  }

  std::string object(const Json& schema, const std::string& place, std::set<std::string>& known) {
    known.insert({"properties", "required", "additionalProperties"});
    std::set<std::string> required;
    if (schema.contains("required")) {
      if (!schema["required"].is_array()) refuse(place, "\"required\" is no list of names");
      for (const Json& property : schema["required"]) {
        if (!property.is_string()) refuse(place, "\"required\" is no list of names");
        required.insert(property.get<std::string>());
      }
    }
    struct Member {
      std::string text;
      bool required;
    };
    std::vector<Member> members;
    std::set<std::string> listed;
    const bool has_properties = schema.contains("properties");
    if (has_properties) {
      if (!schema["properties"].is_object()) refuse(place, "\"properties\" is no object");
      for (const auto& [property, value] : schema["properties"].items()) {
        const std::string quoted = Json(property).dump();
        const std::string text = part(value, place + "/properties/" + property);
        members.push_back(
            {add_rule(fmt::format("{} \":\" space {}", gbnf_literal(quoted), text)), required.contains(property)});
        listed.insert(quoted.substr(1, quoted.size() - 2));
      }
    }
    for (const std::string& property : required)
      if (!has_properties || !schema["properties"].contains(property))
        refuse(place, fmt::format("{} is required, but no property", in_quotes(property)));
    // Others come last.
    std::string others;
    if (schema.contains("additionalProperties") ? schema["additionalProperties"] != Json(false) : !has_properties) {
      const std::string value = schema.contains("additionalProperties")
                                    ? part(schema["additionalProperties"], place + "/additionalProperties")
                                    : "value";
      const std::string name = listed.empty() ? "string" : fmt::format(R"("\"" {} "\"")", other_name(listed));
      others = add_rule(fmt::format("{} \":\" space {}", name, value));
    }
    // From the last: what may come from each member on, where one has come and where none has.
    std::string behind = others.empty() ? "" : fmt::format("(\",\" space {})*", others);
    std::string at_first = others.empty() ? "" : fmt::format("({} {})?", others, behind);
    for (auto member = members.rbegin(); member != members.rend(); ++member) {
      const std::string rest = behind.empty() ? "" : add_rule(behind);
      const std::string skipped = at_first.empty() ? "" : add_rule(at_first);
      const std::string first = fmt::format("{} {}", member->text, rest);
      const std::string later = fmt::format("\",\" space {} {}", member->text, rest);
      at_first = member->required ? first : fmt::format("{} | {}", first, skipped);
      behind = member->required ? later : fmt::format("{} | {}", later, rest);
    }
    return fmt::format("\"{{\" space ({}) space \"}}\"", at_first);
  }

  const Json& whole_;
  const std::string& name_;
  std::vector<std::pair<std::string, std::string>> rules_;
  std::map<std::string, std::string> references_;  ///< rules by place
  int depth_ = 0;
};

}  // namespace

std::string gbnf_of_schema(const nlohmann::ordered_json& schema, const std::string& name) {
  return SchemaWriter(schema, name).write();
}

std::string gbnf_of_schema_text(const std::string& text, const std::string& name) {
  JsonObject::parse(text, name);  // which says where it is wrong
  return gbnf_of_schema(Json::parse(text), name);
}

}  // namespace vkformer
