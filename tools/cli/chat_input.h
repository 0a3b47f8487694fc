#pragma once
// What people type into a chat.

#include <optional>
#include <string>

namespace vkformer {

/// Ctrl-C as a request, as long as this object lives; where stdin is no terminal it ends the command as ever.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  /// Whether it came since the last call.
  static bool take();

 private:
  bool caught_ = false;
};

class ChatInput {
 public:
  ChatInput();
  /// stdin and stdout are a terminal: prompts are printed.
  bool terminal() const { return terminal_; }
  /// The next message: a line, several that each end with a backslash, or what stands between lines of """; without
  /// the blanks around it. Nothing at the end of the input, and where Ctrl-C comes twice with nothing between.
  std::optional<std::string> next();

 private:
  enum class Read { line, end, interrupted };
  Read read_line(std::string& line);

  bool terminal_;
  std::string buffer_;  ///< read, not returned yet
};

}  // namespace vkformer
