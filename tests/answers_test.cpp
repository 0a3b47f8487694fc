// Finding answers: files of questions, their windows and batches, what a model finds, and how that is scored.

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "models/classification/answerer.h"
#include "models/data/questions.h"
#include "models/data/text_data.h"
#include "models/parameters.h"
#include "models/score/answers.h"
#include "models/weights.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

using Ends = std::array<int32_t, 2>;

std::string refusal_of_questions(const std::string& name, const std::string& content) {
  return error_of([&] { read_questions(content, name); });
}

const Tokenizer& question_tokenizer() {
  static const Tokenizer tokenizer = Tokenizer::load(fixtures / "tokenizers/bert/tokenizer.json");
  return tokenizer;
}

/// The part of the text that the range is.
std::string part_of(const std::string& text, ByteRange range) {
  return text.substr(range.begin, range.end - range.begin);
}

/// What the tokens between a window's ends stand for.
std::string answer_in(const AnswerWindow& window, const std::string& context) {
  const auto [first, last] = window.ends;
  if (last == 0) return "";
  const auto span = [&](int32_t position) { return window.spans.at(static_cast<size_t>(position - window.first)); };
  return part_of(context, {span(first).begin, span(last).end});
}

/// Logits of a window's positions, all 0 but some.
std::vector<float> logits_with(size_t positions, const std::vector<std::pair<size_t, float>>& starts,
                               const std::vector<std::pair<size_t, float>>& ends) {
  std::vector<float> logits(2 * positions);
  for (const auto& [position, value] : starts) logits[2 * position] = value;
  for (const auto& [position, value] : ends) logits[2 * position + 1] = value;
  return logits;
}

/// Of context tokens that have a byte each, from position 3 on.
AnswerWindow plain_window(size_t tokens) {
  AnswerWindow window{.ids = {}, .segments = {}, .first = 3, .spans = {}};
  for (size_t i = 0; i < tokens; ++i) window.spans.push_back({i, i + 1});
  return window;
}

}  // namespace

TEST_CASE("questions are read from JSON lines and SQuAD's JSON", "[answers]") {
  const std::string context = "\"context\": \"Caf\xC3\xA9 Roma is old.\"";
  const auto [name, content] = GENERATE_COPY(
      std::pair<std::string, std::string>(
          "x.jsonl", "{\"question\": \"Which?\", " + context +
                         ", \"answers\": {\"text\": [\"Roma \", \"Caf\xC3\xA9\"], \"answer_start\": [5, 0]}}\n\n"
                         "{\"question\": \"Who?\", " +
                         context + ", \"answers\": {\"text\": [], \"answer_start\": []}}\n"),
      std::pair<std::string, std::string>(
          "x.json",
          "{\"data\": [{\"title\": \"t\", \"paragraphs\": [{" + context +
              ", \"qas\": [{\"question\": \"Which?\", \"answers\": [{\"text\": \"Roma \", \"answer_start\": 5}, "
              "{\"text\": \"Caf\xC3\xA9\", \"answer_start\": 0}]}, {\"question\": \"Who?\", \"answers\": [], "
              "\"is_impossible\": true}]}]}]}"));
  const Questions questions = read_questions(content, name);
  REQUIRE(questions.questions.size() == 2);
  const Question& first = questions.questions[0];
  CHECK(first.question == "Which?");
  CHECK(first.answers == std::vector<std::string>{"Roma ", "Caf\xC3\xA9"});
  CHECK(part_of(first.context, first.answer) == "Roma");
  CHECK(questions.questions[1].answers.empty());
  CHECK(questions.questions[1].answer.end == 0);
  const Questions one =
      read_questions("{\"question\": \"q\", " + context + ", \"answer\": \"old\", \"answer_start\": 13}", "y.jsonl");
  CHECK(part_of(one.questions.at(0).context, one.questions[0].answer) == "old");
  CHECK(characters_before(first.context, 6) == 5);
}

