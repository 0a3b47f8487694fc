#include "python/bindings/folder_texts.h"

#include <nlohmann/json.hpp>

#include "models/chat/chat_files.h"
#include "models/model_files.h"

namespace vkformer::python {

namespace {

void check_folder(const std::filesystem::path& folder) {
  check(!folder.empty(), "this model has no folder, and so no tokenizer and no chat template; give ids");
}

}  // namespace

FolderTexts::FolderTexts(const std::filesystem::path& folder, const nlohmann::json& config)
    : folder_(folder.empty() ? folder : std::filesystem::absolute(folder).lexically_normal()),
      text_([&] {
        check_folder(folder_);
        return std::make_shared<const PromptText>(folder_);
      }),
      generation_([&]() -> GenerationSource {
        if (folder_.empty() || !has_model_json(folder_, "config.json"))
          return {JsonObject::make(config, "config.json"), {}};
        return find_generation_source(folder_, has_text() && !text().has_end());
      }),
      recipe_([&] {
        check_folder(folder_);
        return embedding_recipe(folder_);
      }),
      of_vocabulary_([&] {  // which PromptText reads by itself, and batches of texts want as a Tokenizer
        check(has_text() && !text().tokenizer(), "it has a tokenizer");
        return Tokenizer(load_model_json(folder_, tokenizer_file));
      }),
      chat_([&] { return read_chat("default"); }),
      chat_of_tools_([&] { return read_chat("tool_use"); }) {}

FolderTexts::Chat FolderTexts::read_chat(const char* kind) const {
  check_folder(folder_);
  auto found = find_chat_template(folder_, kind);
  check(found.has_value(), "'{}' has no chat template; write the conversation yourself", folder_.generic_string());
  Chat chat{*std::move(found), special_token_variables(folder_), {}};
  if (has_text()) chat.end = end_of_turn(text_behind_answers(chat.chat, chat.variables), text());
  return chat;
}

std::shared_ptr<const PromptText> FolderTexts::text_of(const std::string& language) const {
  return language.empty() ? text_.get() : std::make_shared<const PromptText>(folder_, language);
}

const Tokenizer& FolderTexts::tokenizer() const {
  return text().tokenizer() ? *text().tokenizer() : of_vocabulary_.get();
}

}  // namespace vkformer::python
