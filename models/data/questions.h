#pragma once
// Files of questions, texts that may answer them, and the answers, in the forms of SQuAD.

#include <string>
#include <string_view>
#include <vector>

#include "models/text/unicode.h"

namespace vkformer {

struct Question {
  std::string question, context;
  std::vector<std::string> answers;  ///< any of them is right; none: the context does not tell
  ByteRange answer;                  ///< where the first of them is in the context, without blanks around it
  std::string place;                 ///< of the file
};

struct Questions {
  std::string name;  ///< what errors call the file
  std::vector<Question> questions;
};

/// The questions of a file's content. The end of `name` says what it is: .jsonl (.ndjson, too), an object a line with
/// "question", "context" and "answers": {"text": [..], "answer_start": [..]}, or "answer" and "answer_start"; or .json
/// as SQuAD is published, {"data": [{"paragraphs": [{"context", "qas": [{"question", "answers": [{"text",
/// "answer_start"}]}]}]}]}. answer_start counts characters (code points). Throws Error naming the place, also for an
/// answer that is not where it is said to be.
Questions read_questions(std::string_view content, const std::string& name);

/// Byte `byte` of valid UTF-8 as a count of characters.
size_t characters_before(std::string_view text, size_t byte);

/// A range of a text without the blanks at its ends.
ByteRange without_blanks(std::string_view text, ByteRange range);

}  // namespace vkformer
