// Answers of several messages.

#include "models/chat/channels.h"

#include "models/chat/answer_text.h"
#include "models/chat/thinking.h"
#include "models/chat/tool_calls.h"

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;

namespace {

constexpr Channels::Marks marks{.start = 1, .channel = 2, .message = 3, .end = 4, .constrain = 5};

/// What a sequence of ids shows: t thoughts, a answers, c calls of f, - neither.
std::string parts_of(const std::vector<int32_t>& answer, const std::vector<int32_t>& prompt = {7, 1, 60}) {
  const std::map<int32_t, std::string> words{{10, "analysis"},        {11, "fin"}, {12, "al"}, {13, "commentary"},
                                             {14, " to=functions.f"}, {15, "json"}};
  const auto text_of = [&](const std::vector<int32_t>& ids) {
    std::string text;
    for (const int32_t one : ids) text += words.contains(one) ? words.at(one) : "?";
    return text;
  };
  Channels channels(marks, text_of, prompt);
  std::string parts;
  for (const int32_t id : answer) {
    const auto part = channels.take(id);
    if (part == Channels::Part::call) CHECK(channels.called() == "f");
    parts += part == Channels::Part::thought  ? 't'
             : part == Channels::Part::answer ? 'a'
             : part == Channels::Part::call   ? 'c'
                                              : '-';
  }
  return parts;
}

}  // namespace

TEST_CASE("an answer's messages are thoughts but for the final one", "[chat]") {
  CHECK(parts_of({2, 10, 3, 50, 51, 4, 1, 60, 2, 11, 12, 3, 52, 53}) == "---tt-------aa");
  CHECK(parts_of({2, 13, 55, 3, 50, 4, 1, 60, 3, 51}) == "----t----a");  // the last one names no channel
  CHECK(parts_of({50, 51, 3, 52}) == "---a");
  // A tool is named in the channel, or before it.
  CHECK(parts_of({2, 10, 3, 50, 4, 1, 60, 2, 13, 14, 3, 51, 52}) == "---t-------cc");
  CHECK(parts_of({2, 13, 14, 5, 15, 3, 51}) == "------c");
  CHECK(parts_of({1, 60, 14, 2, 13, 15, 3, 51, 4, 1, 60, 2, 11, 12, 3, 52}) == "-------c-------a");
  // A prompt that has begun the message, and one of another format.
  CHECK(parts_of({50, 51}, {1, 60, 2, 11, 12, 3}) == "aa");
  CHECK(parts_of({50, 4, 1, 60, 3, 51}, {1, 60, 2, 10, 3, 52}) == "t----a");
  CHECK(parts_of({50, 51}, {7, 8}) == "aa");
  CHECK(parts_of({2, 11, 12, 3, 50, 2, 10, 3, 51}) == "----a---t");  // a message that nothing ends
}

