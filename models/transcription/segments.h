#pragma once
// What was said when.

#include <span>
#include <vector>

#include "models/transcription/speech_tokens.h"

namespace vkformer {

struct SpokenWord {
  double begin = 0, end = 0;  ///< seconds from the beginning of the recording
  std::string text;
  double probability = 0;
};

/// A piece of a transcript.
struct SpeechSegment {
  double begin = 0, end = 0;  ///< seconds from the beginning of the recording
  std::string text;
  std::string language;  ///< that is spoken; "" for models of English alone

  std::vector<int32_t> ids = {};  ///< of the text
  bool timed = false;             ///< whether words were asked for
  /// Then these: none where all are a part of the word before the segment, as punctuation may be.
  std::vector<SpokenWord> words = {};
  // Of all that was written with it.
  double window = 0;           ///< seconds at which the window that was heard begins
  double temperature = 0;      ///< at which it was drawn; 0: not at all
  double log_probability = 0;  ///< the mean of a token
  double silence = 0;          ///< how likely nobody speaks there
};

/// A piece of what a model wrote of a window: its text's tokens, its times by the window's beginning.
struct TimedTokens {
  double begin = 0, end = 0;
  std::vector<int32_t> ids;
};

struct WindowSegments {
  std::vector<TimedTokens> segments;
  double seconds = 0;  ///< of the window that these are all of; the next one begins there
};

/// Parts `ids`, all that was written of a window of so many seconds, at its times: as the reference does, text behind
/// the last pair of times belongs to the next window, unless the window ends with a single time or has no pair.
WindowSegments split_at_times(std::span<const int32_t> ids, double seconds, const SpeechTokens& tokens);

}  // namespace vkformer
