#pragma once
// A text as training data of T5's span corruption (Raffel et al. 2020, "Exploring the Limits of Transfer Learning with
// a Unified Text-to-Text Transformer"): spans of a window are replaced by sentinels, and the decoder writes each
// sentinel and what it stands for.

#include "models/data/window_data.h"

namespace vkformer {

/// What becomes of a window, as in run_t5_mlm_flax.py of transformers: 15 % of its tokens are noise, in spans of 3 on
/// average.
struct SpanLengths {
  int64_t tokens = 0;                                            ///< of the window, 2 or more
  int64_t noise = 0;                                             ///< of these
  int64_t spans = 0;                                             ///< of noise
  int64_t source() const { return tokens - noise + spans + 1; }  ///< of the encoder: what is left, sentinels, the end
  int64_t target() const { return noise + spans + 1; }           ///< of the decoder: the rest, sentinels, the end

  static SpanLengths of_window(int64_t tokens);
  /// Of the longest window whose source has exactly so many positions. Throws Error for fewer than 3.
  static SpanLengths of_source(int64_t positions);
};

/// The ids that stand for something else than text.
struct SpanTokens {
  std::vector<int32_t> sentinels;  ///< of the first span, of the second ..
  int32_t end = 0;                 ///< of source and target
  int32_t decoder_start = 0;
};

class SpanText : public WindowData {
 public:
  /// Sources have `context` positions. Throws Error when a split is shorter than the window that this takes, and when
  /// there are fewer sentinels than spans.
  SpanText(TextSplit text, SpanTokens tokens, const Settings& settings);

 private:
  SpanText(TextSplit text, SpanTokens tokens, const Settings& settings, const SpanLengths& lengths);
  /// "source", "ids" and "targets".
  DataBatch assemble(std::span<const Window> windows) const override;

  SpanTokens tokens_;
  SpanLengths lengths_;
};

}  // namespace vkformer
