#pragma once
// A question and its context as the ids of an encoder, in windows where they are long.

#include <array>

#include "models/text/tokenizer.h"

namespace vkformer {

/// The question, then a part of the context.
struct AnswerWindow {
  std::vector<int32_t> ids, segments;  ///< with the tokenizer's special tokens
  int32_t first = 0;                   ///< position of the first of the context's tokens
  std::vector<ByteRange> spans;        ///< of the context, which its tokens stand for
  /// Positions of the first and the last token of the answer; 0 and 0, as SQuAD 2 has it, where it is not whole in this
  /// window, or there is none.
  std::array<int32_t, 2> ends{};
};

class QuestionEncoder {
 public:
  struct Settings {
    int64_t positions = 512;  ///< most tokens of a window
    int64_t stride = 128;     ///< tokens of the context that neighbouring windows share: at most half of them
  };
  /// `tokenizer` must outlive it. Throws Error where special tokens take the positions up.
  QuestionEncoder(const Tokenizer& tokenizer, const Settings& settings);

  /// At least one window. A question that takes more than half of the positions is cut at its end. `answer`: a range of
  /// the context; of no bytes where there is none. Throws Error, which begins with `place`, for an answer that the
  /// tokenizer drops, and for what is not UTF-8.
  std::vector<AnswerWindow> encode(std::string_view question, std::string_view context, ByteRange answer,
                                   std::string_view place);

  int64_t cut() const { return cut_; }      ///< questions that were
  int64_t split() const { return split_; }  ///< questions with several windows

 private:
  AnswerWindow window(const Encoding& question, ByteRange tokens) const;

  const Tokenizer& tokenizer_;
  Settings settings_;
  int64_t room_;  ///< positions of question and context
  int64_t cut_ = 0, split_ = 0;
  // Many questions follow each other with one context.
  std::string context_;
  Encoding encoded_;
};

/// The stride that is asked for or, of -1, the usual one: 128 tokens or a third of the positions. Throws Error for one
/// that leaves nothing new to a window.
int64_t stride_of(int64_t asked, int64_t positions);

}  // namespace vkformer
