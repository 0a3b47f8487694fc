// Each pre-tokenizer does what the one of that name in the tokenizers library does.

#include "models/text/pre_tokenizers.h"

#include <nlohmann/json.hpp>

#include "runtime/check.h"

namespace vkformer {

namespace {

/// What becomes of the matches when a text is split at them.
enum class Behavior : uint8_t { removed, isolated, merged_with_previous, merged_with_next, contiguous };

struct Section {
  ByteRange range;
  bool match = false;
};

/// Matches and what lies between them, in order; together the whole text.
std::vector<Section> sections_of(std::string_view text, const std::vector<ByteRange>& matches, bool invert) {
  std::vector<Section> sections;
  size_t done = 0;
  for (const ByteRange& match : matches) {
    if (match.begin != done) sections.push_back({{done, match.begin}, invert});
    sections.push_back({match, !invert});
    done = match.end;
  }
  if (done != text.size()) sections.push_back({{done, text.size()}, invert});
  return sections;
}

/// Joins every match to the section before it, if that is none.
std::vector<Section> merge_backwards(const std::vector<Section>& sections) {
  std::vector<Section> merged;
  bool after_match = false;
  for (const Section& section : sections) {
    if (section.match && !after_match && !merged.empty())
      merged.back().range.end = section.range.end;
    else
      merged.push_back({section.range, false});
    after_match = section.match;
  }
  return merged;
}

/// Joins every match to the section behind it, if that is none.
std::vector<Section> merge_forwards(const std::vector<Section>& sections) {
  std::vector<Section> merged;
  bool before_match = false;
  for (size_t i = sections.size(); i-- > 0;) {
    if (sections[i].match && !before_match && !merged.empty())
      merged.back().range.begin = sections[i].range.begin;
    else
      merged.push_back({sections[i].range, false});
    before_match = sections[i].match;
  }
  return {merged.rbegin(), merged.rend()};
}

std::vector<Section> merge_equals(const std::vector<Section>& sections) {
  std::vector<Section> merged;
  bool last = false;
  for (const Section& section : sections) {
    if (section.match == last && !merged.empty())
      merged.back().range.end = section.range.end;
    else
      merged.push_back({section.range, false});
    last = section.match;
  }
  return merged;
}

std::vector<TextPart> split(const TextPart& part, const std::vector<ByteRange>& matches, Behavior behavior,
                            bool invert = false) {
  std::vector<Section> sections = sections_of(part.text, matches, invert);
  if (behavior == Behavior::merged_with_previous) sections = merge_backwards(sections);
  if (behavior == Behavior::merged_with_next) sections = merge_forwards(sections);
  if (behavior == Behavior::contiguous) sections = merge_equals(sections);
  std::vector<TextPart> parts;
  for (const auto& [range, match] : sections) {
    if (range.begin == range.end || (behavior == Behavior::removed && match)) continue;
    parts.push_back(part.part(range));
  }
  return parts;
}

Pattern characters(bool (*wanted)(char32_t)) {
  return [wanted](std::string_view text) {
    std::vector<ByteRange> matches;
    for_each_character(text, [&](char32_t c, size_t at, size_t length) {
      if (wanted(c)) matches.push_back({at, at + length});
    });
    return matches;
  };
}

PreTokenizer splitter(Pattern pattern, Behavior behavior, bool invert = false) {
  return [pattern = std::move(pattern), behavior, invert](const TextPart& part) {
    return split(part, pattern(part.text), behavior, invert);
  };
}

PreTokenizer sequence(std::vector<PreTokenizer> steps) {
  return [steps = std::move(steps)](const TextPart& whole) {
    std::vector<TextPart> parts{whole};
    for (const PreTokenizer& step : steps) {
      std::vector<TextPart> next;
      for (const TextPart& part : parts)
        for (TextPart& piece : step(part)) next.push_back(std::move(piece));
      parts = std::move(next);
    }
    return parts;
  };
}

Behavior behavior_of(const JsonObject& object, const std::string& otherwise) {
  const std::string name = string_or(object, "behavior", otherwise);
  if (name == "Removed") return Behavior::removed;
  if (name == "Isolated") return Behavior::isolated;
  if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
  if (name == "MergedWithNext") return Behavior::merged_with_next;
  if (name == "Contiguous") return Behavior::contiguous;
  fail("{}: \"behavior\" {} is none of Removed, Isolated, MergedWithPrevious, MergedWithNext and Contiguous",
       object.name(), in_quotes(name));
}

Pattern regex(const char* expression, const JsonObject& object) {
  const auto compiled = std::make_shared<const Regex>(expression, object.name());
  return [compiled](std::string_view text) { return compiled->find_all(text); };
}

PreTokenizer make_byte_level(const JsonObject& object) {
  const bool prefix = require_boolean(object, "add_prefix_space");
  // GPT-2's: contractions, words, numbers and other signs with a blank before them, and blanks.
  Pattern words;
  if (boolean_or(object, "use_regex", true))
    words = regex(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", object);
  return [prefix, words](const TextPart& given) {
    TextPart part = given;
    if (prefix && !part.text.starts_with(' ')) put_in_front(part, " ");
    std::vector<TextPart> parts;
    if (words)
      parts = split(part, words(part.text), Behavior::isolated);
    else
      parts.push_back(std::move(part));
    for (TextPart& piece : parts) bytes_to_alphabet(piece);
    return parts;
  };
}

PreTokenizer make_metaspace(const JsonObject& object) {
  const std::string mark = require_string(object, "replacement");
  check(!mark.empty(), "{}: \"replacement\" is empty", object.name());
  const bool splits = boolean_or(object, "split", true);
  return [mark, splits, scheme = prepend_scheme(object)](const TextPart& given) {
    TextPart part = given;
    const auto find = [](std::string_view text, std::string_view wanted) {
      std::vector<ByteRange> found;
      for (size_t at = text.find(wanted); at != text.npos; at = text.find(wanted, at + wanted.size()))
        found.push_back({at, at + wanted.size()});
      return found;
    };
    replace_all(part, find(part.text, " "), mark);
    if (scheme != PrependScheme::never && (scheme == PrependScheme::always || part.at_start) &&
        !part.text.starts_with(mark))
      put_in_front(part, mark);
    if (splits) return split(part, find(part.text, mark), Behavior::merged_with_next);
    std::vector<TextPart> whole;
    whole.push_back(std::move(part));
    return whole;
  };
}

}  // namespace

PrependScheme prepend_scheme(const JsonObject& metaspace) {
  const std::string name =
      string_or(metaspace, "prepend_scheme", boolean_or(metaspace, "add_prefix_space", true) ? "always" : "never");
  if (name == "always") return PrependScheme::always;
  if (name == "first") return PrependScheme::first;
  if (name == "never") return PrependScheme::never;
  fail("{}: \"prepend_scheme\" {} is none of always, first and never", metaspace.name(), in_quotes(name));
}

PreTokenizer make_pre_tokenizer(const JsonObject& object) {
  const std::string type = require_string(object, "type");
  if (type == "Sequence") {
    std::vector<PreTokenizer> steps;
    for (const JsonObject& step : require_objects(object, "pretokenizers")) steps.push_back(make_pre_tokenizer(step));
    return sequence(std::move(steps));
  }
  if (type == "ByteLevel") return make_byte_level(object);
  if (type == "Metaspace") return make_metaspace(object);
  if (type == "BertPreTokenizer")
    return sequence({splitter(characters(is_white_space), Behavior::removed),
                     splitter(characters(is_punctuation), Behavior::isolated)});
  if (type == "Whitespace") return splitter(regex(R"(\w+|[^\w\s]+)", object), Behavior::removed, true);
  if (type == "WhitespaceSplit") return splitter(characters(is_white_space), Behavior::removed);
  if (type == "Punctuation") return splitter(characters(is_punctuation), behavior_of(object, "Isolated"));
  if (type == "Digits")
    return splitter(characters(is_numeric),
                    boolean_or(object, "individual_digits", false) ? Behavior::isolated : Behavior::contiguous);
  if (type == "Split")
    return splitter(make_pattern(object), behavior_of(object, "Removed"), boolean_or(object, "invert", false));
  fail("{}: pre-tokenizers of type {} are not supported", object.name(), in_quotes(type));
}

}  // namespace vkformer