TEST_CASE("the marks of messages are a tokenizer's or they are not", "[chat]") {
  std::map<std::string_view, int32_t> known{{"<|start|>", 1}, {"<|channel|>", 2}, {"<|message|>", 3}};
  const auto id_of = [&](std::string_view token) {
    const auto found = known.find(token);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
  CHECK(!Channels::find(id_of));
  known["<|end|>"] = 4;
  const auto found = Channels::find(id_of);
  REQUIRE(found);
  CHECK(found->end == 4);
}

TEST_CASE("thoughts stand between two tokens at an answer's begin", "[chat]") {
  const auto parts = [](const std::vector<int32_t>& answer, const std::vector<int32_t>& prompt) {
    Thinking thinking({.begin = 1, .end = 2}, prompt);
    std::string all;
    for (const int32_t id : answer) {
      const AnswerPart part = thinking.take(id);
      all += part == AnswerPart::thought ? 't' : part == AnswerPart::answer ? 'a' : '-';
    }
    return all;
  };
  CHECK(parts({1, 50, 51, 2, 52}, {7, 60}) == "-tt-a");
  CHECK(parts({50, 1, 51, 2, 52}, {}) == "a-t-a");
  CHECK(parts({50, 51, 2, 52}, {7, 1, 60}) == "tt-a");  // the prompt has begun them
  CHECK(parts({50, 51}, {7, 1, 60, 2, 60}) == "aa");    // and ended them
  CHECK(parts({50, 51}, {7, 1, 60, 61, 62}) == "aa");   // a question that has the token
  const auto named = [](const std::vector<int32_t>& answer) {
    Thinking thinking({.begin = 1, .end = 2, .name_end = 3}, {});
    std::string all;
    for (const int32_t id : answer) {
      const AnswerPart part = thinking.take(id);
      all += part == AnswerPart::thought ? 't' : part == AnswerPart::answer ? 'a' : '-';
    }
    return all;
  };
  CHECK(named({1, 40, 3, 50, 3, 51, 2, 52}) == "---ttt-a");
  CHECK(named({1, 40, 2, 52, 3}) == "---aa");  // a name alone
  CHECK(named({50, 3, 51}) == "aaa");
  CHECK(parts({50, 51, 52, 1, 53, 2}, {7}) == "aaaaaa");  // an answer that speaks of it
  CHECK(parts({1, 50, 2, 51, 1, 52, 2}, {7}) == "-t-aaaa");
  CHECK(!Thinking::find([](std::string_view) { return std::nullopt; }));
  for (const auto& [begin, end] :
       {std::pair("<think>", "</think>"), std::pair("[THINK]", "[/THINK]"), std::pair("<seed:think>", "</seed:think>"),
        std::pair("<|START_THINKING|>", "<|END_THINKING|>")}) {
    const auto marks = Thinking::find([&](std::string_view token) {
      return token == begin ? std::optional(5) : token == end ? std::optional(6) : std::nullopt;
    });
    REQUIRE(marks);
    CHECK(marks->begin == 5);
    CHECK(marks->end == 6);
  }
}

TEST_CASE("calls of tools are text of an answer where they are asked for", "[chat]") {
  const TemporaryFolder folder;
  json tokenizer = json::parse(std::ifstream(fixtures / "tokenizers/gpt2/tokenizer.json"));
  int32_t next = 600;
  for (const char* token : {"<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|constrain|>", "[TOOL_CALLS]"})
    tokenizer["added_tokens"].push_back({{"id", next++}, {"content", token}, {"special", true}});
  std::ofstream(folder / "tokenizer.json") << tokenizer;
  const PromptText text(folder.path());
  AnswerText::Marks harmony = AnswerText::find_marks(text);
  REQUIRE(harmony.channels);
  // What is shown of an answer: pieces of thoughts in brackets.
  const auto shown = [&](const AnswerText::Marks& these, const std::string& prompt, const std::string& answer) {
    std::string all;
    AnswerText to(text, text.encode_as_it_is(prompt), these,
                  [&](const std::string& piece, bool thought) { all += thought ? "(" + piece + ")" : piece; });
    for (const int32_t id : text.encode_as_it_is(answer)) to.take(id);
    to.end();
    return all;
  };
  const std::string answer =
      "<|channel|>commentary to=functions.f "
      "<|constrain|>json<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>1";
  CHECK(shown(harmony, "<|start|>assistant", answer) == "({)(})1");
  harmony.calls = true;
  CHECK(shown(harmony, "<|start|>assistant", answer) == "<|channel|>commentary to=functions.f<|message|>{}<|call|>1");
  AnswerText::Marks shows;
  CHECK(shown(shows, "a", "b[TOOL_CALLS]c") == "bc");
  shows.shown = text.encode_as_it_is("[TOOL_CALLS]");
  CHECK(shown(shows, "a", "b[TOOL_CALLS]c[TOOL_CALLS]") == "b[TOOL_CALLS]c[TOOL_CALLS]");
}
