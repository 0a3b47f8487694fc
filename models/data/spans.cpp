#include "models/data/spans.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/data/draws.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

/// Lengths of `parts` parts of `items` items, none empty, each such division as likely.
std::vector<int64_t> draw_parts(int64_t items, int64_t parts, Draws& draws) {
  std::vector<int64_t> ends(static_cast<size_t>(items - 1));
  std::iota(ends.begin(), ends.end(), int64_t{1});
  draws.shuffle(std::span(ends));
  ends.resize(static_cast<size_t>(parts - 1));
  ends.push_back(items);
  std::ranges::sort(ends);
  std::adjacent_difference(ends.begin(), ends.end(), ends.begin());
  return ends;
}

/// As Python rounds: halves to the even neighbour.
int64_t rounded(double value) { return std::llrint(value); }

}  // namespace

SpanLengths SpanLengths::of_window(int64_t tokens) {
  constexpr double density = 0.15, mean_span = 3;
  SpanLengths lengths{.tokens = tokens};
  lengths.noise = std::clamp<int64_t>(rounded(static_cast<double>(tokens) * density), 1, tokens - 1);
  const int64_t fewer = std::min(lengths.noise, tokens - lengths.noise);
  lengths.spans = std::max<int64_t>(rounded(static_cast<double>(fewer) / mean_span), 1);
  return lengths;
}

SpanLengths SpanLengths::of_source(int64_t positions) {
  check(positions >= 3,
        "a corrupted text of {} positions has no room for a word, a sentinel and its end; give 3 or more", positions);
  SpanLengths lengths = of_window(2);
  // A further token is noise or not, so the source grows by one position at most.
  for (SpanLengths next = of_window(3); next.source() <= positions; next = of_window(next.tokens + 1)) lengths = next;
  return lengths;
}

SpanText::SpanText(TextSplit text, SpanTokens tokens, const Settings& settings)
    : SpanText(std::move(text), std::move(tokens), settings, SpanLengths::of_source(settings.context)) {}

SpanText::SpanText(TextSplit text, SpanTokens tokens, const Settings& settings, const SpanLengths& lengths)
    : WindowData(std::move(text), lengths.tokens, lengths.tokens,
                 {.rows = settings.rows, .positions = lengths.target(), .source_positions = lengths.source()},
                 settings),
      tokens_(std::move(tokens)),
      lengths_(lengths) {
  check(lengths.spans <= std::ssize(tokens_.sentinels),
        "a window of {} tokens has {} spans, the tokenizer only {} sentinels (<extra_id_0>, ..); give a smaller "
        "--context",
        lengths.tokens, lengths.spans, tokens_.sentinels.size());
}

DataBatch SpanText::assemble(std::span<const Window> windows) const {
  constexpr uint32_t span_stream = 0x7370616e;
  std::vector<int32_t> source, ids, targets;
  for (const Window& window : windows) {
    Draws draws(settings().seed, span_stream, window.example);
    const auto noise = draw_parts(lengths_.noise, lengths_.spans, draws);
    const auto kept = draw_parts(lengths_.tokens - lengths_.noise, lengths_.spans, draws);
    const auto row = std::ssize(targets);
    auto at = window.tokens.begin();
    const auto move = [&](std::vector<int32_t>& to, int64_t count) {
      to.insert(to.end(), at, at + count);
      at += count;
    };
    for (size_t span = 0; span < noise.size(); ++span) {
      move(source, kept[span]);
      source.push_back(tokens_.sentinels[span]);
      targets.push_back(tokens_.sentinels[span]);
      move(targets, noise[span]);
    }
    source.push_back(tokens_.end);
    targets.push_back(tokens_.end);
    ids.push_back(tokens_.decoder_start);
    ids.insert(ids.end(), targets.begin() + row, targets.end() - 1);
  }
  const auto tokens = std::ssize(source) + std::ssize(targets);
  return {.shape = shape(),
          .inputs = {{"source", std::move(source)}, {"ids", std::move(ids)}, {"targets", std::move(targets)}},
          .tokens = tokens};
}

}  // namespace vkformer
