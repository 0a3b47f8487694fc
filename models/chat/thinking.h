#pragma once
// Answers that begin with thoughts between two tokens, as those of Qwen 3, SmolLM 3 and DeepSeek R1 (others have tokens
// of their own: Ministral 3, Seed-OSS, Command R7B):
//
//   <think>\n...\n</think>\n\n...
//
// or, with a line that names them, those of Gemma 4:
//
//   <|channel>thought\n...<channel|>...

#include "models/chat/answer_parts.h"

namespace vkformer {

class Thinking final : public AnswerParts {
 public:
  struct Marks {
    int32_t begin, end;
    int32_t name_end = -1;  ///< the line end behind a name of the thoughts, with which they begin; -1: they have none
  };
  /// `id_of`: of a token, nothing where there is none.
  static std::optional<Marks> find(const std::function<std::optional<int32_t>(std::string_view token)>& id_of);

  /// `prompt`: which may have begun the thoughts.
  Thinking(const Marks& marks, std::span<const int32_t> prompt);
  AnswerPart part() const override { return part_; }
  AnswerPart take(int32_t id) override;

 private:
  Marks marks_;
  AnswerPart part_ = AnswerPart::answer;
  int64_t taken_ = 0;
  bool naming_ = false;
};

}  // namespace vkformer
