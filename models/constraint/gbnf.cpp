#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <tuple>

#include "models/constraint/grammar.h"
#include "models/constraint/utf8_ranges.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using Sequence = std::vector<Grammar::Element>;

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
    grammar_.root = root->second;
    check_beginnings();
    return std::move(grammar_);
  }

 private:
  static constexpr int deepest = 200;
  static constexpr int64_t most_repeats = 100'000;
  static constexpr size_t most_bytes = size_t{2} << 20;
  static constexpr size_t most_elements = 1'000'000;

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

  char32_t parse_hexadecimal(size_t digits) {
    char32_t value = 0;
    for (size_t i = 0; i < digits; ++i, ++at_) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) refuse(fmt::format("an escape has {} hexadecimal digits", digits));
      value = value << 4 | static_cast<char32_t>(digit);
    }
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

  // --- elements ---

  void add(Grammar::Element element) {
    if (grammar_.elements.size() >= most_elements) refuse("the grammar is too large");
    grammar_.elements.push_back(element);
  }

  Grammar::Element element_of(const ByteSet& set) {
    const auto [found, added] = sets_.try_emplace(set.to_string(), static_cast<uint32_t>(grammar_.sets.size()));
    if (added) grammar_.sets.push_back(set);
    return {Grammar::Kind::bytes, found->second};
  }

  Grammar::Element element_of(uint8_t byte) {
    auto& known = bytes_[byte];
    if (!known) known = element_of(ByteSet().set(byte));
    return *known;
  }

  uint32_t new_rule() {
    grammar_.rules.emplace_back();
    return static_cast<uint32_t>(grammar_.rules.size() - 1);
  }
  void add_alternative(uint32_t rule, const Sequence& sequence) {
    grammar_.rules[rule].push_back(static_cast<uint32_t>(grammar_.elements.size()));
    for (const Grammar::Element& element : sequence) add(element);
    add({});
  }
  static Grammar::Element call(uint32_t rule) { return {Grammar::Kind::rule, rule}; }

  Grammar::Element one_of(const CodePoints& ranges) {
    ByteSet single;
    std::vector<ByteRanges> longer;
    for (const auto& [first, last] : ranges)
      for (ByteRanges& bytes : utf8_ranges(first, last)) {
        if (bytes.size() > 1)
          longer.push_back(std::move(bytes));
        else
          for (unsigned byte = bytes[0].first; byte <= bytes[0].second; ++byte) single.set(byte);
      }
    if (longer.empty()) return element_of(single);
    const uint32_t rule = new_rule();
    if (single.any()) add_alternative(rule, {element_of(single)});
    for (const ByteRanges& bytes : longer) {
      Sequence sequence;
      for (const auto& [from, to] : bytes) {
        ByteSet set;
        for (unsigned byte = from; byte <= to; ++byte) set.set(byte);
        sequence.push_back(element_of(set));
      }
      add_alternative(rule, sequence);
    }
    return call(rule);
  }

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
    return one_of(ranges);
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

  /// What stands behind an item; `most`: nothing where there is no limit.
  struct Times {
    int64_t least = 1;
    std::optional<int64_t> most = 1;
  };
  std::optional<Times> parse_times() {
    if (take("*")) return Times{0, {}};
    if (take("+")) return Times{1, {}};
    if (take("?")) return Times{0, 1};
    if (!take("{")) return std::nullopt;
    skip_blanks(false);
    Times times{0, {}};
    if (peek() != ',') times.least = parse_count();
    if (take("}")) return Times{times.least, times.least};
    if (!take(",")) refuse("a comma or } is missing");
    skip_blanks(false);
    if (peek() != '}') times.most = parse_count();
    if (!take("}")) refuse("} is missing");
    if (times.most && *times.most < times.least) refuse("the largest number of times is less than the least");
    return times;
  }

  /// `item` so many times: copies, then rules that go on or end. Those of one item are shared.
  Sequence repeated(const Sequence& item, const Times& times) {
    if (item.empty()) return {};
    Grammar::Element one = item[0];
    if (item.size() > 1) {
      one = call(new_rule());
      add_alternative(one.index, item);
    }
    Sequence sequence = copies_of(one, times.least);
    if (!times.most) {
      const uint32_t more = new_rule();
      add_alternative(more, {one, call(more)});
      add_alternative(more, {});
      sequence.push_back(call(more));
    } else if (*times.most > times.least) {
      sequence.push_back(call(at_most(one, static_cast<size_t>(*times.most - times.least))));
    }
    return sequence;
  }

  Sequence copies_of(Grammar::Element item, int64_t count) {
    constexpr int64_t few = 8;
    if (count <= few) return Sequence(static_cast<size_t>(count), item);
    const auto [found, added] = copies_.try_emplace({static_cast<uint32_t>(item.kind), item.index, count}, 0);
    if (added) {
      found->second = new_rule();
      add_alternative(found->second, Sequence(static_cast<size_t>(count), item));
    }
    return {call(found->second)};
  }

  uint32_t at_most(Grammar::Element item, size_t count) {
    std::vector<uint32_t>& chain = chains_[{static_cast<uint32_t>(item.kind), item.index}];
    while (chain.size() < count) {
      const uint32_t rule = new_rule();
      add_alternative(rule, chain.empty() ? Sequence{item} : Sequence{item, call(chain.back())});
      add_alternative(rule, {});
      chain.push_back(rule);
    }
    return chain[count - 1];
  }

  uint32_t rule_of(const std::string& name) {
    const auto [found, added] = names_.try_emplace(name, 0);
    if (added) found->second = new_rule();
    return found->second;
  }

  /// An item, and what is said of how often; nothing where an alternative ends.
  std::optional<Sequence> parse_item(int depth) {
    if (take("\"")) {
      Sequence sequence;
      while (!take("\"")) {
        std::string bytes;
        append_utf8(bytes, parse_character('"'));
        for (const char byte : bytes) sequence.push_back(element_of(static_cast<uint8_t>(byte)));
      }
      return sequence;
    }
    if (take("[")) return Sequence{parse_class()};
    if (take(".")) return Sequence{one_of({{0, last_code_point}})};
    if (take("(")) {
      const uint32_t rule = new_rule();
      parse_alternatives(rule, depth + 1);
      if (!take(")")) refuse(") is missing");
      return Sequence{call(rule)};
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
    return Sequence{call(rule)};
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
          item = repeated(*item, *times);
          skip_blanks(depth > 0);
        }
        if (sequence.size() + item->size() > most_elements) refuse("the grammar is too large");
        sequence.insert(sequence.end(), item->begin(), item->end());
      }
      if (!any && depth == 0 && peek() != '|') at_ = begin;
      add_alternative(rule, sequence);
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

  // --- what could be gone through for ever ---

  /// By rule, whether it may make nothing: an alternative has nothing, or only such rules.
  std::vector<char> find_empty() const {
    struct Alternative {
      uint32_t rule;
      size_t left = 0;  ///< rules in it that are not known to be empty
    };
    std::vector<Alternative> alternatives;
    std::vector<std::vector<size_t>> callers(grammar_.rules.size());  // alternatives, as often as they ask for a rule
    std::vector<char> empty(grammar_.rules.size(), 0);
    std::vector<uint32_t> found;
    for (uint32_t rule = 0; rule < grammar_.rules.size(); ++rule)
      for (uint32_t at : grammar_.rules[rule]) {
        const size_t begin = at;
        while (grammar_.elements[at].kind == Grammar::Kind::rule) ++at;
        if (grammar_.elements[at].kind != Grammar::Kind::end) continue;
        for (size_t i = begin; i < at; ++i) callers[grammar_.elements[i].index].push_back(alternatives.size());
        alternatives.push_back({rule, at - begin});
        if (at == begin) found.push_back(rule);
      }
    while (!found.empty()) {
      const uint32_t rule = found.back();
      found.pop_back();
      if (std::exchange(empty[rule], 1) != 0) continue;
      for (const size_t caller : callers[rule])
        if (--alternatives[caller].left == 0) found.push_back(alternatives[caller].rule);
    }
    return empty;
  }

  /// Refuses rules that can come back to themselves before a byte has come, with something behind: each time more would
  /// be left to come. With nothing behind nothing is left, which is how repetitions of what may be empty go.
  void check_beginnings() {
    const auto& rules = grammar_.rules;
    const auto& elements = grammar_.elements;
    const std::vector<char> empty = find_empty();
    struct Edge {
      uint32_t to;
      bool grows;
    };
    std::vector<std::vector<Edge>> edges(rules.size());
    for (size_t rule = 0; rule < rules.size(); ++rule)
      for (uint32_t at : rules[rule])
        for (; elements[at].kind == Grammar::Kind::rule; ++at) {
          edges[rule].push_back({elements[at].index, elements[at + 1].kind != Grammar::Kind::end});
          if (!empty[elements[at].index]) break;
        }
    // Whether a rule reaches itself over an edge that grows: groups of rules that reach each other, as Tarjan finds
    // them.
    std::vector<uint32_t> order(rules.size(), 0), low(rules.size(), 0), group(rules.size(), 0), stack;
    uint32_t next = 0, groups = 0;
    struct Visit {
      uint32_t rule;
      size_t edge;
    };
    for (uint32_t begin = 0; begin < rules.size(); ++begin) {
      if (order[begin] != 0) continue;
      std::vector<Visit> visits{{begin, 0}};
      while (!visits.empty()) {
        auto& [rule, edge] = visits.back();
        if (edge == 0 && order[rule] == 0) {
          order[rule] = low[rule] = ++next;
          stack.push_back(rule);
        }
        if (edge < edges[rule].size()) {
          const uint32_t to = edges[rule][edge++].to;
          if (order[to] == 0)
            visits.push_back({to, 0});
          else if (group[to] == 0)
            low[rule] = std::min(low[rule], order[to]);
          continue;
        }
        const uint32_t done = rule;
        if (low[done] == order[done]) {
          ++groups;
          uint32_t member;
          do {
            member = stack.back();
            stack.pop_back();
            group[member] = groups;
          } while (member != done);
        }
        visits.pop_back();
        if (!visits.empty()) low[visits.back().rule] = std::min(low[visits.back().rule], low[done]);
      }
    }
    for (uint32_t rule = 0; rule < rules.size(); ++rule)
      for (const Edge& edge : edges[rule]) {
        if (!edge.grows || group[edge.to] != group[rule]) continue;
        std::string name;  // of the rule that a group or repetition is in
        for (const auto& [named, index] : names_)
          if (group[index] == group[rule]) name = named;
        fail("{}: rule {} begins with itself; write what repeats behind what comes first, as in x ::= \"a\" x", name_,
             in_quotes(name));
      }
  }

  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
  Grammar grammar_;
  std::map<std::string, uint32_t> names_;
  std::map<std::string, uint32_t> sets_;
  std::array<std::optional<Grammar::Element>, 256> bytes_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> chains_;  ///< by item: at most so many of it
  std::map<std::tuple<uint32_t, uint32_t, int64_t>, uint32_t> copies_;     ///< by item and number
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
