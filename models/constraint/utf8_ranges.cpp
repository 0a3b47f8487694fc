#include "models/constraint/utf8_ranges.h"

#include <algorithm>
#include <string>

#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

/// Code points of as many bytes each. A range is cut where a byte in front changes while those behind it do not run
/// through all of their 64 values.
void add_same_length(char32_t first, char32_t last, std::vector<ByteRanges>& all) {
  for (int behind = 3; behind > 0; --behind) {
    const char32_t below = (char32_t{1} << 6 * behind) - 1;
    if ((first & ~below) == (last & ~below)) continue;
    if ((first & below) != 0) {
      add_same_length(first, first | below, all);
      return add_same_length((first | below) + 1, last, all);
    }
    if ((last & below) != below) {
      add_same_length(first, (last & ~below) - 1, all);
      return add_same_length(last & ~below, last, all);
    }
  }
  std::string from, to;
  append_utf8(from, first);
  append_utf8(to, last);
  ByteRanges ranges;
  for (size_t i = 0; i < from.size(); ++i)
    ranges.emplace_back(static_cast<uint8_t>(from[i]), static_cast<uint8_t>(to[i]));
  all.push_back(std::move(ranges));
}

}  // namespace

CodePoints merged(CodePoints ranges) {
  std::ranges::sort(ranges);
  CodePoints result;
  for (const auto& [first, last] : ranges) {
    if (!result.empty() && first <= result.back().second + 1)
      result.back().second = std::max(result.back().second, last);
    else
      result.emplace_back(first, last);
  }
  return result;
}

CodePoints complement(CodePoints ranges) {
  constexpr char32_t last_of_all = 0x10FFFF;
  CodePoints others;
  char32_t next = 0;
  for (const auto& [first, last] : merged(std::move(ranges))) {
    if (first > next) others.emplace_back(next, first - 1);
    next = last + 1;
  }
  if (next <= last_of_all) others.emplace_back(next, last_of_all);
  return others;
}

std::vector<ByteRanges> utf8_ranges(char32_t first, char32_t last) {
  // Of one, two, three (before and behind the surrogates) and four bytes.
  constexpr std::pair<char32_t, char32_t> lengths[] = {
      {0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xD7FF}, {0xE000, 0xFFFF}, {0x10000, 0x10FFFF}};
  std::vector<ByteRanges> all;
  for (const auto& [from, to] : lengths)
    if (first <= to && last >= from) add_same_length(std::max(first, from), std::min(last, to), all);
  return all;
}

}  // namespace vkformer
