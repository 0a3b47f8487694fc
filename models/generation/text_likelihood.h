#pragma once
// How likely a model finds a text that is longer than one run: token by token, in windows that share some.

#include "models/generation/generation.h"

namespace vkformer {

/// Windows that a text is scored in.
struct TextWindowing {
  int64_t positions = 512;          ///< of a window
  int64_t shared = 256;             ///< tokens that a window begins with and the one before has scored
  std::vector<int32_t> begin = {};  ///< special tokens in front of each, which are not scored
};

/// Tokens [from, end - 1) of a text behind the special ones are read, and [first, end) scored.
struct TextWindow {
  size_t from = 0, first = 0, end = 0;
  size_t read() const { return end - 1 - from; }
  size_t scored() const { return end - first; }
};

/// Of a text of so many tokens: each is scored once, but for a first one with nothing in front. Throws Error where
/// windows can't go on: `shared` is 0 or leaves no room for more.
std::vector<TextWindow> text_windows(size_t tokens, const TextWindowing& windowing);
/// What a window reads.
std::vector<int32_t> window_ids(std::span<const int32_t> text, const TextWindow& window,
                                std::span<const int32_t> begin);

/// The natural logarithm of each token's probability, window after window; as many windows side by side as the
/// generator has rows. `on_windows` is told how many are done. Throws Error where they are no numbers.
std::vector<double> text_log_probabilities(Generator& generator, std::span<const int32_t> text,
                                           const std::vector<TextWindow>& windows, std::span<const int32_t> begin,
                                           const std::function<void(size_t done)>& on_windows = {});

/// Of each token that windows score, what two models make of its place.
struct Comparison {
  std::vector<double> own, other;        ///< the natural logarithm of the token's probability
  std::vector<double> kullback_leibler;  ///< sum of p ln(p / q) over the vocabulary, p: the other's, q: the own model's
  std::vector<double> same_likeliest;    ///< 1: both find the same token the likeliest, else 0
};
/// Both generators have one row and a vocabulary. Throws Error like text_log_probabilities().
Comparison compare_predictions(Generator& own, Generator& other, std::span<const int32_t> text,
                               const std::vector<TextWindow>& windows, std::span<const int32_t> begin,
                               const std::function<void(size_t done)>& on_window = {});

/// A mean and its standard error, of samples that do not depend on each other.
struct MeanOf {
  double mean = 0, error = 0;
};
MeanOf mean_of(std::span<const double> samples);

}  // namespace vkformer
