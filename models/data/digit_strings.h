#pragma once
// Strings of digits, shared out between training, validation and test.

#include <cstdint>
#include <string>
#include <vector>

#include "models/data/number_split.h"

namespace vkformer {

/// `count` strings of 1 to `longest` (at most 15) digits, such as "5308" and "0". A tenth of the strings of each length
/// can come in validation, another tenth in test, the rest in training: parts have none in common. Each length is as
/// likely as the others until all its strings have come; none comes again before all of the part have. `seed` decides,
/// and fewer strings are the first of more. Throws Error for other lengths.
std::vector<std::string> digit_strings(NumberSplit::Part part, int64_t count, int64_t longest, uint32_t seed);

}  // namespace vkformer
