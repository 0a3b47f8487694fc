// Which bytes of a text each of its tokens stands for.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <nlohmann/json.hpp>

#include "models/text/tokenizer.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

using Spans = std::vector<std::pair<size_t, size_t>>;

const std::filesystem::path& folder_of_tokenizers() {
  static const std::filesystem::path folder = fixtures / "tokenizers";
  return folder;
}

Tokenizer recorded_tokenizer(const std::string& kind) {
  return Tokenizer::load(folder_of_tokenizers() / kind / "tokenizer.json");
}

std::vector<std::string> recorded_texts(const std::string& kind) {
  const JsonObject cases = JsonObject::load(folder_of_tokenizers() / kind / "cases.json");
  std::vector<std::string> texts;
  for (const JsonObject& entry : require_objects(cases, "cases")) texts.push_back(require_string(entry, "text"));
  return texts;
}

Spans spans_of(const Tokenizer& tokenizer, const std::string& text) {
  Spans spans;
  for (const TokenSpan& span : tokenizer.encode_with_spans(text, false).spans) spans.emplace_back(span.begin, span.end);
  return spans;
}

/// A tokenizer of characters, and of some words, with a normalizer.
Tokenizer normalizing(const nlohmann::json& normalizer, const nlohmann::json& words = {{"?", 0}}) {
  const nlohmann::json json = {
      {"normalizer", normalizer},
      {"model", {{"type", "BPE"}, {"vocab", words}, {"merges", nlohmann::json::array()}, {"unk_token", "?"}}}};
  return Tokenizer(JsonObject::parse(json.dump(), "t.json"));
}

/// Whether the tokenizer alone makes no token of the character, such as a blank or what BERT cleans away.
bool dropped(const Tokenizer& tokenizer, const std::string& character) {
  return is_white_space(read_utf8(character, 0).code_point) ||
         tokenizer.encode("x" + character, false).ids == tokenizer.encode("x", false).ids;
}

}  // namespace

TEST_CASE("spans are in order and cover every character that is not dropped", "[spans]") {
  const std::string kind = GENERATE("bert", "gpt2", "llama", "t5");
  const Tokenizer tokenizer = recorded_tokenizer(kind);
  for (const std::string& text : recorded_texts(kind)) {
    INFO(kind << ": " << text);
    const Encoding encoding = tokenizer.encode_with_spans(text);
    CHECK(encoding.ids == tokenizer.encode(text).ids);
    REQUIRE(encoding.spans.size() == encoding.ids.size());
    std::vector<bool> covered(text.size());
    TokenSpan before;
    std::vector<int32_t> own;
    std::string joined;
    for (size_t i = 0; i < encoding.spans.size(); ++i) {
      const TokenSpan& span = encoding.spans[i];
      if (span.text == TokenSpan::no_text) continue;
      own.push_back(encoding.ids[i]);
      REQUIRE(span.begin <= span.end);
      REQUIRE(span.end <= text.size());
      CHECK(span.begin >= before.begin);
      CHECK(span.end >= before.end);
      // What two tokens share is one character.
      if (span.begin < before.end && kind != "t5") {
        CHECK(read_utf8(text, span.begin).length == before.end - span.begin);
      }
      const size_t fresh = std::max(span.begin, before.end);
      joined += text.substr(fresh, span.end - fresh);
      std::fill(covered.begin() + static_cast<ptrdiff_t>(span.begin),
                covered.begin() + static_cast<ptrdiff_t>(span.end), true);
      before = span;
    }
    CHECK(own == tokenizer.encode(text, false).ids);
    for_each_character(text, [&](char32_t, size_t at, size_t length) {
      INFO("byte " << at);
      const bool all = std::all_of(covered.begin() + static_cast<ptrdiff_t>(at),
                                   covered.begin() + static_cast<ptrdiff_t>(at + length), [](bool b) { return b; });
      CHECK((all || dropped(tokenizer, text.substr(at, length))));
    });
    if (kind == "gpt2" || kind == "llama") {
      CHECK(joined == text);
    }
    if (kind == "gpt2") {
      CHECK(joined == tokenizer.decode(own, false));
    }
  }
}

