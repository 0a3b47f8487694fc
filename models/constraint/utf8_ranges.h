#pragma once
// Ranges of characters as sequences of ranges of bytes.

#include <cstdint>
#include <utility>
#include <vector>

namespace vkformer {

/// The bytes of a character, one range for each; every sequence of bytes in these ranges is a character.
using ByteRanges = std::vector<std::pair<uint8_t, uint8_t>>;

/// What all code points from `first` to `last`, both included, are in UTF-8, without surrogates.
std::vector<ByteRanges> utf8_ranges(char32_t first, char32_t last);

}  // namespace vkformer
