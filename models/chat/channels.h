#pragma once
// Answers in several messages, as gpt-oss writes them ("harmony", OpenAI 2025): each with a header that names its
// channel, of which "final" is what was asked for; the others are thoughts.
//
//   <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...<|return|>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

/// Tells of one answer's tokens, in order, what they are part of.
class Channels {
 public:
  /// Special tokens of the format.
  struct Marks {
    int32_t start, channel, message, end;
  };
  /// `id_of`: of a special token, nothing where there is none. Nothing where the format is not the tokenizer's.
  static std::optional<Marks> find(const std::function<std::optional<int32_t>(std::string_view token)>& id_of);

  enum class Part : uint8_t {
    header,   ///< names a message, or a mark
    thought,  ///< of a message of another channel than "final"
    answer,   ///< of the final one, or of a message without a channel
  };
  /// Decodes the ids of a header.
  using TextOf = std::function<std::string(const std::vector<int32_t>& ids)>;
  /// `prompt`: what the answer is to go on with; it may have begun a message, or be of another format.
  Channels(const Marks& marks, TextOf text_of, std::span<const int32_t> prompt);
  Part part() const { return part_; }
  /// What the next token is.
  Part take(int32_t id);

 private:
  Marks marks_;
  TextOf text_of_;
  Part part_ = Part::answer;
  bool named_ = false;            ///< the header has a channel
  std::vector<int32_t> channel_;  ///< its ids behind that mark
};

}  // namespace vkformer
