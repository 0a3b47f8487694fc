#pragma once
// The tokens by which Whisper is told what to write, and by which it tells times.

#include <map>
#include <optional>
#include <string>

#include "models/generation/generation_plan.h"
#include "models/model.h"
#include "models/text/tokenizer.h"

namespace vkformer {

struct SpeechTokens {
  int32_t start = 0;                         ///< <|startoftranscript|>
  int32_t end = 0;                           ///< <|endoftext|>; those below it are text
  std::map<std::string, int32_t> languages;  ///< by "de"; empty: the model writes English alone, and is told neither
  std::optional<int32_t> transcribe, translate;
  int32_t no_timestamps = 0;
  int32_t first_time = 0;                   ///< <|0.00|>; the next ones are 20 ms later each
  std::optional<int32_t> previous;          ///< <|startofprev|>: what was said before follows
  std::optional<int32_t> no_speech;         ///< <|nospeech|>
  int64_t latest_start = 50;                ///< times that a window's first one may be after <|0.00|>
  std::vector<int32_t> never, never_first;  ///< tokens that are suppressed
  /// Heads of the decoder that look at what is being written: those that were found to, else all of the upper half of
  /// its layers.
  std::vector<CrossHead> alignment_heads;

  /// What the decoder begins with behind `start`, or is trained to write there: the language and the task of a model of
  /// many languages, and that no times follow.
  std::vector<int32_t> heading(const std::string& language, bool to_english, bool times) const;
  bool is_time(int32_t token) const { return token >= first_time; }
  /// By its code ("de"). Throws Error with all codes for one that there is not.
  int32_t language(const std::string& name) const;
};

/// Those of a tokenizer, `name` for errors, with the rules of a generation_config.json. Throws Error, naming the token,
/// where the tokenizer is not Whisper's.
SpeechTokens speech_tokens_of(const Tokenizer& tokenizer, const std::string& name, const Model& model,
                              const JsonObject& generation);
/// The same of a folder, whose config.json has those rules where it is older than generation_config.json.
SpeechTokens load_speech_tokens(const std::filesystem::path& folder, const Model& model, const Tokenizer& tokenizer);

}  // namespace vkformer
