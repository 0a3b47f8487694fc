#include "models/data/permuted.h"

#include <algorithm>

#include "models/data/draws.h"

namespace vkformer {

namespace {

constexpr int64_t longest_span = 5, stretch = 6;

/// The positions to be predicted, ascending.
std::vector<int32_t> draw_targets(int64_t positions, Draws& draws) {
  std::vector<int32_t> targets;
  for (int64_t begin = 0; begin < positions;) {
    const int64_t span = 1 + draws.below(longest_span);
    const int64_t first = begin + draws.below(stretch * span - span + 1);
    for (int64_t t = first; t < std::min(first + span, positions); ++t) targets.push_back(static_cast<int32_t>(t));
    begin += stretch * span;
  }
  return targets;
}

/// The place of each position in the order of predictions; -1: it is given.
std::vector<int32_t> draw_order(int64_t positions, std::vector<int32_t> targets, Draws& draws) {
  std::vector<int32_t> order(static_cast<size_t>(positions), -1);
  draws.shuffle(std::span(targets));
  for (size_t place = 0; place < targets.size(); ++place)
    order[static_cast<size_t>(targets[place])] = static_cast<int32_t>(place);
  return order;
}

}  // namespace

int64_t PermutedText::most_predictions(int64_t positions) {
  // The last stretch alone may be cut, and then at best behind a span of 5 at its begin.
  return std::min(positions, (positions + longest_span * (stretch - 1)) / stretch);
}

PermutedText::PermutedText(TextSplit text, const Settings& settings)
    : WindowData(
          std::move(text), settings.context, settings.context,
          {.rows = settings.rows, .positions = settings.context, .predictions = most_predictions(settings.context)},
          settings) {}

DataBatch PermutedText::assemble(std::span<const Window> windows) const {
  constexpr uint32_t permutation_stream = 0x7065726d;
  const auto T = static_cast<size_t>(shape().positions), P = static_cast<size_t>(shape().predictions);
  std::vector<int32_t> ids, order, predicted(windows.size() * P, -1), targets(windows.size() * P, ignored_target);
  for (size_t row = 0; row < windows.size(); ++row) {
    const Window& window = windows[row];
    ids.insert(ids.end(), window.tokens.begin(), window.tokens.end());
    Draws draws(settings().seed, permutation_stream, window.example);
    const std::vector<int32_t> chosen = draw_targets(shape().positions, draws);
    const std::vector<int32_t> places = draw_order(shape().positions, chosen, draws);
    order.insert(order.end(), places.begin(), places.end());
    for (size_t p = 0; p < chosen.size(); ++p) {
      predicted[row * P + p] = static_cast<int32_t>(row * T) + chosen[p];
      targets[row * P + p] = window.tokens[static_cast<size_t>(chosen[p])];
    }
  }
  const auto tokens = std::ssize(ids);
  return {.shape = shape(),
          .inputs = {{"ids", std::move(ids)},
                     {"order", std::move(order)},
                     {"predicted", std::move(predicted)},
                     {"targets", std::move(targets)}},
          .tokens = tokens};
}

}  // namespace vkformer
