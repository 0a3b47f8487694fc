#pragma once
// Where times may stand in what Whisper writes of a window.

#include "models/generation/token_constraint.h"
#include "models/transcription/speech_tokens.h"

namespace vkformer {

/// The rules of Radford et al.'s reference (ApplyTimestampRules): a window begins with a time of at most latest_start;
/// times come in pairs, the end of one segment and the beginning of the next, but for the last; they never go back, and
/// a segment is not empty; and where all times together are likelier than every other token, a time comes.
class TimestampRule final : public TokenConstraint {
 public:
  explicit TimestampRule(SpeechTokens tokens) : tokens_(std::move(tokens)) {}
  void restrict_scores(std::span<const int32_t> generated, std::span<double> scores) const override;
  bool is_whole(std::span<const int32_t>) const override { return true; }

 private:
  SpeechTokens tokens_;
};

}  // namespace vkformer
