#pragma once
// Speech to text with Whisper: windows of a recording one after the other, each encoded once and written down with its
// times, from which the next one begins (Radford et al. 2022, section 4.5).

#include <functional>

#include "models/audio/mel_settings.h"
#include "models/generation/prepared_search.h"
#include "models/transcription/segments.h"

namespace vkformer {

struct TranscribeSettings {
  std::string language;    ///< that is spoken: "de"; empty: what the first window sounds like
  bool translate = false;  ///< into English
  bool times = true;       ///< else each window is one segment
  int64_t beams = 5;       ///< and draws, where a text is doubted
  std::string before;      ///< what was said before: names and words as they are to be spelled
  /// A text of less than this probability a token (its natural logarithm), or one that repeats itself, is drawn anew at
  /// the next of these temperatures.
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
  /// All must outlive this. Throws Error for a model that reads no sound, and for a language or a task that it has not.
  Transcriber(Backend& backend, const Model& model, std::shared_ptr<Store> weights, const Tokenizer& tokenizer,
              SpeechTokens tokens, const MelSettings& mel, TranscribeSettings settings);

  /// `samples`: of the whole recording, at the rate of the mel settings. Calls `take` for each segment, as soon as it
  /// is written. `goes_on` (optional) is asked with the seconds that are done; false ends it there.
  void transcribe(std::span<const float> samples, const std::function<void(const SpeechSegment&)>& take,
                  const std::function<bool(double seconds)>& goes_on = {});
  /// The programs that it replays.
  const Generator& generator() const { return generator_; }

 private:
  /// What the model wrote of a window, and how sure it was.
  struct Written {
    std::vector<int32_t> ids;
    double log_probability = 0;  ///< the mean of a token, of those that the rules leave
  };
  /// The logits behind <|startoftranscript|>.
  std::vector<float> listen(std::span<const float> samples);
  std::vector<int32_t> prompt(const std::string& language) const;
  Written write(const std::vector<int32_t>& prompt, double temperature);
  /// `silence`: how likely nobody speaks. Nothing where a doubted text is of that.
  std::optional<Written> write_well(const std::vector<int32_t>& prompt, double silence);

  const Model& model_;
  const Tokenizer& tokenizer_;
  SpeechTokens tokens_;
  MelSettings mel_;
  TranscribeSettings settings_;
  std::vector<int32_t> before_;
  std::shared_ptr<const TokenConstraint> rule_;
  Generator generator_;
  uint32_t draws_ = 0;
};

}  // namespace vkformer
