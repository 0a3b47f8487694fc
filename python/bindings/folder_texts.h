#pragma once
// What a model's folder says of texts, read when it is opened: checkpoints of a run come and go.

#include <filesystem>

#include "models/chat/chat_template.h"
#include "models/embedding/recipe.h"
#include "models/generation/generation_config.h"
#include "models/text/prompt_text.h"
#include "runtime/check.h"

namespace vkformer::python {

/// What was read, or why it could not be, which is an error of whoever asks for it.
template <class T>
class Read {
 public:
  template <class Reader>
  explicit Read(const Reader& reader) {
    try {
      value_.emplace(reader());
    } catch (const Error& error) {
      why_ = error.what();
    }
  }
  bool is_there() const { return value_.has_value(); }
  const T& get() const {
    check(is_there(), "{}", why_);
    return *value_;
  }

 private:
  std::optional<T> value_;
  std::string why_;
};

class FolderTexts {
 public:
  /// Of a model's folder or file, or of a tokenizer's folder; an empty path: of a model that has none, which is
  /// generated with as its config says.
  FolderTexts(const std::filesystem::path& folder, const nlohmann::json& config);

  /// Absolute; empty where there is none.
  const std::filesystem::path& folder() const { return folder_; }

  // Each throws Error where the folder has no such thing, or one that is not supported.

  const PromptText& text() const { return *text_.get(); }
  bool has_text() const { return text_.is_there(); }
  /// The same for texts of that language, see PromptText; "": as the files say.
  std::shared_ptr<const PromptText> text_of(const std::string& language) const;
  /// That of batches of texts, which may be one of characters or bytes.
  const Tokenizer& tokenizer() const;
  const GenerationSource& generation() const { return generation_.get(); }
  const EmbeddingRecipe& recipe() const { return recipe_.get(); }

  /// A chat template with its special tokens, and the id that ends an answer by it.
  struct Chat {
    ChatTemplate chat;
    nlohmann::ordered_json variables;
    std::optional<int32_t> end;
  };
  const Chat& chat(bool tools) const { return (tools ? chat_of_tools_ : chat_).get(); }

 private:
  Chat read_chat(const char* kind) const;

  std::filesystem::path folder_;
  Read<std::shared_ptr<const PromptText>> text_;
  Read<GenerationSource> generation_;
  Read<EmbeddingRecipe> recipe_;
  Read<Tokenizer> of_vocabulary_;  ///< of characters or bytes
  Read<Chat> chat_, chat_of_tools_;
};

}  // namespace vkformer::python
