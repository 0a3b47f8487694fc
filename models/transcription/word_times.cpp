#include "models/transcription/word_times.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "models/text/decoders.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

constexpr size_t median_width = 7;

/// The medians of each row's neighbours; behind its ends it is mirrored.
void take_medians(std::vector<double>& matrix, size_t columns) {
  constexpr size_t half = median_width / 2;
  if (columns <= half) return;
  std::vector<double> wide(columns + 2 * half);
  for (auto row = matrix.begin(); row != matrix.end(); row += static_cast<std::ptrdiff_t>(columns)) {
    std::copy_n(row, columns, wide.begin() + half);
    for (size_t i = 1; i <= half; ++i) {
      wide[half - i] = wide[half + i];
      wide[half + columns - 1 + i] = wide[half + columns - 1 - i];
    }
    for (size_t i = 0; i < columns; ++i) {
      std::array<double, median_width> near{};
      std::copy_n(wide.begin() + static_cast<std::ptrdiff_t>(i), median_width, near.begin());
      std::ranges::nth_element(near, near.begin() + half);
      row[static_cast<std::ptrdiff_t>(i)] = near[half];
    }
  }
}

/// Whether a text is a part of `all`, as the empty one is.
bool is_in(std::string_view text, std::string_view all) { return all.find(text) != std::string_view::npos; }

