#pragma once
// A context-free grammar over bytes, and the writing of one in GBNF, llama.cpp's form of Backus and Naur's.

#include <bitset>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

using ByteSet = std::bitset<256>;

/// Rules of alternatives of elements. Elements lie one after the other, an `end` behind each alternative.
struct Grammar {
  enum class Kind : uint8_t {
    bytes,  ///< one byte of set `index`
    rule,   ///< what rule `index` makes
    end,
  };
  struct Element {
    Kind kind = Kind::end;
    uint32_t index = 0;
  };
  std::vector<Element> elements;
  std::vector<ByteSet> sets;
  std::vector<std::vector<uint32_t>> rules;  ///< where the alternatives of each begin
  uint32_t root = 0;                         ///< the rule that makes texts
};

/// From rules such as
///
///   root ::= "yes" | "no" [.!]{1,3} # a comment
///
/// with texts, classes of characters, `.`, groups, and behind each `*`, `+`, `?`, `{n}`, `{n,}`, `{,m}` or `{n,m}`.
/// Characters are Unicode's, also as \n, \r, \t, \xHH, \uHHHH and \UHHHHHHHH. Source: grammars/README.md of llama.cpp.
/// `name` is the grammar's in errors. Throws Error with the line of what is no such rule, for rules that are missing or
/// there twice, for those that begin with themselves, and beyond a million elements.
Grammar parse_gbnf(std::string_view text, const std::string& name);

/// Characters as a text of GBNF, in quotes.
std::string gbnf_literal(std::string_view text);

}  // namespace vkformer
