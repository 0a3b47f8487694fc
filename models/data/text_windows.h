#pragma once
// A text as training data of a causal model.

#include "models/data/window_data.h"

namespace vkformer {

/// Windows of `context` tokens and the one that follows them; targets are one position further.
class TextWindows : public WindowData {
 public:
  /// Throws Error when a split is shorter than one context and its next token.
  TextWindows(TextSplit text, const Settings& settings);

 private:
  DataBatch assemble(std::span<const Window> windows) const override;
};

}  // namespace vkformer
