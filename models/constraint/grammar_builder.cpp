#include "models/constraint/grammar_builder.h"

#include "runtime/check.h"

namespace vkformer {

uint32_t GrammarBuilder::new_rule() {
  grammar_.rules.emplace_back();
  return static_cast<uint32_t>(grammar_.rules.size() - 1);
}

void GrammarBuilder::add_alternative(uint32_t rule, const Sequence& sequence) {
  constexpr size_t most_elements = 1'000'000;
  check(grammar_.elements.size() + sequence.size() < most_elements,
        "the grammar is too large: it has more than {} elements", most_elements);
  grammar_.rules[rule].push_back(static_cast<uint32_t>(grammar_.elements.size()));
  grammar_.elements.insert(grammar_.elements.end(), sequence.begin(), sequence.end());
  grammar_.elements.emplace_back();
}

Grammar::Element GrammarBuilder::one_byte_of(const ByteSet& set) {
  const auto [found, added] = sets_.try_emplace(set.to_string(), static_cast<uint32_t>(grammar_.sets.size()));
  if (added) grammar_.sets.push_back(set);
  return {Grammar::Kind::bytes, found->second};
}

Grammar::Element GrammarBuilder::byte(uint8_t byte) {
  auto& known = bytes_[byte];
  if (!known) known = one_byte_of(ByteSet().set(byte));
  return *known;
}

Grammar::Element GrammarBuilder::one_of(const CodePoints& characters) {
  ByteSet single;
  std::vector<ByteRanges> longer;
  for (const auto& [first, last] : characters)
    for (ByteRanges& bytes : utf8_ranges(first, last)) {
      if (bytes.size() > 1)
        longer.push_back(std::move(bytes));
      else
        for (unsigned byte = bytes[0].first; byte <= bytes[0].second; ++byte) single.set(byte);
    }
  if (longer.empty()) return one_byte_of(single);
  const uint32_t rule = new_rule();
  if (single.any()) add_alternative(rule, {one_byte_of(single)});
  for (const ByteRanges& bytes : longer) {
    Sequence sequence;
    for (const auto& [from, to] : bytes) {
      ByteSet set;
      for (unsigned byte = from; byte <= to; ++byte) set.set(byte);
      sequence.push_back(one_byte_of(set));
    }
    add_alternative(rule, sequence);
  }
  return call(rule);
}

GrammarBuilder::Sequence GrammarBuilder::repeated(const Sequence& item, const Repeats& times) {
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

GrammarBuilder::Sequence GrammarBuilder::copies_of(Grammar::Element item, int64_t count) {
  constexpr int64_t few = 8;
  if (count <= few) return Sequence(static_cast<size_t>(count), item);
  const auto [found, added] = copies_.try_emplace({static_cast<uint32_t>(item.kind), item.index, count}, 0);
  if (added) {
    found->second = new_rule();
    add_alternative(found->second, Sequence(static_cast<size_t>(count), item));
  }
  return {call(found->second)};
}

uint32_t GrammarBuilder::at_most(Grammar::Element item, size_t count) {
  std::vector<uint32_t>& chain = chains_[{static_cast<uint32_t>(item.kind), item.index}];
  while (chain.size() < count) {
    const uint32_t rule = new_rule();
    add_alternative(rule, chain.empty() ? Sequence{item} : Sequence{item, call(chain.back())});
    add_alternative(rule, {});
    chain.push_back(rule);
  }
  return chain[count - 1];
}

Grammar GrammarBuilder::take(uint32_t root) {
  grammar_.root = root;
  return std::move(grammar_);
}

}  // namespace vkformer
