#include "models/score/labels.h"

#include <algorithm>
#include <map>

#include "models/score/segments.h"

namespace vkformer {

namespace {

double quotient(int64_t a, int64_t b) { return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b); }

}  // namespace

double LabelScore::precision() const { return quotient(matches, predicted); }
double LabelScore::recall() const { return quotient(matches, support); }
double LabelScore::f1() const { return quotient(2 * matches, support + predicted); }

int64_t LabelScores::count(size_t reference, size_t hypothesis) const {
  const auto found = std::lower_bound(
      confusions.begin(), confusions.end(), std::pair(reference, hypothesis),
      [](const Confusion& c, const auto& wanted) { return std::pair(c.reference, c.hypothesis) < wanted; });
  const bool occurs = found != confusions.end() && found->reference == reference && found->hypothesis == hypothesis;
  return occurs ? found->count : 0;
}

LabelScores score_labels(std::span<const std::string> references, std::span<const std::string> hypotheses) {
  check_pairs(references, hypotheses);
  std::map<std::string_view, size_t> places;
  for (const auto side : {references, hypotheses})
    for (const std::string& label : side) places[label];
  LabelScores scores;
  for (auto& [label, place] : places) {
    place = scores.labels.size();
    scores.labels.push_back({.label = std::string(label)});
  }
  std::map<std::pair<size_t, size_t>, int64_t> counts;
  for (size_t i = 0; i < references.size(); ++i) ++counts[{places[references[i]], places[hypotheses[i]]}];
  int64_t matches = 0;
  for (const auto& [pair, count] : counts) {
    const auto [reference, hypothesis] = pair;
    scores.confusions.push_back({reference, hypothesis, count});
    scores.labels[reference].support += count;
    scores.labels[hypothesis].predicted += count;
    if (reference != hypothesis) continue;
    scores.labels[reference].matches = count;
    matches += count;
  }
  scores.accuracy = quotient(matches, static_cast<int64_t>(references.size()));
  for (const LabelScore& label : scores.labels) scores.macro_f1 += label.f1();
  scores.macro_f1 /= static_cast<double>(scores.labels.size());
  return scores;
}

int64_t count_equal_lines(std::span<const std::string> references, std::span<const std::string> hypotheses) {
  check_pairs(references, hypotheses);
  int64_t equal = 0;
  for (size_t i = 0; i < references.size(); ++i) equal += references[i] == hypotheses[i];
  return equal;
}

}  // namespace vkformer
