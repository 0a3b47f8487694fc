#include "models/data/questions.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/data/json_lines.h"
#include "models/data/lines.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

bool starts_character(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) != 0x80; }

/// Where character `number` begins; the text's size where it has not so many.
size_t byte_of_character(std::string_view text, int64_t number) {
  size_t at = 0;
  for (; at < text.size(); ++at)
    if (starts_character(text[at]) && number-- == 0) break;
  return at;
}

void add_answer(Question& question, const std::string& answer, int64_t start) {
  check(answer.find_first_not_of(" \t\r\n") != std::string::npos,
        "{}: an answer is empty; a question without an answer has an empty list of them", question.place);
  const size_t begin = byte_of_character(question.context, start);
  check(std::string_view(question.context).substr(begin).starts_with(answer),
        "{}: the answer {} is not at character {} of the context, there is {}", question.place, in_quotes(answer),
        start, in_quotes(std::string_view(question.context).substr(begin, answer.size())));
  const ByteRange range = without_blanks(question.context, {begin, begin + answer.size()});
  check(range.begin < range.end, "{}: the answer at character {} is blank", question.place, start);
  if (question.answers.empty()) question.answer = range;
  question.answers.push_back(answer);
}

constexpr int64_t most_characters = int64_t{1} << 31;

void add_answer_object(Question& question, const JsonObject& answer, const char* text_key) {
  add_answer(question, require_string(answer, text_key), require_integer(answer, "answer_start", 0, most_characters));
}

/// {"text": [..], "answer_start": [..]}
void add_answer_lists(Question& question, const JsonObject& answers) {
  const nlohmann::json texts = answers.value().value("text", nlohmann::json()),
                       starts = answers.value().value("answer_start", nlohmann::json());
  check(texts.is_array() && starts.is_array() && texts.size() == starts.size(),
        "{}: \"text\" and \"answer_start\" must be arrays of one length", answers.name());
  for (size_t i = 0; i < texts.size(); ++i) {
    check(texts[i].is_string() && starts[i].is_number_unsigned(),
          "{}: \"text\" must hold strings, \"answer_start\" counts of characters", answers.name());
    add_answer(question, texts[i].get<std::string>(), starts[i].get<int64_t>());
  }
}

Question question_of(const JsonObject& object, std::string context) {
  Question question{.question = require_string(object, "question"),
                    .context = std::move(context),
                    .answers = {},
                    .answer = {},
                    .place = object.name()};
  if (!object.has("answers")) {
    check(object.has("answer"), "{}: neither \"answers\" nor \"answer\" is there", object.name());
    add_answer_object(question, object, "answer");
  } else if (object.value()["answers"].is_array()) {
    for (const JsonObject& answer : require_objects(object, "answers")) add_answer_object(question, answer, "text");
  } else {
    add_answer_lists(question, require_object(object, "answers"));
  }
  const nlohmann::json impossible = object.value().value("is_impossible", nlohmann::json(question.answers.empty()));
  check(impossible == nlohmann::json(question.answers.empty()),
        "{}: \"is_impossible\" is {}, and the number of answers {}; one of them is wrong", object.name(),
        printable(impossible.dump()), question.answers.size());
  return question;
}

}  // namespace

Questions read_questions(std::string_view content, const std::string& name) {
  Questions result{.name = name, .questions = {}};
  const std::string kind = std::filesystem::path(name).extension().generic_string();
  check(kind == ".jsonl" || kind == ".ndjson" || kind == ".json",
        "{}: its name does not say how it is to be read; call it .jsonl, or .json as SQuAD's", name);
  if (kind == ".json") {
    for (const JsonObject& article : require_objects(JsonObject::parse(content, name), "data"))
      for (const JsonObject& paragraph : require_objects(article, "paragraphs"))
        for (const JsonObject& object : require_objects(paragraph, "qas"))
          result.questions.push_back(question_of(object, require_string(paragraph, "context")));
  } else {
    const std::vector<std::string> lines = split_lines(content, name);
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].find_first_not_of(" \t") == std::string::npos) continue;
      const JsonObject object = parse_json_line(lines[i], name, i + 1);
      result.questions.push_back(question_of(object, require_string(object, "context")));
    }
  }
  check(!result.questions.empty(), "{} has no questions", name);
  return result;
}

size_t characters_before(std::string_view text, size_t byte) {
  return static_cast<size_t>(std::ranges::count_if(text.substr(0, byte), starts_character));
}

ByteRange without_blanks(std::string_view text, ByteRange range) {
  ByteRange inner{range.end, range.end};
  for_each_character(text.substr(range.begin, range.end - range.begin), [&](char32_t c, size_t at, size_t length) {
    if (is_white_space(c)) return;
    inner.begin = std::min(inner.begin, range.begin + at);
    inner.end = range.begin + at + length;
  });
  return inner;
}

}  // namespace vkformer
