#pragma once
// Rows of prompts as the ids that a language model learns from: texts, prompts with their completions, conversations.

#include <optional>

#include "models/chat/chat_template.h"
#include "models/data/learned_text.h"
#include "models/data/prompt_rows.h"
#include "models/text/prompt_text.h"
#include "tools/cli/train_job.h"

namespace vkformer {

/// What is said of rows that could not be taken as they are.
struct PromptCuts {
  int64_t cut = 0, left_out = 0, run_on = 0, endless = 0;

  std::string text(int64_t context) const;
};

class PromptEncoder {
 public:
  /// By the tokenizer and the chat template, if there is one, of `folder`; texts end with the config's eos_token_id and
  /// are cut at `context` + 1 tokens. The tokenizer must outlive it. Throws Error for an end that the model has not.
  PromptEncoder(const PromptText& tokenizer, const std::filesystem::path& folder, const Model& model, int64_t context);

  /// Throws Error, which begins with `place`, for messages without a template, and what that throws.
  LearnedText encode(const PromptRow& row, const std::string& place, PromptCuts& cuts) const;
  /// What the model generates as a text's end.
  std::optional<int32_t> end() const { return end_; }

 private:
  LearnedText encode_conversation(const PromptRow& row, PromptCuts& cuts) const;
  LearnedText encode_text(const PromptRow& row, PromptCuts& cuts) const;
  bool learns_an_end(const LearnedText& text) const;

  const PromptText& tokenizer_;
  std::optional<ChatTemplate> template_;
  nlohmann::ordered_json variables_;
  std::optional<int32_t> end_;
  int64_t context_;
};

/// The folder of the tokenizer of a job of prompts. Throws UsageError, naming the job's option, where there is none.
std::filesystem::path prompt_folder(const TrainFlags& flags, const std::filesystem::path& checkpoint,
                                    const char* option);

/// A job with nothing but its causal model, and that folder's tokenizer to write. Sets the flags' context where they
/// have none. Throws Error for other models.
TrainJob prompt_job(TrainFlags& flags, const std::filesystem::path& checkpoint, const std::filesystem::path& folder,
                    const PromptText& tokenizer, const char* option);

/// A text's beginning, with what is learned of it in brackets.
std::string shown(const LearnedText& text, const PromptText& pieces);
int64_t learned_tokens(const LearnedText& text);

}  // namespace vkformer
