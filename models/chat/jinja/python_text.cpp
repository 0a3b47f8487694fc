#include "models/chat/jinja/python_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "models/text/unicode.h"

namespace vkformer::jinja {

namespace {

char32_t last_character(std::string_view text, size_t& begin) {
  begin = text.size() - 1;
  while (begin > 0 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) --begin;
  return read_utf8(text, begin).code_point;
}

template <class Drops>
std::string_view stripped(std::string_view text, Side side, const Drops& drops) {
  while (side != Side::right && !text.empty()) {
    const Utf8Step step = read_utf8(text, 0);
    if (!drops(step.code_point)) break;
    text.remove_prefix(step.length);
  }
  while (side != Side::left && !text.empty()) {
    size_t begin = 0;
    if (!drops(last_character(text, begin))) break;
    text = text.substr(0, begin);
  }
  return text;
}

/// Of the lines that str.splitlines() knows.
bool ends_line(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

}  // namespace

bool is_space(char32_t c) { return is_white_space(c) || (c >= 0x1C && c <= 0x1F); }

int64_t length(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
}

std::vector<std::string> characters(std::string_view text) {
  std::vector<std::string> all;
  for_each_character(text, [&](char32_t, size_t at, size_t bytes) { all.emplace_back(text.substr(at, bytes)); });
  return all;
}

size_t offset_of(std::string_view text, int64_t index) {
  size_t at = 0;
  while (index-- > 0 && at < text.size()) at += read_utf8(text, at).length;
  return at;
}

std::string_view strip(std::string_view text, Side side) { return stripped(text, side, is_space); }

std::string_view strip(std::string_view text, Side side, std::string_view set) {
  std::set<char32_t> dropped;
  for_each_character(set, [&](char32_t c, size_t, size_t) { dropped.insert(c); });
  return stripped(text, side, [&](char32_t c) { return dropped.contains(c); });
}

/// By Knuth, Morris and Pratt: what a hostile template looks for takes no longer than the text.
size_t find(std::string_view text, std::string_view part) {
  if (part.empty()) return 0;
  if (part.size() > text.size()) return text.npos;
  std::vector<size_t> border(part.size() + 1);  // of a beginning's length: that of the longest one that is its end
  for (size_t i = 1, matched = 0; i < part.size(); ++i) {
    while (matched > 0 && part[i] != part[matched]) matched = border[matched];
    border[i + 1] = matched += part[i] == part[matched];
  }
  for (size_t i = 0, matched = 0; i < text.size(); ++i) {
    while (matched > 0 && text[i] != part[matched]) matched = border[matched];
    matched += text[i] == part[matched];
    if (matched == part.size()) return i + 1 - matched;
  }
  return text.npos;
}

size_t rfind(std::string_view text, std::string_view part) {
  const std::string reversed(text.rbegin(), text.rend());
  const size_t behind = find(reversed, std::string(part.rbegin(), part.rend()));
  return behind == text.npos ? behind : text.size() - behind - part.size();
}

std::vector<std::string> split(std::string_view text, int64_t most, bool from_right) {
  const Side near = from_right ? Side::right : Side::left;
  std::vector<std::string> parts;
  for (text = strip(text, near); !text.empty(); text = strip(text, near)) {
    if (most >= 0 && std::ssize(parts) == most) {
      parts.emplace_back(text);
      break;
    }
    size_t begin = 0, end = text.size();
    if (from_right) {
      begin = text.size();
      while (begin > 0) {
        size_t at = 0;
        if (is_space(last_character(text.substr(0, begin), at))) break;
        begin = at;
      }
    } else {
      for (end = 0; end < text.size();) {
        const Utf8Step step = read_utf8(text, end);
        if (is_space(step.code_point)) break;
        end += step.length;
      }
    }
    parts.emplace_back(text.substr(begin, end - begin));
    text = from_right ? text.substr(0, begin) : text.substr(end);
  }
  if (from_right) std::ranges::reverse(parts);
  return parts;
}

std::vector<std::string> split(std::string_view text, std::string_view separator, int64_t most, bool from_right) {
  if (from_right) {
    std::vector<std::string> parts =
        split(std::string(text.rbegin(), text.rend()), std::string(separator.rbegin(), separator.rend()), most, false);
    for (std::string& part : parts) std::ranges::reverse(part);
    std::ranges::reverse(parts);
    return parts;
  }
  std::vector<std::string> parts;
  while (most < 0 || std::ssize(parts) < most) {
    const size_t at = find(text, separator);
    if (at == text.npos) break;
    parts.emplace_back(text.substr(0, at));
    text = text.substr(at + separator.size());
  }
  parts.emplace_back(text);
  return parts;
}

std::vector<std::string> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    const size_t end = at;
    at += step.length;
    if (!ends_line(step.code_point)) continue;
    if (step.code_point == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.emplace_back(text.substr(begin, (keep_ends ? at : end) - begin));
    begin = at;
  }
  if (begin < text.size()) lines.emplace_back(text.substr(begin));
  return lines;
}

int64_t count(std::string_view text, std::string_view part) {
  if (part.empty()) return length(text) + 1;
  int64_t times = 0;
  for (size_t at = find(text, part); at != text.npos; at = find(text, part)) {
    text.remove_prefix(at + part.size());
    ++times;
  }
  return times;
}

std::string replace(std::string_view text, std::string_view old, std::string_view by, int64_t most) {
  std::string result;
  size_t done = 0;
  if (old.empty()) {
    // Before every character and at the end.
    for (; most != 0; --most) {
      result += by;
      if (done == text.size()) return result;
      const size_t step = read_utf8(text, done).length;
      result += text.substr(done, step);
      done += step;
    }
    return result.append(text.substr(done));
  }
  for (; most != 0; --most) {
    const size_t at = find(text.substr(done), old);
    if (at == text.npos) break;
    result.append(text.substr(done, at)).append(by);
    done += at + old.size();
  }
  return result.append(text.substr(done));
}

std::string upper(std::string_view text) { return upper_case(text); }
std::string lower(std::string_view text) { return lower_case(text); }

std::string capitalize(std::string_view text) {
  if (text.empty()) return {};
  std::string result;
  const Utf8Step first = read_utf8(text, 0);
  append_title_case(result, first.code_point);
  // The whole in lower case, so that a sigma at the end knows that a letter stands before it.
  const std::string whole = lower_case(text), alone = lower_case(text.substr(0, first.length));
  return result + whole.substr(std::min(alone.size(), whole.size()));
}

std::string title(std::string_view text) {
  std::string result;
  bool within = false;
  for_each_character(text, [&](char32_t c, size_t, size_t) {
    within ? append_lower_case(result, c) : append_title_case(result, c);
    within = is_cased(c);
  });
  return result;
}

std::string title_of_words(std::string_view text) {
  std::string result;
  size_t begin = 0;
  const auto add = [&](std::string_view word) {
    if (word.empty()) return;
    const size_t first = read_utf8(word, 0).length;
    result += upper_case(word.substr(0, first)) + lower_case(word.substr(first));
  };
  for_each_character(text, [&](char32_t c, size_t at, size_t bytes) {
    if (c != '-' && c != '(' && c != '{' && c != '[' && c != '<' && !is_space(c)) return;
    add(text.substr(begin, at - begin));
    result += text.substr(at, bytes);
    begin = at + bytes;
  });
  add(text.substr(begin));
  return result;
}

bool all_are(std::string_view text, CharacterClass which) {
  bool all = true, any = false;
  for_each_character(text, [&](char32_t c, size_t, size_t) {
    switch (which) {
      case CharacterClass::space: all = all && is_space(c); break;
      case CharacterClass::digit: all = all && is_digit(c); break;
      case CharacterClass::letter: all = all && is_letter(c); break;
      case CharacterClass::letter_or_number: all = all && (is_letter(c) || is_digit(c) || is_numeric(c)); break;
      case CharacterClass::upper:
        any = any || is_upper(c);
        all = all && (is_upper(c) || !is_cased(c));
        return;
      case CharacterClass::lower:
        any = any || is_lower(c);
        all = all && (is_lower(c) || !is_cased(c));
        return;
    }
    any = true;
  });
  return all && any;
}

std::string quoted_text(std::string_view text) {
  const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  std::string result(1, quote);
  for_each_character(text, [&](char32_t c, size_t at, size_t bytes) {
    const auto code = static_cast<uint32_t>(c);
    if (c == static_cast<char32_t>(quote) || c == '\\')
      result.append("\\").append(text.substr(at, bytes));
    else if (c == '\n')
      result += "\\n";
    else if (c == '\r')
      result += "\\r";
    else if (c == '\t')
      result += "\\t";
    else if (is_printable(c))
      result += text.substr(at, bytes);
    else
      result += code <= 0xFF     ? fmt::format("\\x{:02x}", code)
                : code <= 0xFFFF ? fmt::format("\\u{:04x}", code)
                                 : fmt::format("\\U{:08x}", code);
  });
  return result + quote;
}

}  // namespace vkformer::jinja