TEST_CASE("files that are no questions are refused by file and line", "[answers]") {
  CHECK_THAT(refusal_of_questions("x.csv", "a"), ContainsSubstring("x.csv: its name does not say"));
  CHECK_THAT(refusal_of_questions("x.jsonl", "\n \n"), ContainsSubstring("x.jsonl has no questions"));
  CHECK_THAT(refusal_of_questions("x.json", "{\"data\": []}"), ContainsSubstring("x.json has no questions"));
  CHECK_THAT(refusal_of_questions("x.json", "{\"rows\": []}"), ContainsSubstring("data"));
  const auto line = [](const std::string& rest) {
    return refusal_of_questions("x.jsonl", "\n{\"question\": \"q\", \"context\": \"a b\"" + rest + "}\n");
  };
  CHECK_THAT(line(""), ContainsSubstring("x.jsonl:2: neither \"answers\" nor \"answer\""));
  CHECK_THAT(line(", \"answer\": \"b\", \"answer_start\": 0"),
             ContainsSubstring("x.jsonl:2: the answer \"b\" is not at character 0 of the context, there is \"a\""));
  CHECK_THAT(line(", \"answer\": \"b\", \"answer_start\": 9"), ContainsSubstring("not at character 9"));
  CHECK_THAT(line(", \"answer\": \"b\""), ContainsSubstring("answer_start"));
  CHECK_THAT(line(", \"answer\": \" \", \"answer_start\": 1"), ContainsSubstring("an answer is empty"));
  CHECK_THAT(line(", \"answers\": {\"text\": [\"b\"], \"answer_start\": []}"),
             ContainsSubstring("arrays of one length"));
  for (const char* wrong : {"true", "\"no\"", "null"})
    CHECK_THAT(line(", \"answer\": \"b\", \"answer_start\": 2, \"is_impossible\": " + std::string(wrong)),
               ContainsSubstring(fmt::format("x.jsonl:2: \"is_impossible\" is {}, and", wrong)));
  CHECK_THAT(line(", \"answers\": {\"text\": [1], \"answer_start\": [0]}"), ContainsSubstring("must hold strings"));
  CHECK_THAT(line(", \"answers\": {\"text\": [\"a\"], \"answer_start\": [-1]}"), ContainsSubstring("counts of"));
  CHECK_THAT(refusal_of_questions("x.jsonl", "{\"question\": \"q\", \"answers\": []}"), ContainsSubstring("context"));
}

TEST_CASE("a window has the question and then the context", "[answers]") {
  QuestionEncoder encoder(question_tokenizer(), {.positions = 64});
  const std::string context = "the cat is on the mat";
  const auto windows = encoder.encode("the cat", context, {11, 17}, "here");
  REQUIRE(windows.size() == 1);
  CHECK(windows[0].ids == question_tokenizer().encode_pair("the cat", context).ids);
  CHECK(windows[0].segments == question_tokenizer().encode_pair("the cat", context).type_ids);
  CHECK(windows[0].segments[static_cast<size_t>(windows[0].first) - 1] == 0);
  CHECK(windows[0].segments[static_cast<size_t>(windows[0].first)] == 1);
  CHECK(windows[0].spans.back().end == context.size());
  CHECK(answer_in(windows[0], context) == "on the");
  CHECK(encoder.encode("the cat", context, {}, "here").at(0).ends == Ends{0, 0});
  CHECK(encoder.encode("the cat", "", {}, "here").at(0).spans.empty());
  CHECK(encoder.split() == 0);
  CHECK_THAT(error_of([&] {
               encoder.encode("the", "a \xE2\x80\x8B", {2, 5}, "x:3");
             }),
             ContainsSubstring("x:3: the tokenizer makes no token of the answer"));
  CHECK_THAT(error_of([] { QuestionEncoder(question_tokenizer(), {.positions = 4}); }), ContainsSubstring("positions"));
}

TEST_CASE("long contexts are windows that overlap", "[answers]") {
  std::string context;
  for (int i = 0; i < 20; ++i) context += i == 9 ? "of " : "the ";
  const size_t of = context.find("of");
  // Three special tokens and one of the question leave 8 of 12 positions.
  QuestionEncoder encoder(question_tokenizer(), {.positions = 12, .stride = 3});
  const auto windows = encoder.encode("the", context, {of, of + 2}, "here");
  REQUIRE(windows.size() == 4);  // tokens 0-7, 5-12, 10-17, 15-19
  CHECK(encoder.split() == 1);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(windows[i].ids.size() <= 12);
    CHECK(windows[i].spans.front().begin == context.find("the", i * 5 * 4 - (i == 2 || i == 3)));
    CHECK(answer_in(windows[i], context) == (i == 1 ? "of" : ""));
  }
  // One that is not whole in a window is in none of those.
  const auto cut = encoder.encode("the", context, {context.find("the"), context.size()}, "here");
  for (const AnswerWindow& window : cut) CHECK(window.ends == Ends{0, 0});
  // Half of a window is the context's, whatever the question, and half of that is new.
  QuestionEncoder narrow(question_tokenizer(), {.positions = 9, .stride = 100});
  const auto halves = narrow.encode("the the the the the the", context, {}, "here");
  CHECK(narrow.cut() == 1);
  CHECK(halves.at(0).spans.size() == 3);
  CHECK(halves.at(1).spans.front().begin == 8);
  CHECK(stride_of(-1, 300) == 100);
  CHECK(stride_of(-1, 512) == 128);
  CHECK(stride_of(0, 512) == 0);
  CHECK_THAT(error_of([] { stride_of(12, 12); }), ContainsSubstring("--stride 12"));
}

TEST_CASE("batches of questions have two targets a row", "[answers]") {
  TextData::Split split;
  split.texts.ids = {{1, 2, 3}, {4, 5}, {6}};
  split.texts.segments = {{0, 0, 1}, {0, 1}, {0}};
  split.targets = {{1, 2}, {0, 0}, {0, 0}};
  const TextData data(split, split,
                      {.batches = {.positions = 6, .most_shapes = 1}, .inputs = {.segments = true}, .targets = 2});
  REQUIRE(data.validation_batches() == 2);
  CHECK(data.validation_batch(0, 2).inputs.back().second == std::vector<int32_t>{1, 2, 0, 0});
  CHECK(data.validation_batch(1, 2).inputs.back().second == std::vector<int32_t>{0, 0, ignored_target, ignored_target});
}

