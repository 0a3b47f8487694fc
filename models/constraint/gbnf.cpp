#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "models/constraint/grammar.h"
#include "models/constraint/grammar_builder.h"
#include "models/constraint/grammar_loops.h"
#include "models/constraint/utf8_ranges.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using Sequence = GrammarBuilder::Sequence;
using Repeats = GrammarBuilder::Repeats;

constexpr char32_t last_code_point = 0x10FFFF;

class GbnfParser {
 public:
  GbnfParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Grammar parse() {
    check(text_.size() <= most_bytes, "{} has {} bytes; a grammar may have {}", name_, text_.size(), most_bytes);
    check(is_utf8(text_), "{} is not UTF-8", name_);
    for (skip_blanks(true); at_ < text_.size(); skip_blanks(true)) parse_rule();
    for (const auto& [rule, place] : asked_) {
      if (defined_.contains(rule)) continue;
      at_ = place;
      refuse(fmt::format("there is no rule {}", in_quotes(parse_name())));
    }
    const auto root = names_.find("root");
    check(root != names_.end() && defined_.contains(root->second),
          "{}: there is no rule \"root\", which makes the text", name_);
    Grammar grammar = builder_.take(root->second);
    const std::vector<uint32_t> loop = growing_loop(grammar);
    for (const auto& [rule, index] : names_)
      check(std::ranges::find(loop, index) == loop.end(),
            "{}: rule {} begins with itself; write what repeats behind what comes first, as in x ::= \"a\" x", name_,
            in_quotes(rule));
    return grammar;
  }

 private:
  static constexpr int deepest = 200;
  static constexpr int64_t most_repeats = 100'000;
  static constexpr size_t most_bytes = size_t{2} << 20;

  [[noreturn]] void refuse(const std::string& why) const {
    const auto line = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n') + 1;
    fail("{}, line {}: {}", name_, line, why);
  }

