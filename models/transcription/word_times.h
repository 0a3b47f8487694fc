#pragma once
// When each word of a transcript was said, as openai-whisper tells it (whisper/timing.py): heads of the decoder's
// cross-attention look at what is being written, and dynamic time warping follows them through the recording.

#include <span>
#include <string>
#include <vector>

#include "models/transcription/segments.h"

namespace vkformer {

/// What some heads see of an encoder's positions.
struct HeadWeights {
  size_t tokens = 0, positions = 0;
  std::vector<std::vector<float>> heads;  ///< of each [tokens, positions]
};

/// How much each of the tokens [first, first + count) looks at each of the first `seen` positions, [count, seen]: the
/// heads' weights among these positions, each compared with what the other tokens have there (less the mean, by the
/// standard deviation), the medians of seven neighbours, and of that the mean of all heads.
std::vector<double> token_positions(const HeadWeights& weights, size_t first, size_t count, size_t seen);

/// The position at which each token begins: where the path enters its row that goes through the matrix [tokens,
/// positions], never back in either, and collects the most of it.
std::vector<size_t> token_begins(std::span<const double> matrix, size_t tokens);

/// A word on its way, with what stands for it.
struct TimedWord {
  std::string text;  ///< with the blank before it; "" once another has taken it in
  size_t tokens = 0;
  double begin = 0, end = 0;  ///< seconds
  double probability = 0;     ///< the mean of its tokens
};

/// Parts tokens, of which these are the bytes, at blanks and punctuation or, where a language writes none, behind each
/// that ends a character. Times and probabilities are not there yet.
std::vector<TimedWord> split_into_words(std::span<const std::string> bytes, bool by_characters);

/// Gives the words of a window their times, by the seconds at which each token, and what is behind the last, begins;
/// and their probabilities. Words at the ends of sentences become no longer than twice the usual, and punctuation
/// becomes a part of its neighbour. Returns the usual length, the median, of 0.7 s at most.
double give_times(std::vector<TimedWord>& words, std::span<const double> begins, std::span<const double> probabilities);

/// Hands the words of a window, which begins at `offset`, to its segments, which begin and end with them from now on:
/// but for words behind a pause, and at a segment's ends, that are far longer than the `usual` ones. `spoken`: where
/// the last word before the window ends, and then that of this one.
void give_words(std::span<SpeechSegment> segments, std::span<const TimedWord> words, double offset, double usual,
                double& spoken);

}  // namespace vkformer
