// Vocabularies of characters and of bytes, and their tokenizer.json.

#include "models/text/vocabulary.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "models/text/prompt_text.h"
#include "tests/file_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;

namespace {

using Ids = std::vector<int32_t>;

/// All ids at once, through the stream decoder.
std::string streamed(const Vocabulary& vocabulary, const Ids& ids) {
  StreamDecoder decoder(vocabulary);
  std::string text;
  for (const int32_t id : ids) text += decoder.push(id);
  return text + decoder.finish();
}

std::string streamed_bytes(const std::string& bytes) {
  const Vocabulary vocabulary = Vocabulary::bytes();
  return streamed(vocabulary, vocabulary.encode(bytes));
}

std::string error_of_tokenizer(const json& tokenizer) {
  return error_of([&] { Vocabulary::parse(tokenizer.dump(), "tokenizer.json"); });
}

}  // namespace

TEST_CASE("a character vocabulary has the text's characters, sorted", "[files]") {
  const Vocabulary vocabulary = Vocabulary::characters("b\na\xC3\xA9 b\xF0\x9F\x99\x82");
  CHECK(vocabulary.kind() == Vocabulary::Kind::characters);
  CHECK(vocabulary.size() == 6);
  CHECK(vocabulary.encode("\n ab\xC3\xA9\xF0\x9F\x99\x82") == Ids{0, 1, 2, 3, 4, 5});
  CHECK(vocabulary.encode("").empty());
  CHECK(vocabulary.decode(Ids{5, 4, 3}) ==
        "\xF0\x9F\x99\x82\xC3\xA9"
        "b");
  CHECK(vocabulary.piece(4) == "\xC3\xA9");
}

TEST_CASE("a byte vocabulary encodes any bytes", "[files]") {
  const Vocabulary vocabulary = Vocabulary::bytes();
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  const Ids ids = vocabulary.encode(all);
  CHECK(vocabulary.size() == 256);
  CHECK(ids.front() == 0);
  CHECK(ids.back() == 255);
  CHECK(vocabulary.decode(ids) == all);
}

TEST_CASE("what a vocabulary cannot encode is named with its place", "[files]") {
  const Vocabulary vocabulary = Vocabulary::characters("ab\xC3\xA9");
  CHECK(error_of([&] { vocabulary.encode("a\xC3\xA9\xE2\x82\xAC"); }) ==
        "the text has \"\xE2\x82\xAC\" (U+20AC) as character 3 (byte 3), which is not among the 3 characters the model "
        "knows; remove it, or train with a text that has it or with --bytes");
  CHECK_THAT(error_of([&] { vocabulary.encode("\r"); }),
             ContainsSubstring("\"\\x0D\" (U+000D) as character 1 (byte 0)"));
  CHECK_THAT(error_of([&] { vocabulary.encode("ab\xC3"); }), ContainsSubstring("not UTF-8: byte 2 is 0xC3"));
  CHECK_THAT(error_of([&] { Vocabulary::characters("abc\xFF"); }), ContainsSubstring("byte 3 is 0xFF; convert it"));
  CHECK_THAT(error_of([&] { Vocabulary::characters("\xED\xA0\x80"); }), ContainsSubstring("--bytes"));
  CHECK_THAT(error_of([&] { Vocabulary::characters(""); }), ContainsSubstring("the text is empty"));
  CHECK_THAT(error_of([&] { vocabulary.decode(Ids{0, 3}); }), ContainsSubstring("id 3 is outside the vocabulary of 3"));
  CHECK_THAT(error_of([&] { vocabulary.decode(Ids{-1}); }), ContainsSubstring("id -1"));
}

TEST_CASE("a stream shows whole characters only", "[files]") {
  const Vocabulary vocabulary = Vocabulary::bytes();
  StreamDecoder decoder(vocabulary);
  CHECK(decoder.push('a') == "a");
  CHECK(decoder.push(0xE2).empty());
  CHECK(decoder.push(0x82).empty());
  CHECK(decoder.push(0xAC) == "\xE2\x82\xAC");
  CHECK(decoder.push(0xC3).empty());
  CHECK(decoder.push('(') == "\xEF\xBF\xBD(");
  CHECK(decoder.push(0xF0).empty());
  CHECK(decoder.finish() == "\xEF\xBF\xBD");
  CHECK(decoder.finish().empty());
  CHECK_THAT(error_of([&] { decoder.push(256); }), ContainsSubstring("id 256"));
  const Vocabulary characters = Vocabulary::characters("a\xE2\x82\xAC");
  CHECK(streamed(characters, {1, 0, 1}) ==
        "\xE2\x82\xAC"
        "a\xE2\x82\xAC");
}

