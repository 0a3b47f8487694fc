#pragma once
// What a conversation needs of a model's files: how it is written, and how answers are chosen and end.

#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/chat/chat_template.h"
#include "tools/cli/generation_settings.h"

namespace vkformer {

/// How a conversation is written.
struct ChatSetup {
  /// Throws Error where the folder has no template and the flags name none, and UsageError for template arguments that
  /// are none.
  ChatSetup(const ChatFlags& flags, const std::filesystem::path& folder);

  ChatTemplate chat_template;
  nlohmann::ordered_json variables;  ///< that it reads beside the conversation
  std::string behind_answers;        ///< what it writes there, "" where that can't be told
};

/// How answers are chosen: as the flags say, else as the folder does, else as llama.cpp draws; of one beam. The special
/// token that begins `behind_answers` ends them, too.
GenerationSettings answer_settings(const ChatFlags& flags, const std::filesystem::path& folder, const Model& model,
                                   const PromptText& tokenizer, const std::string& behind_answers);

}  // namespace vkformer
