// Each post-processor does what the one of that name in the tokenizers library does.

#include "models/text/post_processors.h"

#include <map>
#include <nlohmann/json.hpp>

#include "models/text/text_part.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

void set_type(Encoding& encoding, int32_t type) { encoding.type_ids.assign(encoding.ids.size(), type); }

size_t tokens_in(const std::vector<Encoding>& texts) {
  size_t tokens = 0;
  for (const Encoding& text : texts) tokens += text.ids.size();
  return tokens;
}

/// A part of a template: one of the texts, or a special token.
struct TemplatePart {
  size_t text = 0;
  std::string special;  ///< its name, or empty
  int32_t type = 0;
};

/// Of a template, and tokens of one special name: templates in use have six of one.
constexpr size_t most_parts = 64;

std::vector<TemplatePart> read_template(const JsonObject& object, const char* key) {
  std::vector<TemplatePart> parts;
  for (const JsonObject& part : require_objects(object, key)) {
    const bool special = part.has("SpecialToken");
    const JsonObject what = require_object(part, special ? "SpecialToken" : "Sequence");
    const std::string id = require_string(what, "id");
    check(special || id == "A" || id == "B", "{}: \"id\" {} is neither A nor B", what.name(), in_quotes(id));
    check(parts.size() < most_parts, "{}: \"{}\" has more than {} parts", object.name(), key, most_parts);
    parts.push_back({.text = id == "B",
                     .special = special ? id : "",
                     .type = static_cast<int32_t>(integer_or(what, "type_id", 0, 0, INT32_MAX))});
  }
  return parts;
}

/// The tokens of each name in "special_tokens".
std::map<std::string, Encoding> read_special_tokens(const JsonObject& object) {
  std::map<std::string, Encoding> specials;
  const JsonObject all = require_object(object, "special_tokens");
  for (const auto& [name, ignored] : all.value().items()) {
    const JsonObject special = require_object(all, name);
    Encoding& encoding = specials[name];
    const auto &ids = special.value().value("ids", nlohmann::json::array()),
               &tokens = special.value().value("tokens", nlohmann::json::array());
    check(ids.is_array() && tokens.is_array() && ids.size() == tokens.size(),
          "{}: \"ids\" and \"tokens\" must be arrays of one length", special.name());
    check(ids.size() <= most_parts, "{}: {} ids are more than {}", special.name(), ids.size(), most_parts);
    for (size_t i = 0; i < ids.size(); ++i) {
      check(ids[i].is_number_unsigned() && ids[i] <= INT32_MAX && tokens[i].is_string(),
            "{}: \"ids\" must hold numbers, \"tokens\" strings", special.name());
      encoding.ids.push_back(ids[i].get<int32_t>());
      encoding.tokens.push_back(tokens[i].get<std::string>());
    }
  }
  return specials;
}

PostProcessor make_template(const JsonObject& object) {
  const auto single = read_template(object, "single"), pair = read_template(object, "pair");
  const auto specials = read_special_tokens(object);
  for (const auto* parts : {&single, &pair})
    for (const TemplatePart& part : *parts)
      check(part.special.empty() || specials.contains(part.special), "{}: {} is not among \"special_tokens\"",
            object.name(), in_quotes(part.special));
  for (const TemplatePart& part : single)
    check(part.text == 0, "{}: \"single\" has the text B, which only a pair has", object.name());
  return [single, pair, specials](const std::vector<Encoding>& texts, bool add_special) {
    std::vector<Encoding> result;
    for (const TemplatePart& part : texts.size() > 1 ? pair : single) {
      if (!part.special.empty() && !add_special) continue;
      result.push_back(part.special.empty() ? texts.at(part.text) : specials.at(part.special));
      set_type(result.back(), part.type);
    }
    return result;
  };
}

/// A special token as BertProcessing and RobertaProcessing have it: ["[CLS]", 101].
Encoding named_token(const JsonObject& object, const char* key) {
  const nlohmann::json token = object.value().value(key, nlohmann::json());
  check(token.is_array() && token.size() == 2 && token[0].is_string() && token[1].is_number_unsigned() &&
            token[1] <= INT32_MAX,
        "{}: \"{}\" must be a token and its id", object.name(), key);
  return {.ids = {token[1].get<int32_t>()}, .type_ids = {0}, .tokens = {token[0].get<std::string>()}};
}

PostProcessor make_bert(const JsonObject& object) {
  return [begin = named_token(object, "cls"), end = named_token(object, "sep")](std::vector<Encoding> texts,
                                                                                bool add_special) {
    if (!add_special) return texts;
    std::vector<Encoding> result;
    for (size_t i = 0; i < texts.size(); ++i) {
      if (i == 0) result.push_back(begin);
      result.push_back(texts[i]);
      result.push_back(end);
      set_type(result.back(), static_cast<int32_t>(i));
    }
    return result;
  };
}

PostProcessor make_roberta(const JsonObject& object) {
  return [begin = named_token(object, "cls"), end = named_token(object, "sep")](std::vector<Encoding> texts,
                                                                                bool add_special) {
    for (Encoding& text : texts) set_type(text, 0);
    if (!add_special) return texts;
    std::vector<Encoding> result;
    for (size_t i = 0; i < texts.size(); ++i) {
      result.push_back(i == 0 ? begin : end);
      result.push_back(texts[i]);
      result.push_back(end);
    }
    return result;
  };
}

}  // namespace

void Encoding::append(const Encoding& other) {
  ids.insert(ids.end(), other.ids.begin(), other.ids.end());
  type_ids.insert(type_ids.end(), other.type_ids.begin(), other.type_ids.end());
  tokens.insert(tokens.end(), other.tokens.begin(), other.tokens.end());
  spans.insert(spans.end(), other.spans.begin(), other.spans.end());
}

Encoding Encoding::part(size_t begin, size_t end) const {
  const auto taken = [&](const auto& all) {
    const auto first = all.begin();
    return all.empty() ? all
                       : std::decay_t<decltype(all)>(first + static_cast<ptrdiff_t>(begin),
                                                     first + static_cast<ptrdiff_t>(end));
  };
  return {taken(ids), taken(type_ids), taken(tokens), taken(spans)};
}

namespace {

PostProcessor make_one_processor(const JsonObject& object) {
  const std::string type = require_string(object, "type");
  if (type == "TemplateProcessing") return make_template(object);
  if (type == "BertProcessing") return make_bert(object);
  if (type == "RobertaProcessing") return make_roberta(object);
  // This one changes only where tokens lie in the text, which is not kept here.
  if (type == "ByteLevel") return [](std::vector<Encoding> texts, bool) { return texts; };
  fail("{}: post-processors of type {} are not supported", object.name(), in_quotes(type));
}

/// Sequences in sequences, too, as one.
void add_processors(const JsonObject& object, std::vector<PostProcessor>& steps) {
  if (require_string(object, "type") != "Sequence") return steps.push_back(make_one_processor(object));
  for (const JsonObject& step : require_objects(object, "processors")) add_processors(step, steps);
}

}  // namespace

PostProcessor make_post_processor(const JsonObject& object) {
  std::vector<PostProcessor> steps;
  add_processors(object, steps);
  return [steps](std::vector<Encoding> texts, bool add_special) {
    const size_t before = tokens_in(texts);
    for (const PostProcessor& step : steps) {
      texts = step(std::move(texts), add_special);
      check_growth(before, tokens_in(texts));
    }
    return texts;
  };
}

}  // namespace vkformer
