#pragma once
// Where model folders and GGUF files keep their chat template, and the special tokens that it writes.

#include <filesystem>
#include <optional>

#include "models/chat/chat_template.h"
#include "models/text/prompt_text.h"

namespace vkformer {

/// The template of a folder: chat_template.jinja, else "chat_template" of tokenizer_config.json (the text, or of a list
/// of named ones that which is called `kind`, else "default"), else of chat_template.json; of a GGUF file its own;
/// nothing where there is none. Throws Error for files that are not what they should be, and like ChatTemplate.
std::optional<ChatTemplate> find_chat_template(const std::filesystem::path& folder, std::string_view kind = "default");

/// The same template's text, "" where there is none.
std::string chat_template_text(const std::filesystem::path& folder);

/// A template's file or the name of one that is built in: "chatml". Throws Error when it is neither.
ChatTemplate chat_template_named(const std::string& file_or_name);

/// "bos_token", "eos_token" and the like, as tokenizer_config.json or special_tokens_map.json has them: what
/// transformers gives a template beside the conversation.
nlohmann::ordered_json special_token_variables(const std::filesystem::path& folder);

/// What the template writes behind an assistant's answer, such as "<|im_end|>\n"; empty where that can't be told.
std::string text_behind_answers(const ChatTemplate& chat, const nlohmann::ordered_json& variables);
/// The special token that this text begins with, behind white space or not, which ends an answer; nothing where it
/// begins with none.
std::optional<int32_t> end_of_turn(const std::string& behind_answers, const PromptText& tokenizer);

}  // namespace vkformer
