#pragma once
// What a chat does besides answering: lines that begin with a slash.

#include "tools/cli/chat_talk.h"

namespace vkformer {

enum class ChatStep : uint8_t {
  wait,    ///< for the next message
  answer,  ///< the last question of the history
  quit,
};

/// Does what `message`, which begins with "/", asks for, and says on stderr what was done. Throws Error for commands
/// that are not known, and for files.
ChatStep run_chat_command(ChatTalk& talk, const std::string& message);

}  // namespace vkformer