TEST_CASE("invalid bytes become U+FFFD as in Rust and in the Unicode standard", "[files]") {
  // Examples of String::from_utf8_lossy and of the Unicode standard, tables 3-8 to 3-11.
  const std::string r = "\xEF\xBF\xBD";
  CHECK(streamed_bytes("Hello \xF0\x90\x80World") == "Hello " + r + "World");
  CHECK(streamed_bytes("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82"
                       "A") == r + r + r + r + r + r + r + r + "A");
  CHECK(streamed_bytes("\xED\xA0\x80\xED\xBF\xBF\xED\xAF"
                       "A") == r + r + r + r + r + r + r + r + "A");
  CHECK(streamed_bytes("\xF4\x91\x92\x93\xFF"
                       "A\x80\xBF"
                       "B") == r + r + r + r + r + "A" + r + r + "B");
  CHECK(streamed_bytes("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF"
                       "A") == r + r + r + r + "A");
}

TEST_CASE("a vocabulary comes back from its tokenizer.json", "[files]") {
  const TemporaryFolder folder;
  const std::string text =
      std::string("\0\t\n \"\\/ab\x7F", 10) + "\xC2\x80\xC4\xA0\xE2\x96\x81\xEF\xBB\xBF\xF4\x8F\xBF\xBF";
  for (const Vocabulary& vocabulary : {Vocabulary::characters(text), Vocabulary::bytes()}) {
    vocabulary.save(folder.path());
    const Vocabulary loaded = Vocabulary::load(folder / "tokenizer.json");
    CHECK(loaded.kind() == vocabulary.kind());
    CHECK(loaded.size() == vocabulary.size());
    CHECK(loaded.encode(text) == vocabulary.encode(text));
    CHECK(loaded.decode(vocabulary.encode(text)) == text);
    CHECK(loaded.to_json() == vocabulary.to_json());
    CHECK(json::parse(get(folder / "tokenizer_config.json"))["clean_up_tokenization_spaces"] == false);
  }
}

TEST_CASE("the tokenizer.json has the parts that the tokenizers library needs", "[files]") {
  const json characters = json::parse(Vocabulary::characters("ab c").to_json());
  CHECK(characters["version"] == "1.0");
  CHECK(characters["model"]["type"] == "BPE");
  CHECK(characters["model"]["vocab"] == json{{" ", 0}, {"a", 1}, {"b", 2}, {"c", 3}});
  CHECK(characters["model"]["merges"] == json::array());
  CHECK(characters["model"]["unk_token"].is_null());
  CHECK(characters["decoder"] == json{{"type", "Fuse"}});
  for (const char* part : {"normalizer", "pre_tokenizer", "post_processor", "truncation", "padding"}) {
    CHECK(characters.contains(part));
    CHECK(characters[part].is_null());
  }

  const json bytes = json::parse(Vocabulary::bytes().to_json());
  CHECK(bytes["pre_tokenizer"]["type"] == "ByteLevel");
  CHECK(bytes["pre_tokenizer"]["add_prefix_space"] == false);
  CHECK(bytes["decoder"]["type"] == "ByteLevel");
  const json& vocab = bytes["model"]["vocab"];
  CHECK(vocab.size() == 256);
  // As in every byte-level tokenizer of GPT-2's kind: blank, line feed, "!", NUL, DEL, 0x80, soft hyphen, 0xFF.
  CHECK(vocab["\xC4\xA0"] == 0x20);
  CHECK(vocab["\xC4\x8A"] == 0x0A);
  CHECK(vocab["!"] == 0x21);
  CHECK(vocab["\xC4\x80"] == 0x00);
  CHECK(vocab["\xC4\xA1"] == 0x7F);
  CHECK(vocab["\xC4\xA2"] == 0x80);
  CHECK(vocab["\xC5\x83"] == 0xAD);
  CHECK(vocab["\xC3\xBF"] == 0xFF);
}

