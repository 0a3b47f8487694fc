#pragma once
// Speech to text with Whisper: windows of a recording one after the other, each encoded once and written down with its
// times, from which the next one begins (Radford et al. 2022, section 4.5).

#include <functional>

#include "models/audio/mel_settings.h"
#include "models/generation/prepared_search.h"
#include "models/transcription/segments.h"
#include "models/transcription/token_alignment.h"

namespace vkformer {

/// What is to be written of a recording.
struct SpeechTask {
  std::string language = {};  ///< that is spoken: "de"; empty: what the first window sounds like
  bool translate = false;     ///< into English
  bool times = true;          ///< else each window is one segment
  bool words = false;         ///< segments have theirs, with times, and begin and end with them
  std::string before = {};    ///< what was said before: names and words as they are to be spelled
  double temperature = 0;     ///< at which a text is written first; 0: the likeliest one
};

struct TranscribeSettings {
  int64_t beams = 5;  ///< and draws, where a text is doubted
  /// A text of less than this probability a token (its natural logarithm), or one that repeats itself, is drawn anew at
  /// the next of these temperatures that is above its own.
  double least_log_probability = -1;
  std::vector<double> temperatures = {0.2, 0.4, 0.6, 0.8, 1.0};
  /// A window of a doubted text is left out where "nobody speaks" is likelier than this.
  double silence = 0.6;
  std::optional<DType> cache_type = {};
};

/// What a model reads where its folder does not say: windows of all its encoder's positions. Throws Error for a model
/// that reads no sound.
MelSettings usual_mel_settings(const Model& model);

/// Of the generator that a transcriber has. Throws Error where the model and the features don't fit together.
GeneratorShape transcription_shape(const Model& model, const MelSettings& mel, const TranscribeSettings& settings);

class Transcriber {
 public:
  /// All must outlive this. Throws Error for a model that reads no sound.
  Transcriber(Backend& backend, const Model& model, std::shared_ptr<Store> weights, const Tokenizer& tokenizer,
              SpeechTokens tokens, const MelSettings& mel, TranscribeSettings settings);

  /// Throws Error for a language, or anything else, that the model has not. From any thread.
  void check_task(const SpeechTask& task) const { static_cast<void>(prompt(task, task.language)); }
  /// `samples`: of the whole recording, at the rate of the mel settings. Calls `take` for each segment, as soon as it
  /// is written. `watch` (optional) is told the seconds that are done, again and again: behind every token. What these
  /// two throw ends it. The language that is spoken, "" for models of English alone. Throws Error like check_task().
  std::string transcribe(std::span<const float> samples, const SpeechTask& task,
                         const std::function<void(const SpeechSegment&)>& take,
                         const std::function<void(double seconds)>& watch = {});
  /// The programs that it replays.
  const Generator& generator() const { return generator_; }

 private:
  /// What the model wrote of a window, and how sure it was.
  struct Written {
    std::vector<int32_t> ids;
    double log_probability = 0;  ///< the mean of a token, of those that the rules leave
    double temperature = 0;
  };
  /// The logits behind <|startoftranscript|>.
  std::vector<float> listen(std::span<const float> samples);
  /// What is written is behind this. The language may be detected yet: "" then.
  std::vector<int32_t> prompt(const SpeechTask& task, const std::string& language) const;
  Written write(const std::vector<int32_t>& prompt, bool times, double temperature, const std::function<void()>& watch);
  /// `silence`: how likely nobody speaks. Nothing where a doubted text is of that.
  std::optional<Written> write_well(const std::vector<int32_t>& prompt, const SpeechTask& task, double silence,
                                    const std::function<void()>& watch);

  /// Gives the segments of a window of so many samples, which was encoded last, their words. `spoken`: see
  /// give_words().
  void time_words(std::span<SpeechSegment> segments, const SpeechTask& task, size_t samples, double& spoken);

  const Model& model_;
  const Tokenizer& tokenizer_;
  SpeechTokens tokens_;
  MelSettings mel_;
  TranscribeSettings settings_;
  std::shared_ptr<const TokenConstraint> rule_;  ///< of times
  Generator generator_;
  TokenAligner aligner_;
  uint32_t draws_ = 0;
};

}  // namespace vkformer