std::string_view stripped(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\r\f\v";
  const size_t first = text.find_first_not_of(blanks);
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

/// Whether more bytes could complete the last character.
bool ends_within_character(std::string_view text) {
  Utf8Step step;
  for (size_t at = 0; at < text.size(); at += step.length) step = read_utf8(text, at);
  return step.incomplete;
}

void merge(TimedWord& into, TimedWord& word, std::string text) {
  into.text = std::move(text);
  into.tokens += word.tokens;
  word.text.clear();
  word.tokens = 0;
}

/// Opening marks become a part of the word that follows, others of the one before.
void merge_punctuation(std::vector<TimedWord>& words) {
  constexpr std::string_view opening = "\"'“¿([{-", closing = "\"'.。,，!！?？:：”)]}、";
  for (size_t next = words.size(), i = words.size(); i-- > 0;) {
    const bool opens = next < words.size() && words[i].text.starts_with(' ') && is_in(stripped(words[i].text), opening);
    if (opens)
      merge(words[next], words[i], words[i].text + words[next].text);
    else
      next = i;
  }
  for (size_t last = 0, i = 1; i < words.size(); ++i) {
    if (!words[last].text.ends_with(' ') && is_in(words[i].text, closing))
      merge(words[last], words[i], words[last].text + words[i].text);
    else
      last = i;
  }
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

std::vector<double> token_positions(const HeadWeights& weights, size_t first, size_t count, size_t seen) {
  std::vector<double> mean(count * seen);
  for (const std::vector<float>& head : weights.heads) {
    std::vector<double> own(weights.tokens * seen);
    for (size_t token = 0; token < weights.tokens; ++token) {
      const auto row = std::span(head).subspan(token * weights.positions, seen);
      const double sum = std::accumulate(row.begin(), row.end(), 0.0);
      for (size_t i = 0; i < seen && sum > 0; ++i) own[token * seen + i] = static_cast<double>(row[i]) / sum;
    }
    for (size_t i = 0; i < seen; ++i) {
      double sum = 0, squares = 0;
      for (size_t at = i; at < own.size(); at += seen) sum += own[at];
      const double middle = sum / static_cast<double>(weights.tokens);
      for (size_t at = i; at < own.size(); at += seen) squares += (own[at] - middle) * (own[at] - middle);
      const double deviation = std::sqrt(squares / static_cast<double>(weights.tokens));
      for (size_t at = i; at < own.size(); at += seen) own[at] = deviation > 0 ? (own[at] - middle) / deviation : 0;
    }
    take_medians(own, seen);
    for (size_t i = 0; i < mean.size(); ++i)
      mean[i] += own[first * seen + i] / static_cast<double>(weights.heads.size());
  }
  return mean;
}

std::vector<size_t> token_begins(std::span<const double> matrix, size_t tokens) {
  const size_t positions = matrix.size() / tokens, stride = positions + 1;
  enum Step : uint8_t { both, token, position };
  std::vector<double> costs((tokens + 1) * stride, std::numeric_limits<double>::infinity());
  std::vector<Step> steps(costs.size());
  costs[0] = 0;
  for (size_t i = 1; i <= tokens; ++i)
    for (size_t j = 1; j <= positions; ++j) {
      const size_t at = i * stride + j;
      const double diagonal = costs[at - stride - 1], down = costs[at - stride], right = costs[at - 1];
      const double least = std::min({diagonal, down, right});
      steps[at] = right == least ? position : diagonal == least ? both : token;
      costs[at] = least - matrix[(i - 1) * positions + j - 1];
    }
  std::vector<size_t> begins(tokens);
  for (size_t i = tokens, j = positions; i > 0;) {
    begins[i - 1] = j - 1;
    const Step step = steps[i * stride + j];
    if (step != token) --j;
    if (step != position) --i;
  }
  return begins;
}

std::vector<TimedWord> split_into_words(std::span<const std::string> bytes, bool by_characters) {
  constexpr std::string_view punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
  std::vector<TimedWord> words;
  TimedWord piece;
  for (size_t i = 0; i < bytes.size(); ++i) {
    piece.text += bytes[i];
    ++piece.tokens;
    if (i + 1 < bytes.size() && ends_within_character(piece.text)) continue;
    const bool begins = words.empty() || piece.text.starts_with(' ') || is_in(stripped(piece.text), punctuation);
    if (by_characters || begins) {
      words.push_back(std::move(piece));
    } else {
      words.back().text += piece.text;
      words.back().tokens += piece.tokens;
    }
    piece = {};
  }
  return words;
}

double give_times(std::vector<TimedWord>& words, std::span<const double> begins,
                  std::span<const double> probabilities) {
  size_t token = 0;
  std::vector<double> lengths;
  for (TimedWord& word : words) {
    const auto own = probabilities.subspan(token, word.tokens);
    word.probability = std::accumulate(own.begin(), own.end(), 0.0) / static_cast<double>(own.size());
    word.begin = begins[token];
    word.end = begins[token += word.tokens];
    if (word.end > word.begin) lengths.push_back(word.end - word.begin);
  }
  const double usual = std::min(0.7, median(lengths)), longest = 2 * usual;
  constexpr std::string_view ends = ".。!！?？";
  for (size_t i = 1; i < words.size() && !lengths.empty(); ++i) {
    if (words[i].end - words[i].begin <= longest) continue;
    if (is_in(words[i].text, ends))
      words[i].end = words[i].begin + longest;
    else if (is_in(words[i - 1].text, ends))
      words[i].begin = words[i].end - longest;
  }
  merge_punctuation(words);
  return usual;
}

void give_words(std::span<SpeechSegment> segments, std::span<const TimedWord> words, double offset, double usual,
                double& spoken) {
  const double longest = 2 * usual;
  auto next = words.begin();
  for (SpeechSegment& segment : segments) {
    std::vector<SpokenWord> own;
    for (size_t tokens = 0; next != words.end() && tokens < segment.ids.size(); tokens += (next++)->tokens)
      if (!next->text.empty())
        own.push_back({offset + next->begin, offset + next->end, valid_utf8(stripped(next->text)), next->probability});
    if (own.empty()) continue;
    SpokenWord& first = own.front();
    const auto length = [&](size_t count) { return own[count - 1].end - first.begin; };
    if (first.end - spoken > 4 * usual && (length(1) > longest || (own.size() > 1 && length(2) > 2 * longest))) {
      if (own.size() > 1 && own[1].end - own[1].begin > longest)
        first.end = own[1].begin = std::max(own[1].end / 2, own[1].end - longest);
      first.begin = std::max(0.0, first.end - longest);
    }
    constexpr double far = 0.5;
    if (segment.begin < first.end && segment.begin - far > first.begin)
      first.begin = std::max(0.0, std::min(first.end - usual, segment.begin));
    else
      segment.begin = first.begin;
    SpokenWord& last = own.back();
    if (segment.end > last.begin && segment.end + far < last.end)
      last.end = std::max(last.begin + usual, segment.end);
    else
      segment.end = last.end;
    spoken = segment.end;
    std::erase_if(own, [](const SpokenWord& word) { return word.text.empty(); });  // blanks alone
    segment.words = std::move(own);
  }
}

}  // namespace vkformer
