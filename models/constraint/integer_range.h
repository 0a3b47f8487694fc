#pragma once
// Ranges of integers as grammars.

#include <cstdint>
#include <optional>
#include <string>

namespace vkformer {

/// What stands on the right of a GBNF rule for the integers from `first` to `last`, as JSON writes them; nothing: there
/// is no bound, but for 18 digits. Empty where there are none.
std::string gbnf_of_integers(std::optional<int64_t> first, std::optional<int64_t> last);

}  // namespace vkformer
