#pragma once
// Ranges of characters, and these as sequences of ranges of bytes.

#include <cstdint>
#include <utility>
#include <vector>

namespace vkformer {

/// Code points, both ends included.
using CodePoints = std::vector<std::pair<char32_t, char32_t>>;

/// In order, none of them twice.
CodePoints merged(CodePoints ranges);
/// All that are in none of these.
CodePoints complement(CodePoints ranges);

/// The bytes of a character, one range for each; every sequence of bytes in these ranges is a character.
using ByteRanges = std::vector<std::pair<uint8_t, uint8_t>>;

/// What all code points from `first` to `last`, both included, are in UTF-8, without surrogates.
std::vector<ByteRanges> utf8_ranges(char32_t first, char32_t last);

}  // namespace vkformer
