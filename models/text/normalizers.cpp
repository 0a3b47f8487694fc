// Each normalizer does what the one of that name in the tokenizers library does.

#include "models/text/normalizers.h"

#include <nlohmann/json.hpp>

#include "models/text/precompiled_charsmap.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

/// A normalizer that handles each character by itself: action(out, character) appends what becomes of it.
template <class Action>
Normalizer by_character(Action action) {
  return [action](TextPart& part) {
    Rewriting rewriting(part);
    for_each_character(part.text, [&](char32_t c, size_t at, size_t length) {
      action(rewriting.text, c);
      rewriting.from({at, at + length});
      if (at == 0 && rewriting.text.empty()) part.at_start = false;
    });
    rewriting.finish();
  };
}

Normalizer without(bool (*unwanted)(char32_t)) {
  return by_character([unwanted](std::string& out, char32_t c) {
    if (!unwanted(c)) append_utf8(out, c);
  });
}

Normalizer normal_form(NormalForm form) {
  return [form](TextPart& part) {
    if (!part.origins) {
      part.text = normalize(part.text, form);
      return;
    }
    Rewriting rewriting(part);
    size_t begin = 0;
    const auto take_until = [&](size_t end) {
      rewriting.text += normalize(std::string_view(part.text).substr(begin, end - begin), form);
      rewriting.from({begin, end});
      begin = end;
    };
    for_each_character(part.text, [&](char32_t c, size_t at, size_t) {
      if (begins_normal_form(c, form)) take_until(at);
    });
    take_until(part.text.size());
    rewriting.finish();
  };
}

Normalizer sequence(std::vector<Normalizer> steps) {
  return [steps = std::move(steps)](TextPart& part) {
    for (const Normalizer& step : steps) step(part);
  };
}

/// The ideographs that BERT takes for words of their own.
bool is_ideograph(char32_t c) {
  constexpr std::pair<char32_t, char32_t> blocks[] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF},
                                                      {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
                                                      {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  for (const auto& [first, last] : blocks)
    if (c >= first && c <= last) return true;
  return false;
}

void clean(std::string& out, char32_t c) {
  const bool blank = c == '\t' || c == '\n' || c == '\r' || is_white_space(c);
  if (c == 0 || c == 0xFFFD || (is_control(c) && c != '\t' && c != '\n' && c != '\r')) return;
  append_utf8(out, blank ? U' ' : c);
}

void set_apart(std::string& out, char32_t c) {
  if (!is_ideograph(c)) return append_utf8(out, c);
  out += ' ';
  append_utf8(out, c);
  out += ' ';
}

Normalizer make_bert(const JsonObject& object) {
  const bool lower = boolean_or(object, "lowercase", true);
  std::vector<Normalizer> steps;
  if (boolean_or(object, "clean_text", true)) steps.push_back(by_character(clean));
  if (boolean_or(object, "handle_chinese_chars", true)) steps.push_back(by_character(set_apart));
  if (boolean_or(object, "strip_accents", lower)) {
    steps.push_back(normal_form(NormalForm::nfd));
    steps.push_back(without(is_nonspacing_mark));
  }
  if (lower) steps.push_back(by_character(append_lower_case));
  return sequence(std::move(steps));
}

Normalizer make_strip(const JsonObject& object) {
  const bool left = boolean_or(object, "strip_left", true), right = boolean_or(object, "strip_right", true);
  return [left, right](TextPart& part) {
    size_t first = part.text.size(), end = 0;
    for_each_character(part.text, [&](char32_t c, size_t at, size_t length) {
      if (is_white_space(c)) return;
      first = std::min(first, at);
      end = at + length;
    });
    if (!left) first = 0;
    if (!right) end = part.text.size();
    part = part.part({first, std::max(first, end)});
  };
}

Normalizer make_replace(const JsonObject& object) {
  return [pattern = make_pattern(object), content = require_string(object, "content")](TextPart& part) {
    const auto matches = pattern(part.text);
    if (content.empty() && !matches.empty() && matches[0].begin == 0) part.at_start = false;
    replace_all(part, matches, content);
  };
}

/// Control characters that sentencepiece's rules for translation drop or take for blanks.
void nmt(std::string& out, char32_t c) {
  const bool dropped = (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
  if (dropped) return;
  const bool blank = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
                     c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  append_utf8(out, blank ? U' ' : c);
}

}  // namespace

Pattern make_pattern(const JsonObject& object) {
  const JsonObject pattern = require_object(object, "pattern");
  if (pattern.has("Regex")) {
    // Shared, because functions are copied.
    const auto regex = std::make_shared<const Regex>(require_string(pattern, "Regex"), pattern.name());
    return [regex](std::string_view text) { return regex->find_all(text); };
  }
  const std::string wanted = require_string(pattern, "String");
  check(!wanted.empty(), "{}: \"String\" is empty", pattern.name());
  return [wanted](std::string_view text) {
    std::vector<ByteRange> matches;
    for (size_t at = text.find(wanted); at != text.npos; at = text.find(wanted, at + wanted.size()))
      matches.push_back({at, at + wanted.size()});
    return matches;
  };
}

Normalizer make_normalizer(const JsonObject& object) {
  const std::string type = require_string(object, "type");
  if (type == "Sequence") {
    std::vector<Normalizer> steps;
    for (const JsonObject& step : require_objects(object, "normalizers")) steps.push_back(make_normalizer(step));
    return sequence(std::move(steps));
  }
  if (type == "NFC") return normal_form(NormalForm::nfc);
  if (type == "NFD") return normal_form(NormalForm::nfd);
  if (type == "NFKC") return normal_form(NormalForm::nfkc);
  if (type == "NFKD") return normal_form(NormalForm::nfkd);
  if (type == "Lowercase") return by_character(append_lower_case);
  if (type == "StripAccents") return without(is_mark);
  if (type == "Strip") return make_strip(object);
  if (type == "Replace") return make_replace(object);
  if (type == "BertNormalizer") return make_bert(object);
  if (type == "Nmt") return by_character(nmt);
  if (type == "ByteLevel") return bytes_to_alphabet;
  if (type == "Prepend")
    return [prefix = require_string(object, "prepend")](TextPart& part) {
      if (!part.text.empty()) put_in_front(part, prefix);
    };
  if (type == "Precompiled") {
    const auto map = std::make_shared<const PrecompiledCharsmap>(require_string(object, "precompiled_charsmap"));
    return [map](TextPart& part) { map->normalize(part); };
  }
  fail("{}: normalizers of type {} are not supported", object.name(), in_quotes(type));
}

}  // namespace vkformer
