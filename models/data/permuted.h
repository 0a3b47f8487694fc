#pragma once
// A text as training data of XLNet's permutation language model (Yang et al. 2019): spans of a window are predicted,
// in a random order, each word from those that are not predicted and those that come before it in the order.

#include "models/data/window_data.h"

namespace vkformer {

/// Targets are drawn as transformers' DataCollatorForPermutationLanguageModeling does: one after another, spans of 1 to
/// 5 tokens (each length as likely) somewhere in a stretch six times as long, so that a sixth of all tokens is
/// predicted. Words are given as they are (there, predicted ones become the mask token for the later ones, too), and a
/// window may have any length.
class PermutedText : public WindowData {
 public:
  /// Windows of `context` tokens. Throws Error when a split is shorter than one.
  PermutedText(TextSplit text, const Settings& settings);

  /// P of a window of so many positions: the most targets that can be drawn. A window that has fewer leaves its last
  /// predictions empty: "predicted" is -1 and the target ignored.
  static int64_t most_predictions(int64_t positions);

 private:
  /// "ids", "order", "predicted" and "targets" [B, P], see add_inputs().
  DataBatch assemble(std::span<const Window> windows) const override;
};

}  // namespace vkformer
