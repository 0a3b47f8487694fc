#pragma once
// Files of what a language model is to say, as people keep them for fine-tuning: JSON lines with
//
//   {"prompt": "..", "completion": ".."}                     it learns the completion
//   {"text": ".."}                                           it learns all of it
//   {"messages": [{"role": "user", "content": ".."}, ..]}    it learns what the assistant says; "tools" may go with it

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/json_file.h"

namespace vkformer {

/// A stretch of a text. Only what is learned has a loss.
struct TextStretch {
  std::string text;
  bool learned = true;
};

struct PromptRow {
  std::vector<TextStretch> stretches;  ///< of a prompt and its completion, or of a text
  nlohmann::ordered_json messages;     ///< instead: an array, each with a "role"; null: there is none
  nlohmann::ordered_json tools;        ///< that the messages may call; null: none are told of
  size_t line = 0;                     ///< of the file, from 1 on
};

struct PromptRows {
  std::string name;  ///< what errors call the file
  std::vector<PromptRow> rows;
};

/// Takes the object of a line, and its number in the file, from 1 on.
using TakePromptRow = std::function<void(const JsonObject& object, const std::string& line, size_t number)>;
/// Each line that is not empty. Throws Error for a file that is none of JSON lines, or has no rows.
void for_rows_of_prompts(std::string_view content, const std::string& name, const TakePromptRow& take);

/// The rows of a file's content; empty lines are left out, other keys ignored. Throws Error naming file and line.
PromptRows read_prompt_rows(std::string_view content, const std::string& name);

}  // namespace vkformer
