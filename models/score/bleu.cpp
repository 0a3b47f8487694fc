#include "models/score/bleu.h"

#include <fmt/format.h>

#include <cmath>
#include <unordered_map>
#include <utility>

#include "models/score/segments.h"
#include "models/text/unicode.h"

namespace vkformer {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_no_digit(char c) { return !is_digit(c); }
bool is_point_or_comma(char c) { return c == '.' || c == ','; }
bool is_dash(char c) { return c == '-'; }

/// [{-~[-` -&(-+:-@/]: the ASCII that is neither a control, a letter, a digit nor one of ' , - .
bool stands_alone(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') ||
         (c >= ':' && c <= '@') || c == '/';
}

void replace_each(std::string& text, std::string_view wanted, std::string_view content) {
  for (size_t at = text.find(wanted); at != text.npos; at = text.find(wanted, at + content.size()))
    text.replace(at, wanted.size(), content);
}

/// Puts a blank between a character that is `first` and the next one if that is `second`, and another around the two.
/// As with a regular expression, a character of one match is in no other; bytes serve, since all that is looked for is
/// ASCII or anything but it.
std::string space_pairs(std::string_view text, bool (*first)(char), bool (*second)(char), bool blank_before) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool match = first(text[i]) && i + 1 < text.size() && second(text[i + 1]);
    if (match && blank_before) out += ' ';
    out += text[i];
    if (!match) continue;
    out += ' ';
    out += text[++i];
    if (!blank_before) out += ' ';
  }
  return out;
}

/// Sums over all lines, from which the score follows.
struct BleuCounts {
  std::array<int64_t, 4> matches{}, totals{};
  int64_t hypothesis_length = 0, reference_length = 0;
};

double brevity_penalty(const BleuCounts& counts) {
  if (counts.hypothesis_length >= counts.reference_length) return 1;
  if (counts.hypothesis_length == 0) return 0;
  return std::exp(1 - static_cast<double>(counts.reference_length) / static_cast<double>(counts.hypothesis_length));
}

BleuScore score_of(const BleuCounts& counts) {
  BleuScore result{.brevity_penalty = brevity_penalty(counts),
                   .hypothesis_length = counts.hypothesis_length,
                   .reference_length = counts.reference_length};
  // More words can match only where one does.
  if (counts.matches[0] == 0) return result;
  double smoothing = 1, logarithms = 0;
  for (size_t n = 0; n < counts.totals.size(); ++n) {
    if (counts.totals[n] == 0) return result;
    if (counts.matches[n] == 0) smoothing *= 2;
    const double matches = counts.matches[n] == 0 ? 1 / smoothing : static_cast<double>(counts.matches[n]);
    result.precisions[n] = 100 * matches / static_cast<double>(counts.totals[n]);
    logarithms += std::log(result.precisions[n]);
  }
  result.score = result.brevity_penalty * std::exp(logarithms / 4);
  return result;
}

}  // namespace

std::vector<std::string> tokenize_13a(std::string_view line) {
  std::string text(line);
  replace_each(text, "<skipped>", "");
  replace_each(text, "-\n", "");
  replace_each(text, "\n", " ");
  replace_each(text, "&quot;", "\"");
  replace_each(text, "&amp;", "&");
  replace_each(text, "&lt;", "<");
  replace_each(text, "&gt;", ">");
  // The blanks around it give the first and the last character neighbours.
  std::string spaced = " ";
  for (const char c : text) {
    if (stands_alone(c)) spaced += ' ';
    spaced += c;
    if (stands_alone(c)) spaced += ' ';
  }
  spaced += ' ';
  spaced = space_pairs(spaced, is_no_digit, is_point_or_comma, false);
  spaced = space_pairs(spaced, is_point_or_comma, is_no_digit, true);
  return split_words(space_pairs(spaced, is_digit, is_dash, false));
}

double BleuScore::ratio() const {
  return reference_length == 0 ? 0 : static_cast<double>(hypothesis_length) / static_cast<double>(reference_length);
}

std::string BleuScore::to_string() const {
  return fmt::format("BLEU = {:.2f} {:.1f}/{:.1f}/{:.1f}/{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})",
                     score, precisions[0], precisions[1], precisions[2], precisions[3], brevity_penalty, ratio(),
                     hypothesis_length, reference_length);
}

std::string BleuScore::remark() const {
  // Smoothing leaves no order at zero that has anything to count.
  return score == 0 && precisions[0] > 0 ? " (0 because no hypothesis has four tokens)" : "";
}

BleuScore score_bleu(std::span<const std::string> references, std::span<const std::string> hypotheses,
                     bool lower_cased) {
  check_pairs(references, hypotheses);
  std::unordered_map<std::string, uint32_t> numbers;  // of words
  const auto tokens = [&](const std::string& line) {
    std::vector<uint32_t> ids;
    for (std::string& word : tokenize_13a(lower_cased ? lower_case(line) : line))
      ids.push_back(numbers.try_emplace(std::move(word), static_cast<uint32_t>(numbers.size() + 1)).first->second);
    return ids;
  };
  BleuCounts counts;
  for (size_t i = 0; i < references.size(); ++i) {
    const auto reference = tokens(references[i]), hypothesis = tokens(hypotheses[i]);
    counts.reference_length += static_cast<int64_t>(reference.size());
    counts.hypothesis_length += static_cast<int64_t>(hypothesis.size());
    const auto shared = shared_ngrams<4>(hypothesis, reference);
    for (size_t n = 0; n < counts.totals.size(); ++n) {
      counts.matches[n] += shared[n];
      counts.totals[n] += count_ngrams(hypothesis.size(), n + 1);
    }
  }
  BleuScore result = score_of(counts);
  result.signature = fmt::format("nrefs:1|case:{}|eff:no|tok:13a|smooth:exp|version:2.x", lower_cased ? "lc" : "mixed");
  return result;
}

}  // namespace vkformer
