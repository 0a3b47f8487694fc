#pragma once
// Regular expressions as grammars.

#include <string>
#include <string_view>

namespace vkformer {

/// What stands on the right of a GBNF rule for the texts that match the expression (ECMAScript's, as JSON schemas have
/// them) as a JSON text writes them inside quotes. Not anchored with ^ and $, an expression may be anywhere in the
/// text, of which the rule `any_characters` makes the rest. Throws Error, beginning with `name`, for what is no such
/// expression and for what looks around or back.
std::string gbnf_of_pattern(std::string_view pattern, std::string_view any_characters, const std::string& name);

}  // namespace vkformer
