#pragma once
// The lines that a verb works on.

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace vkformer {

class LineInput {
 public:
  /// Those that are given or, of nothing, those of standard input: of a file all of them at once, else as they come.
  /// Throws Error like read_lines().
  explicit LineInput(std::optional<std::vector<std::string>> given);
  /// One line where -p has a text; "-" stands for standard input.
  static LineInput of(const std::optional<std::string>& text);

  /// Whether all lines are there already, and have been checked.
  bool whole() const { return whole_; }
  /// Waits for the next one; nothing at the end. Throws Error for a line that is not UTF-8, when there is none at all,
  /// and when standard input can't be read; Interrupted when a signal that was to be noted came meanwhile.
  std::optional<std::string> next();
  /// Of the last one, from 1.
  size_t number() const { return number_; }

 private:
  bool read_more();

  bool whole_ = true, ended_ = false;
  size_t number_ = 0;
  std::deque<std::string> lines_;  ///< that are there
  std::string begun_;              ///< a line without its end
};

}  // namespace vkformer
