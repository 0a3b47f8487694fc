#pragma once
// Numbers and texts as a template's source spells them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vkformer::jinja {

struct NumberLiteral {
  size_t length = 0;  ///< bytes of it; 0: none that 64 bits hold
  bool whole = true;
  int64_t integer = 0;
  double floating = 0;
};
/// The number that `text` begins with: 1_000, 0x1F, 0b10, 0o17, 2.5, 1e-3.
NumberLiteral read_number(std::string_view text, bool with_fraction);

/// What stands between quotes, its escapes resolved as in Python. Returns what is wrong with it; empty: nothing.
std::string unescape(std::string_view text, std::string& result);

}  // namespace vkformer::jinja