  // --- characters ---

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }

  /// Line ends, too, where a rule goes on behind them.
  void skip_blanks(bool lines) {
    while (at_ < text_.size()) {
      if (peek() == '#') {
        while (at_ < text_.size() && peek() != '\n' && peek() != '\r') ++at_;
      } else if (peek() == ' ' || peek() == '\t' || (lines && (peek() == '\n' || peek() == '\r'))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  }
  std::string parse_name() {
    const size_t begin = at_;
    while (is_name(peek())) ++at_;
    if (at_ == begin)
      refuse(at_ == text_.size() ? "the grammar ends where a rule is to go on"
                                 : fmt::format("{} can't stand here", in_quotes(text_.substr(at_, 1))));
    return std::string(text_.substr(begin, at_ - begin));
  }

  char32_t parse_hexadecimal(size_t count) {
    const std::string_view digits = text_.substr(at_, count);
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc() || end != digits.data() + count)
      refuse(fmt::format("an escape has {} hexadecimal digits", count));
    at_ += count;
    if (value > last_code_point || (value >= 0xD800 && value < 0xE000)) refuse("an escape names no character");
    return value;
  }

  /// One of a text or class that ends with `closing`.
  char32_t parse_character(char closing) {
    if (at_ == text_.size()) refuse(fmt::format("{} is missing", closing));
    if (!take("\\")) {
      const Utf8Step step = read_utf8(text_, at_);
      at_ += step.length;
      return step.code_point;
    }
    const char c = peek();
    if (at_ < text_.size()) ++at_;
    switch (c) {
      case 'n': return '\n';
      case 'r': return '\r';
      case 't': return '\t';
      case 'x': return parse_hexadecimal(2);
      case 'u': return parse_hexadecimal(4);
      case 'U': return parse_hexadecimal(8);
      default: break;
    }
    if (std::string_view("\"\\[]-^").find(c) == std::string_view::npos)
      refuse(fmt::format("there is no escape \\{}", printable({&c, 1})));
    return static_cast<char32_t>(c);
  }

  // --- items ---

  Grammar::Element parse_class() {
    const bool others = take("^");
    CodePoints ranges;
    while (!take("]")) {
      const char32_t first = parse_character(']');
      char32_t last = first;
      if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        last = parse_character(']');
        if (last < first) refuse("a range of characters ends before it begins");
      }
      ranges.emplace_back(first, last);
    }
    ranges = others ? complement(std::move(ranges)) : merged(std::move(ranges));
    if (ranges.empty()) refuse("a class has no characters");
    return builder_.one_of(ranges);
  }

  int64_t parse_count() {
    int64_t count = 0;
    if (peek() < '0' || peek() > '9') refuse("a number of times is missing");
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      count = 10 * count + (peek() - '0');
      if (count > most_repeats) refuse(fmt::format("more than {} times", most_repeats));
    }
    skip_blanks(false);
    return count;
  }

  std::optional<Repeats> parse_times() {
    if (take("*")) return Repeats{0, {}};
    if (take("+")) return Repeats{1, {}};
    if (take("?")) return Repeats{0, 1};
    if (!take("{")) return std::nullopt;
    skip_blanks(false);
    Repeats times{0, {}};
    if (peek() != ',') times.least = parse_count();
    if (take("}")) return Repeats{times.least, times.least};
    if (!take(",")) refuse("a comma or } is missing");
    skip_blanks(false);
    if (peek() != '}') times.most = parse_count();
    if (!take("}")) refuse("} is missing");
    if (times.most && *times.most < times.least) refuse("the largest number of times is less than the least");
    return times;
  }

  uint32_t rule_of(const std::string& name) {
    const auto [found, added] = names_.try_emplace(name, 0);
    if (added) found->second = builder_.new_rule();
    return found->second;
  }

  /// An item, and what is said of how often; nothing where an alternative ends.
  std::optional<Sequence> parse_item(int depth) {
    if (take("\"")) {
      Sequence sequence;
      while (!take("\"")) {
        std::string bytes;
        append_utf8(bytes, parse_character('"'));
        for (const char byte : bytes) sequence.push_back(builder_.byte(static_cast<uint8_t>(byte)));
      }
      return sequence;
    }
    if (take("[")) return Sequence{parse_class()};
    if (take(".")) return Sequence{builder_.one_of({{0, last_code_point}})};
    if (take("(")) {
      const uint32_t rule = builder_.new_rule();
      parse_alternatives(rule, depth + 1);
      if (!take(")")) refuse(") is missing");
      return Sequence{GrammarBuilder::call(rule)};
    }
    if (!is_name(peek())) return std::nullopt;
    const size_t begin = at_;
    const std::string name = parse_name();
    const size_t behind = at_;
    skip_blanks(true);
    if (text_.substr(at_).starts_with("::=")) {  // the next rule
      at_ = begin;
      return std::nullopt;
    }
    at_ = behind;
    const uint32_t rule = rule_of(name);
    asked_.try_emplace(rule, begin);
    return Sequence{GrammarBuilder::call(rule)};
  }

  void parse_alternatives(uint32_t rule, int depth) {
    if (depth > deepest) refuse(fmt::format("groups are more than {} deep", deepest));
    do {
      Sequence sequence;
      const size_t begin = at_;
      bool any = false;
      // Lines end a rule, but for those in groups and before the first item.
      for (skip_blanks(true);; skip_blanks(depth > 0)) {
        auto item = parse_item(depth);
        if (!item) break;
        any = true;
        skip_blanks(depth > 0);
        while (const auto times = parse_times()) {
          item = builder_.repeated(*item, *times);
          skip_blanks(depth > 0);
        }
        sequence.insert(sequence.end(), item->begin(), item->end());
      }
      if (!any && depth == 0 && peek() != '|') at_ = begin;
      builder_.add_alternative(rule, sequence);
      if (!text_.substr(at_).starts_with("|")) {
        // An alternative may begin with the next line.
        const size_t here = at_;
        skip_blanks(true);
        if (peek() != '|') at_ = here;
      }
    } while (take("|"));
  }

  void parse_rule() {
    const std::string name = parse_name();
    skip_blanks(true);
    if (!take("::=")) refuse(fmt::format("::= is missing behind {}", in_quotes(name)));
    const uint32_t rule = rule_of(name);
    if (!defined_.insert(rule).second) refuse(fmt::format("rule {} is there twice", in_quotes(name)));
    parse_alternatives(rule, 0);
    skip_blanks(false);
    if (at_ < text_.size() && peek() != '\n' && peek() != '\r')
      refuse(fmt::format("{} can't stand here", in_quotes(text_.substr(at_, 1))));
  }

  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
  GrammarBuilder builder_;
  std::map<std::string, uint32_t> names_;
  std::set<uint32_t> defined_;
  std::map<uint32_t, size_t> asked_;  ///< where rules are first asked for
};

}  // namespace

std::string gbnf_literal(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') literal += '\\';
    if (c == '\n')
      literal += "\\n";
    else
      literal += c;
  }
  return literal + "\"";
}

Grammar parse_gbnf(std::string_view text, const std::string& name) { return GbnfParser(text, name).parse(); }

}  // namespace vkformer