TEST_CASE("a span is what its token stands for", "[spans]") {
  // An accent belongs to its letter, also where it is a character of its own; ideographs stand alone.
  CHECK(spans_of(recorded_tokenizer("bert"), "the \xC3\x89t\x65\xCC\x81, the") == [] {
    Spans spans;
    const Tokenizer bert = recorded_tokenizer("bert");
    // "the", the pieces of "ete", ",", "the"
    spans.emplace_back(0, 3);
    const Spans word = spans_of(bert, "ete");
    const std::vector<size_t> places = {4, 6, 7, 10};  // of the letters in the text
    for (const auto& [begin, end] : word) spans.emplace_back(places[begin], places[end]);
    spans.emplace_back(10, 11);
    spans.emplace_back(12, 15);
    return spans;
  }());
  // A blank that a token takes along is its own.
  const Spans bytes = spans_of(recorded_tokenizer("gpt2"), "the the");
  REQUIRE(bytes.size() >= 2);
  CHECK(std::ranges::find(bytes, std::pair<size_t, size_t>(3, 7)) != bytes.end());
  // So is the mark of a blank, but that of the beginning stands for nothing.
  CHECK(spans_of(recorded_tokenizer("t5"), "the the") == Spans{{0, 3}, {3, 7}});
  CHECK(spans_of(recorded_tokenizer("llama"), "the the") == Spans{{0, 3}, {3, 7}});
}

TEST_CASE("the bytes of a character share its span", "[spans]") {
  for (const char* kind : {"gpt2", "llama"}) {
    const Spans spans = spans_of(recorded_tokenizer(kind), "\xF0\x9F\xA6\xA5");
    REQUIRE(spans.size() > 1);
    for (const auto& span : spans) CHECK((span == std::pair<size_t, size_t>(0, 4) || span.second == 0));
  }
}

TEST_CASE("spans follow normalizers", "[spans]") {
  const auto spans = [](const nlohmann::json& normalizer, const std::string& text) {
    return spans_of(normalizing(normalizer), text);
  };
  // Each unknown character is a token.
  CHECK(spans({{"type", "NFKC"}}, "a\xEF\xAC\x81z") == Spans{{0, 1}, {1, 4}, {1, 4}, {4, 5}});
  CHECK(spans({{"type", "NFC"}}, "e\xCC\x81z") == Spans{{0, 3}, {3, 4}});
  CHECK(spans({{"type", "NFD"}}, "\xC3\xA9z") == Spans{{0, 2}, {0, 2}, {2, 3}});
  CHECK(spans({{"type", "Strip"}}, "  ab ") == Spans{{2, 3}, {3, 4}});
  CHECK(spans({{"type", "Lowercase"}}, "\xC4\xB0z") == Spans{{0, 2}, {0, 2}, {2, 3}});
  CHECK(spans({{"type", "Prepend"}, {"prepend", "_"}}, "ab") == Spans{{0, 0}, {0, 1}, {1, 2}});
  CHECK(spans({{"type", "ByteLevel"}}, "\xC3\xA9z") == Spans{{0, 2}, {0, 2}, {2, 3}});
  CHECK(spans({{"type", "Replace"}, {"pattern", {{"Regex", "b+"}}}, {"content", "xy"}}, "abbbc") ==
        Spans{{0, 1}, {1, 4}, {1, 4}, {4, 5}});
  CHECK(spans({{"type", "Sequence"},
               {"normalizers",
                {{{"type", "NFD"}},
                 {{"type", "StripAccents"}},
                 {{"type", "Replace"}, {"pattern", {{"String", "e"}}}, {"content", ""}}}}},
              "a\xC3\xA9\xC3\xA0") == Spans{{0, 1}, {3, 5}});
}

TEST_CASE("the tokens of a pair say which text is theirs", "[spans]") {
  const Tokenizer tokenizer = recorded_tokenizer("bert");
  const auto spans_and_ids = [&](std::string_view text) { return tokenizer.encode_with_spans(text, false); };
  const Encoding pair = tokenizer.surround({spans_and_ids("the"), spans_and_ids("of the")});
  CHECK(pair.ids == tokenizer.encode_pair("the", "of the").ids);
  std::vector<int> texts;
  for (const TokenSpan& span : pair.spans) texts.push_back(span.text);
  CHECK(texts == std::vector<int>{-1, 0, -1, 1, 1, -1});
  CHECK(pair.spans[4].begin == 3);
  CHECK(pair.spans[4].end == 6);
  // Parts of texts that were encoded before.
  const Encoding again = tokenizer.surround({tokenizer.encode("the", false), spans_and_ids("of the").part(1, 2)});
  CHECK(again.ids == tokenizer.encode_pair("the", "the").ids);
  CHECK(again.type_ids == tokenizer.encode_pair("the", "the").type_ids);
  REQUIRE(again.spans.size() == 5);
  CHECK(again.spans[1].text == TokenSpan::no_text);
  CHECK(again.spans[3].text == 1);
  CHECK(again.spans[3].begin == 3);
  CHECK(tokenizer.encode_with_spans("").spans.size() == 2);
}