TEST_CASE("the best answer of a window ends where it begins or later", "[answers]") {
  const AnswerWindow window = plain_window(5);
  // Positions 1 and 2 are the question's, 8 is a special token's: they have no say.
  const auto logits = logits_with(9, {{1, 90.f}, {5, 3.f}, {6, 2.f}}, {{8, 90.f}, {4, 4.f}, {6, 2.f}});
  const WindowAnswer found = answer_of_window(logits, window);
  CHECK(found.best.range.begin == 2);
  CHECK(found.best.range.end == 4);
  const double starts = std::exp(3.0) + std::exp(2.0) + 4, ends = std::exp(4.0) + std::exp(2.0) + 4;
  CHECK(found.best.probability == Approx(std::exp(3.0) / starts * std::exp(2.0) / ends));
  CHECK(found.none == Approx(1 / starts / ends));
  // Longer ones than 30 tokens are none.
  const auto far = logits_with(50, {{3, 9.f}}, {{33, 9.f}, {32, 8.f}});
  CHECK(answer_of_window(far, plain_window(40)).best.range.end == 30);
  CHECK(answer_of_window(logits, plain_window(0)).best.probability == 0);
  CHECK(answer_of_window(logits, plain_window(0)).none == 1);
}

TEST_CASE("an answer is the best of its windows", "[answers]") {
  const Model model = load_model(fixtures / "bert_qa");
  auto backend = make_reference_backend();
  const auto store = make_model_store(*backend, model);
  load_parameters(*store, model.parameters, fixtures / "bert_qa");
  AskedQuestions asked;
  for (const int64_t length : {9, 14, 6}) {
    std::vector<AnswerWindow> windows;
    for (const int64_t step : {3, 11}) {
      windows.push_back(plain_window(static_cast<size_t>(length) - 4));
      windows.back().ids = some_ids(length, 100, step + length);
      windows.back().segments.assign(windows.back().ids.size(), 1);
    }
    asked.add(std::move(windows));
  }
  Answerer answerer(*backend, model, store, backend->make_workspace());
  const TextInputs inputs = text_inputs(model, 1);
  const auto answers = answerer.answer(asked, inputs, 30, [](size_t) {});
  REQUIRE(answers.size() == 3);
  BatchLogits logits(*backend, model, store, backend->make_workspace());
  for (uint32_t question = 0; question < 3; ++question) {
    FoundAnswer best;
    double none = 1;
    for (const uint32_t window : {2 * question, 2 * question + 1}) {
      const BatchShape alone{
          .rows = 1, .positions = std::ssize(asked.texts.ids[window]), .mask = true, .segments = true};
      const uint32_t example[] = {window};
      const auto got =
          answer_of_window(logits.of(text_batch(alone, asked.texts, example, inputs)), asked.windows[window]);
      if (got.best.probability > best.probability) best = got.best;
      none = std::min(none, got.none);
    }
    const FoundAnswer expected = best.probability >= none ? best : FoundAnswer{{}, none};
    CHECK(answers[question].probability == Approx(expected.probability).epsilon(1e-4));
    CHECK(answers[question].range.begin == expected.range.begin);
    CHECK(answers[question].range.end == expected.range.end);
  }
  CHECK_THAT(error_of([&] { Answerer(*backend, load_model(fixtures / "bert_mlm"), store, nullptr); }),
             ContainsSubstring("finds no answers"));
}

TEST_CASE("answers are scored as SQuAD's script does", "[answers]") {
  CHECK(normalized_answer("  The  Cat's, (an) A-B the_x\xC2\xA0!") == "cats ab thex");
  CHECK(normalized_answer("\xE2\x80\x9Cthe\xE2\x80\x9D B\xC3\x84R") == "\xE2\x80\x9C \xE2\x80\x9D b\xC3\xA4r");
  CHECK(normalized_answer("another theatre") == "another theatre");
  CHECK(answers_agree("The cat.", "cat"));
  CHECK_FALSE(answers_agree("cats", "cat"));
  // One of two words, of three: P 1/2, R 1/3.
  CHECK(answer_f1("big black cat", "black dog") == Approx(0.4));
  CHECK(answer_f1("cat cat dog", "cat") == Approx(0.5));
  CHECK(answer_f1("cat", "cat cat") == Approx(2.0 / 3));
  CHECK(answer_f1("the", "a") == 1);
  CHECK(answer_f1("cat", "") == 0);
  AnswerScores scores;
  scores.add(std::vector<std::string>{"big cat", "cat"}, "a cat");
  scores.add(std::vector<std::string>{}, "");
  scores.add(std::vector<std::string>{}, "cat");
  scores.add(std::vector<std::string>{"the", "black cat"}, "cat");
  CHECK(scores.questions() == 4);
  CHECK(scores.exact_match() == 0.5);
  CHECK(scores.f1() == Approx((1 + 1 + 0 + 2.0 / 3) / 4));
}
