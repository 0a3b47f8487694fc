#pragma once
// Answers in several messages, as gpt-oss writes them ("harmony", OpenAI 2025): each with a header that names its
// channel, of which "final" is what was asked for; the others are thoughts, or calls of tools.
//
//   <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...<|return|>
//   <|channel|>commentary to=functions.weather <|constrain|>json<|message|>{...}<|call|>

#include "models/chat/answer_parts.h"

namespace vkformer {

class Channels final : public AnswerParts {
 public:
  /// Special tokens of the format.
  struct Marks {
    int32_t start, channel, message, end;
    int32_t constrain = -1;  ///< before what a message is made of; -1: there is none
  };
  /// `id_of`: of a special token, nothing where there is none. Nothing where the format is not the tokenizer's.
  static std::optional<Marks> find(const std::function<std::optional<int32_t>(std::string_view token)>& id_of);

  using Part = AnswerPart;  ///< a header names a message; of a message without a channel all is the answer
  /// Decodes the ids of a header.
  using TextOf = std::function<std::string(const std::vector<int32_t>& ids)>;
  /// `prompt`: what the answer is to go on with; it may have begun a message, or be of another format.
  Channels(const Marks& marks, TextOf text_of, std::span<const int32_t> prompt);
  Part part() const override { return part_; }
  Part take(int32_t id) override;
  std::string called() const override { return called_; }

 private:
  /// The tool that a part of a header names; "": none.
  std::string recipient_in(std::span<const int32_t> header) const;

  Marks marks_;
  TextOf text_of_;
  Part part_ = Part::answer;
  std::vector<int32_t> header_;    ///< its ids, without marks
  std::optional<size_t> channel_;  ///< where in it that mark was
  std::string called_;
};

}  // namespace vkformer
