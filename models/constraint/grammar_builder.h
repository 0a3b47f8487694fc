#pragma once
// Puts a grammar together.

#include <array>
#include <optional>
#include <tuple>

#include "models/constraint/grammar.h"
#include "models/constraint/utf8_ranges.h"

namespace vkformer {

/// Throws Error beyond a million elements.
class GrammarBuilder {
 public:
  using Sequence = std::vector<Grammar::Element>;

  uint32_t new_rule();
  /// What else `rule` may make.
  void add_alternative(uint32_t rule, const Sequence& sequence);
  /// What `rule` makes.
  static Grammar::Element call(uint32_t rule) { return {Grammar::Kind::rule, rule}; }
  Grammar::Element byte(uint8_t byte);
  /// A character of these, which are not empty.
  Grammar::Element one_of(const CodePoints& characters);
  /// `most`: nothing where there is no limit.
  struct Repeats {
    int64_t least = 1;
    std::optional<int64_t> most = 1;
  };
  /// `item` so many times: copies, then rules that go on or end. Those of one element are shared.
  Sequence repeated(const Sequence& item, const Repeats& times);
  /// The grammar. Once.
  Grammar take(uint32_t root);

 private:
  Grammar::Element one_byte_of(const ByteSet& set);
  Sequence copies_of(Grammar::Element item, int64_t count);
  uint32_t at_most(Grammar::Element item, size_t count);

  Grammar grammar_;
  std::map<std::string, uint32_t> sets_;
  std::array<std::optional<Grammar::Element>, 256> bytes_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> chains_;  ///< by item: at most so many of it
  std::map<std::tuple<uint32_t, uint32_t, int64_t>, uint32_t> copies_;     ///< by item and number
};

}  // namespace vkformer
