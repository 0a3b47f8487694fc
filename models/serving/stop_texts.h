#pragma once
// Texts that end an answer before its model does.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vkformer {

/// Holds back as much of an answer as may be the beginning of a stop text.
class StopTexts {
 public:
  explicit StopTexts(std::vector<std::string> stops = {}) : stops_(std::move(stops)) {}
  /// What of the text so far can be shown now. Nothing more once one was found.
  std::string push(std::string_view piece);
  /// What was held back of an answer that ends here.
  std::string end() { return found() ? std::string() : std::exchange(held_, {}); }
  bool found() const { return !which_.empty(); }
  /// The one that was found, or "".
  const std::string& which() const { return which_; }

 private:
  std::vector<std::string> stops_;
  std::string held_, which_;
};

}  // namespace vkformer
