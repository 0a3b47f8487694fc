#pragma once
// A template's source as tokens, cut as Jinja's lexer does with trim_blocks and lstrip_blocks.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer::jinja {

struct Token {
  enum class Kind : uint8_t {
    data,            ///< text between tags
    variable_begin,  ///< {{
    variable_end,
    block_begin,  ///< {%
    block_end,
    name,
    text,  ///< a literal
    integer,
    floating,
    symbol,  ///< an operator or a bracket
    end,
  };
  Kind kind = Kind::end;
  int line = 1;
  std::string text;  ///< of data, name, symbol and literal
  int64_t integer = 0;
  double floating = 0;

  bool is(Kind of, std::string_view with) const { return kind == of && text == with; }
  bool is_name(std::string_view with) const { return is(Kind::name, with); }
  bool is_symbol(std::string_view with) const { return is(Kind::symbol, with); }
};

/// The last token is the end. Throws Error, which begins with `name` and a line.
std::vector<Token> tokens_of(std::string_view source, std::string_view name);

}  // namespace vkformer::jinja
