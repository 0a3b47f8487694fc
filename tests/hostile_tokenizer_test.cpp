// tokenizer.json files that would take all time or memory: short rules that grow without end, or search for ever. Each
// is refused by a bound that is the same on every machine. Without their bounds these tests do not end.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "models/text/tokenizer.h"
#include "models/text/unicode.h"
#include "models/text/vocabulary.h"
#include "tests/file_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;

namespace {

/// A tokenizer of two characters, with one part replaced.
json tokenizer_with(const char* part, const json& value) {
  json tokenizer = json::parse(Vocabulary::characters("ab").to_json());
  tokenizer["added_tokens"] = json::array();
  tokenizer[part] = value;
  return tokenizer;
}

std::string refusal(const json& tokenizer, const std::string& text) {
  return error_of([&] {
    const Tokenizer made(JsonObject::parse(tokenizer.dump(), "t.json"));
    made.decode(made.encode(text).ids);
  });
}

json replacing(const json& pattern, const std::string& content) {
  return {{"type", "Replace"}, {"pattern", pattern}, {"content", content}};
}

json sequence(const char* key, const json& step, size_t count) {
  json steps = json::array();
  for (size_t i = 0; i < count; ++i) steps.push_back(step);
  return {{"type", "Sequence"}, {key, steps}};
}

constexpr const char* grows = "the tokenizer's rules make more than";

}  // namespace

TEST_CASE("regular expressions that try every way to divide a text are ended", "[tokenizer]") {
  const std::string text = std::string(60, 'a') + "b";
  for (const char* expression : {"(a+)+!", "(a|a)*!", "(.*)*X"}) {
    CAPTURE(expression);
    const json pattern = {{"Regex", expression}};
    CHECK_THAT(refusal(tokenizer_with("normalizer", replacing(pattern, "b")), text),
               ContainsSubstring("t.json, normalizer, pattern: its regular expression takes too long"));
    const json splits = {{"type", "Split"}, {"pattern", pattern}, {"behavior", "Isolated"}, {"invert", false}};
    CHECK_THAT(refusal(tokenizer_with("pre_tokenizer", splits), text), ContainsSubstring("takes too long"));
  }
}

TEST_CASE("regular expressions of tokenizers in use have time for long texts", "[tokenizer]") {
  const json splits = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}};
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += i % 7 == 0 ? "aaaaaaaaaaaaaaaaaaaa" : " ab";
  CHECK(make_pre_tokenizer(JsonObject::parse(splits.dump(), "t.json"))(whole_text(text, false)).size() > 10'000);
  const json blanks = replacing({{"Regex", " {2,}"}}, " ");
  TextPart part = whole_text(std::string(1'000'000, ' '), false);
  make_normalizer(JsonObject::parse(blanks.dump(), "t.json"))(part);
  CHECK(part.text == " ");
}

TEST_CASE("rules that make a text grow and grow are refused", "[tokenizer]") {
  const json doubles = replacing({{"String", "a"}}, "aa");
  CHECK_THAT(refusal(tokenizer_with("normalizer", sequence("normalizers", doubles, 60)), "ab"),
             ContainsSubstring(grows));
  json nested = doubles;
  for (int i = 0; i < 25; ++i) nested = {{"type", "Sequence"}, {"normalizers", {nested, doubles}}};
  CHECK_THAT(refusal(tokenizer_with("normalizer", nested), "ab"), ContainsSubstring(grows));
  CHECK_THAT(
      refusal(tokenizer_with("normalizer", {{"type", "Prepend"}, {"prepend", std::string(1'000'000, 'a')}}), "b"),
      ContainsSubstring(grows));
  CHECK_THAT(refusal(tokenizer_with("decoder", sequence("decoders", doubles, 60)), "ab"), ContainsSubstring(grows));
  // Added tokens are normalized, too.
  json added = tokenizer_with("normalizer", sequence("normalizers", doubles, 60));
  added["added_tokens"] = {{{"id", 9}, {"content", "ba"}, {"normalized", true}}};
  CHECK_THAT(refusal(added, "b"), ContainsSubstring(grows));
}

