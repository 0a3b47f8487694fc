#include "models/text/languages.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using nlohmann::json;

constexpr std::string_view marian_mark = ">>", fairseq_mark = "__";

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

/// "fr_XX", "fra_Latn"
bool has_script_or_place(std::string_view token) {
  const size_t mark = token.find('_');
  if (mark == token.npos || !std::ranges::all_of(token.substr(0, mark), is_lower)) return false;
  const std::string_view rest = token.substr(mark + 1);
  if (mark == 2) return rest.size() == 2 && std::ranges::all_of(rest, is_upper);
  return mark == 3 && rest.size() == 4 && is_upper(rest[0]) && std::ranges::all_of(rest.substr(1), is_lower);
}

bool names_language(std::string_view token) {
  if (is_written_language(token)) return true;
  if (!token.starts_with(fairseq_mark)) return has_script_or_place(token);
  return token.size() > 4 && token.ends_with(fairseq_mark) && token.size() <= 7 &&
         std::ranges::all_of(language_setting(token), is_lower);
}

/// The parts of the template around one text; none of a tokenizer without one.
json single_of(const JsonObject& tokenizer) {
  const json processor = tokenizer.value().value("post_processor", json());
  return processor.is_object() ? processor.value("single", json::array()) : json::array();
}

/// The name of a part that is a token, or "".
std::string token_in(const json& part) {
  const json token = part.is_object() ? part.value("SpecialToken", json()) : json();
  return token.is_object() && token.contains("id") && token["id"].is_string() ? token["id"].get<std::string>() : "";
}

}  // namespace

bool is_written_language(std::string_view token) {
  return token.size() > 4 && token.starts_with(marian_mark) && token.ends_with("<<");
}

std::string_view language_setting(std::string_view token) {
  const bool marked = token.starts_with(marian_mark) || token.starts_with(fairseq_mark);
  return marked ? token.substr(2, token.size() - 4) : token;
}

Languages::Languages(const JsonObject& tokenizer) : name_(tokenizer.name()) {
  for (const json& token : tokenizer.value().value("added_tokens", json::array())) {
    const json text = token.is_object() ? token.value("content", json()) : json(),
               id = token.is_object() ? token.value("id", json()) : json();
    if (text.is_string() && id.is_number_integer() && names_language(text.get<std::string>()))
      tokens_.push_back({text.get<std::string>(), id.get<uint64_t>()});
  }
  if (tokens_.empty()) return;
  if (is_written_language(tokens_.front().text)) place_ = Place::written;
  const json single = single_of(tokenizer);
  if (single.empty()) return;
  for (const Place place : {Place::before, Place::behind}) {
    const std::string special = token_in(place == Place::before ? single.front() : single.back());
    if (!names_language(special)) continue;
    place_ = place;
    own_ = special;
  }
}

bool Languages::contains(int64_t id) const {
  return std::ranges::any_of(tokens_, [&](const TemplateToken& token) { return static_cast<int64_t>(token.id) == id; });
}

const TemplateToken& Languages::find(std::string_view name) const {
  check(!tokens_.empty(), "{} has no tokens of languages, of which one could be {}; leave languages out", name_,
        in_quotes(name));
  const TemplateToken* begins = nullptr;
  bool several = false;
  for (const TemplateToken& token : tokens_) {
    if (token.text == name || language_setting(token.text) == name) return token;
    if (!language_setting(token.text).starts_with(std::string(name) + '_')) continue;
    several = begins != nullptr;
    begins = &token;
  }
  if (begins != nullptr && !several) return *begins;
  // Of two hundred those that may have been meant.
  std::vector<std::string_view> known;
  for (const TemplateToken& token : tokens_)
    if (tokens_.size() <= 60 || (!name.empty() && language_setting(token.text).front() == name.front()))
      known.push_back(language_setting(token.text));
  fail("{}: {} is {} of its {} languages{}{}", name_, in_quotes(name), several ? "the beginning of several" : "none",
       tokens_.size(), known.empty() ? "" : "; there are ", fmt::join(known, ", "));
}

JsonObject Languages::tokenizer_of(const JsonObject& tokenizer, const TemplateToken& language) const {
  check(of_texts(), "{}: its texts have no token of their own language; leave {} out", name_, in_quotes(language.text));
  (void)require_object(require_object(tokenizer, "post_processor"), "special_tokens");
  json changed = tokenizer.value();
  json& processor = changed["post_processor"];
  for (const char* form : {"single", "pair"})
    for (json& part : processor[form])
      if (names_language(token_in(part))) part["SpecialToken"]["id"] = language.text;
  processor["special_tokens"][language.text] = {
      {"id", language.text}, {"ids", {language.id}}, {"tokens", {language.text}}};
  return JsonObject::make(std::move(changed), name_);
}

}  // namespace vkformer
