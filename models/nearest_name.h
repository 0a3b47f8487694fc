#pragma once
// What was probably meant by a name that is not known.

#include <span>
#include <string>
#include <string_view>

namespace vkformer {

/// Letters that have to be inserted, removed, replaced or swapped with their neighbour to make `b` of `a` (the distance
/// of Damerau and Levenshtein, optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b);

/// The name that is nearest to `given`, of equally near ones the first: at most a third of its letters away, or one
/// that begins with it or with which it begins. Empty: there is none.
std::string nearest_name(std::string_view given, std::span<const std::string> names);

}  // namespace vkformer