TEST_CASE("ids may come in any order", "[files]") {
  json tokenizer = json::parse(Vocabulary::characters("abc").to_json());
  tokenizer["model"]["vocab"] = {{"a", 2}, {"b", 0}, {"c", 1}};
  tokenizer["truncation"] = {{"max_length", 8}};
  tokenizer["model"].erase("ignore_merges");
  CHECK(Vocabulary::parse(tokenizer.dump(), "t").encode("abc") == Ids{2, 0, 1});
}

TEST_CASE("other tokenizers are refused with the reason", "[files]") {
  const json good = json::parse(Vocabulary::characters("abc").to_json());
  const json bytes = json::parse(Vocabulary::bytes().to_json());
  CHECK(error_of_tokenizer(good).empty());
  const auto changed = [](json tokenizer, const char* pointer, const json& value) {
    tokenizer[json::json_pointer(pointer)] = value;
    return error_of_tokenizer(tokenizer);
  };
  CHECK(changed(good, "/model/merges", {"a b"}) ==
        "tokenizer.json: this tokenizer has merges (sub-word tokens), which is not supported yet; models trained by "
        "vkformer use characters or bytes");
  CHECK_THAT(changed(good, "/model/type", "WordPiece"), ContainsSubstring("a model of type \"WordPiece\""));
  CHECK_THAT(changed(good, "/added_tokens", {{{"id", 3}, {"content", "<s>"}}}), ContainsSubstring("added tokens"));
  CHECK_THAT(changed(good, "/normalizer", {{"type", "NFC"}}), ContainsSubstring("a normalizer"));
  CHECK_THAT(changed(good, "/model/unk_token", "a"), ContainsSubstring("unk_token"));
  CHECK_THAT(changed(good, "/model/continuing_subword_prefix", "##"), ContainsSubstring("continuing_subword_prefix"));
  CHECK_THAT(changed(good, "/model/byte_fallback", true), ContainsSubstring("byte_fallback"));
  CHECK_THAT(changed(good, "/decoder", nullptr), ContainsSubstring("with the decoder \"\""));
  CHECK_THAT(changed(good, "/pre_tokenizer", {{"type", "Whitespace"}}), ContainsSubstring("\"Whitespace\""));
  CHECK_THAT(changed(good, "/post_processor", {{"type", "TemplateProcessing"}}), ContainsSubstring("a post-processor"));
  CHECK_THAT(changed(bytes, "/pre_tokenizer/add_prefix_space", true), ContainsSubstring("add_prefix_space"));

  CHECK_THAT(changed(good, "/model/vocab", json::object()), ContainsSubstring("the vocabulary is empty"));
  CHECK_THAT(changed(good, "/model/vocab", {{"a", 0}, {"b", 2}}), ContainsSubstring("token \"b\" is not from 0 to 1"));
  CHECK_THAT(changed(good, "/model/vocab", {{"a", 0}, {"b", -1}}), ContainsSubstring("not from 0 to 1"));
  CHECK_THAT(changed(good, "/model/vocab", {{"a", 0}, {"b", 0}}), ContainsSubstring("\"a\" and \"b\" have one id"));
  CHECK_THAT(changed(good, "/model/vocab", {{"ab", 0}}), ContainsSubstring("the token \"ab\" (not one character)"));
  CHECK_THAT(changed(good, "/model/vocab", {{"", 0}}), ContainsSubstring("not one character"));
  CHECK_THAT(changed(bytes, "/model/vocab", {{"a", 0}}), ContainsSubstring("has 1 of the 256 bytes"));
  json shifted = bytes;
  shifted["model"]["vocab"].erase("!");
  CHECK_THAT(changed(shifted, "/model/vocab/\xE2\x82\xAC", 33), ContainsSubstring("stands for no byte"));
}

TEST_CASE("ids that a model has beyond its characters are no text", "[files]") {
  const TemporaryFolder folder;
  put(folder / "tokenizer.json", Vocabulary::characters("abc").to_json());
  const PromptText text(folder.path());
  CHECK(text.piece(2) == "c");
  CHECK(text.piece(3).empty());
  CHECK(text.bytes_of(2) == "c");
  CHECK_FALSE(text.bytes_of(3));
}
