#include "models/constraint/grammar_loops.h"

#include <algorithm>
#include <utility>

namespace vkformer {

namespace {

/// By rule, whether it may make nothing: an alternative has nothing, or only such rules.
std::vector<char> find_empty(const Grammar& grammar) {
  struct Alternative {
    uint32_t rule;
    size_t left = 0;  ///< rules in it that are not known to be empty
  };
  const size_t rules = grammar.rules.size();
  std::vector<Alternative> alternatives;
  std::vector<std::vector<size_t>> callers(rules);  // alternatives, as often as they ask for a rule
  std::vector<char> empty(rules, 0);
  std::vector<uint32_t> found;
  for (uint32_t rule = 0; rule < rules; ++rule)
    for (uint32_t at : grammar.rules[rule]) {
      const size_t begin = at;
      while (grammar.elements[at].kind == Grammar::Kind::rule) ++at;
      if (grammar.elements[at].kind != Grammar::Kind::end) continue;
      for (size_t i = begin; i < at; ++i) callers[grammar.elements[i].index].push_back(alternatives.size());
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

/// That a rule may begin with another one.
struct Beginning {
  uint32_t with;
  bool leaves_more;  ///< to come behind it
};
using Beginnings = std::vector<std::vector<Beginning>>;  // by rule

Beginnings find_beginnings(const Grammar& grammar) {
  const std::vector<char> empty = find_empty(grammar);
  Beginnings beginnings(grammar.rules.size());
  for (size_t rule = 0; rule < grammar.rules.size(); ++rule)
    for (uint32_t at : grammar.rules[rule])
      for (; grammar.elements[at].kind == Grammar::Kind::rule; ++at) {
        const uint32_t with = grammar.elements[at].index;
        beginnings[rule].push_back({with, grammar.elements[at + 1].kind != Grammar::Kind::end});
        if (!empty[with]) break;
      }
  return beginnings;
}

/// By rule, a number that those have in common that begin with each other (Tarjan 1972).
std::vector<uint32_t> find_groups(const Beginnings& beginnings) {
  const size_t rules = beginnings.size();
  std::vector<uint32_t> order(rules, 0), low(rules, 0), group(rules, 0), stack;
  uint32_t next = 0, groups = 0;
  std::vector<std::pair<uint32_t, size_t>> visits;  // a rule, and how many of its beginnings have been gone to
  const auto visit = [&](uint32_t rule) {
    order[rule] = low[rule] = ++next;
    stack.push_back(rule);
    visits.emplace_back(rule, 0);
  };
  for (uint32_t first = 0; first < rules; ++first) {
    if (order[first] == 0) visit(first);
    while (!visits.empty()) {
      const uint32_t rule = visits.back().first;
      if (visits.back().second < beginnings[rule].size()) {
        const uint32_t with = beginnings[rule][visits.back().second++].with;
        if (order[with] == 0)
          visit(with);
        else if (group[with] == 0)
          low[rule] = std::min(low[rule], order[with]);
        continue;
      }
      visits.pop_back();
      if (!visits.empty()) low[visits.back().first] = std::min(low[visits.back().first], low[rule]);
      if (low[rule] != order[rule]) continue;
      ++groups;
      uint32_t member;
      do {
        member = stack.back();
        stack.pop_back();
        group[member] = groups;
      } while (member != rule);
    }
  }
  return group;
}

}  // namespace

std::vector<uint32_t> growing_loop(const Grammar& grammar) {
  const Beginnings beginnings = find_beginnings(grammar);
  const std::vector<uint32_t> group = find_groups(beginnings);
  std::vector<uint32_t> loop;
  for (uint32_t rule = 0; rule < group.size(); ++rule) {
    const bool grows = std::ranges::any_of(beginnings[rule], [&](const Beginning& beginning) {
      return beginning.leaves_more && group[beginning.with] == group[rule];
    });
    if (!grows) continue;
    for (uint32_t other = 0; other < group.size(); ++other)
      if (group[other] == group[rule]) loop.push_back(other);
    return loop;
  }
  return loop;
}

}  // namespace vkformer