TEST_CASE("templates of more tokens than texts have are refused", "[tokenizer]") {
  const auto made_of = [](size_t parts, size_t ids) {
    const json special = {{"SpecialToken", {{"id", "s"}, {"type_id", 0}}}};
    json single = json::array();
    for (size_t i = 0; i < parts; ++i) single.push_back(special);
    return json{
        {"type", "TemplateProcessing"},
        {"single", single},
        {"pair", {{{"Sequence", {{"id", "A"}}}}, {{"Sequence", {{"id", "B"}}}}}},
        {"special_tokens",
         {{"s", {{"id", "s"}, {"ids", std::vector<int>(ids, 1)}, {"tokens", std::vector<std::string>(ids, "s")}}}}}};
  };
  CHECK(refusal(tokenizer_with("post_processor", made_of(3, 6)), "ab").empty());
  CHECK_THAT(refusal(tokenizer_with("post_processor", made_of(65, 1)), "ab"),
             ContainsSubstring("\"single\" has more than 64 parts"));
  CHECK_THAT(refusal(tokenizer_with("post_processor", made_of(1, 65)), "ab"),
             ContainsSubstring("65 ids are more than 64"));
  const json around = {{"type", "RobertaProcessing"}, {"sep", {"s", 1}}, {"cls", {"s", 1}}};
  CHECK_THAT(refusal(tokenizer_with("post_processor", sequence("processors", around, 60)), "ab"),
             ContainsSubstring(grows));
}

TEST_CASE("decoders that change much of a long token take little time", "[tokenizer]") {
  const std::string token(2'000'000, 'a');
  const auto decoded = [&](const json& decoder) {
    return make_decoder(JsonObject::parse(decoder.dump(), "t.json"))({token});
  };
  CHECK(decoded({{"type", "Strip"}, {"content", "a"}, {"start", INT32_MAX}, {"stop", 0}}).front().empty());
  CHECK(decoded({{"type", "BPEDecoder"}, {"suffix", "a"}}).front().empty());
}

TEST_CASE("a megabyte of combining marks is normalized in no time, and right", "[tokenizer]") {
  constexpr size_t pairs = 250'000;
  // Above, below; and what is decomposed to marks: tone and diaeresis, two vowels of Tibetan.
  const std::string above = "\u0301", below = "\u0316", diaeresis_tone = "\u0344", vowels = "\u0F73";
  std::string text = "a", sorted = "a";
  for (size_t i = 0; i < pairs; ++i) text += above + below;
  for (size_t i = 0; i < pairs; ++i) sorted += below;
  for (size_t i = 0; i < pairs; ++i) sorted += above;
  CHECK(normalize(text, NormalForm::nfd) == sorted);
  CHECK(normalize(text, NormalForm::nfkd) == sorted);
  const std::string composed = "\u00E1" + sorted.substr(1, sorted.size() - 1 - above.size());
  CHECK(normalize(text, NormalForm::nfc) == composed);
  CHECK(normalize(text, NormalForm::nfkc) == composed);
  // Long runs are sorted before the library sees them, short ones are not: both come out alike.
  for (const NormalForm form : {NormalForm::nfc, NormalForm::nfd, NormalForm::nfkc, NormalForm::nfkd}) {
    std::string run;
    for (int i = 0; i < 60; ++i) run += diaeresis_tone + vowels + below;
    const auto count = [&](const std::string& mark, int times) {
      std::string all;
      for (int i = 0; i < times; ++i) all += mark;
      return all;
    };
    const std::string parts = count("\u0F71", 60) + count("\u0F72", 60) + count(below, 60) + count("\u0308\u0301", 60);
    CHECK(normalize("x" + run + "y", form) == normalize("x" + parts + "y", form));
    CHECK(normalize("x" + parts + "y", NormalForm::nfd) == "x" + parts + "y");
  }
}
