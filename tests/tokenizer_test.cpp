// Tokenizers as in Hugging Face's tokenizer.json. The recorded ones are in fixtures_test.cpp; here are the parts that
// those do not have. Every expectation is what the tokenizers library 0.23.1 gives.

#include "models/text/tokenizer.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "models/model_files.h"
#include "models/text/vocabulary.h"
#include "tests/file_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;

namespace {

using Texts = std::vector<std::string>;

JsonObject object(const json& value) { return JsonObject::parse(value.dump(), "t.json"); }

std::string normalized(const json& normalizer, const std::string& text) {
  TextPart part{text, true};
  make_normalizer(object(normalizer))(part);
  return part.text;
}

Texts split(const json& pre_tokenizer, const std::string& text) {
  Texts texts;
  for (const TextPart& part : make_pre_tokenizer(object(pre_tokenizer))({text, true})) texts.push_back(part.text);
  return texts;
}

std::string decoded(const json& decoder, const Texts& tokens) {
  std::string text;
  for (const std::string& piece : make_decoder(object(decoder))(tokens)) text += piece;
  return text;
}

json split_at(const std::string& behavior, bool invert = false) {
  return {{"type", "Split"}, {"pattern", {{"Regex", "-"}}}, {"behavior", behavior}, {"invert", invert}};
}

/// A tokenizer of single characters, ids from 0, with added tokens behind them.
json of_characters(const std::string& text, const json& added) {
  json tokenizer = json::parse(Vocabulary::characters(text).to_json());
  tokenizer["added_tokens"] = added;
  return tokenizer;
}

json added(int id, const std::string& content, const json& flags = json::object()) {
  json token = {{"id", id}, {"content", content}, {"special", false}, {"normalized", false}};
  token.update(flags);
  return token;
}

Texts tokens_of(const json& tokenizer, const std::string& text) {
  return Tokenizer(object(tokenizer)).encode(text).tokens;
}

}  // namespace

TEST_CASE("normalizers change a text as the library does", "[tokenizer]") {
  CHECK(normalized({{"type", "NFKC"}}, "ﬁn Å ½") == "fin Å 1⁄2");
  CHECK(normalized({{"type", "NFD"}}, "é") == "e\u0301");
  CHECK(normalized({{"type", "NFC"}}, "e\u0301") == "é");
  CHECK(normalized({{"type", "Lowercase"}}, "ΣΑΣ İ") == "σασ i\u0307");
  CHECK(normalized({{"type", "StripAccents"}}, "e\u0301a") == "ea");
  CHECK(normalized({{"type", "Strip"}, {"strip_left", true}, {"strip_right", false}}, " \u3000a ") == "a ");
  CHECK(normalized({{"type", "Prepend"}, {"prepend", "▁"}}, "a") == "▁a");
  CHECK(normalized({{"type", "Prepend"}, {"prepend", "▁"}}, "").empty());
  CHECK(normalized({{"type", "Replace"}, {"pattern", {{"Regex", "[0-9]+"}}}, {"content", "#"}}, "a12b3") == "a#b#");
  CHECK(normalized({{"type", "Replace"}, {"pattern", {{"String", "."}}}, {"content", ""}}, "a.b") == "ab");
  CHECK(normalized({{"type", "Nmt"}},
                   "a\u200bb\x01"
                   "c") == "a bc");
  CHECK(normalized({{"type", "ByteLevel"}}, " é") == "ĠÃ©");
  const json bert = {{"type", "BertNormalizer"},
                     {"clean_text", true},
                     {"handle_chinese_chars", true},
                     {"strip_accents", nullptr},
                     {"lowercase", true}};
  CHECK(normalized(bert, "É\tx\x07中") == "e x 中 ");
  // U+0378 is unassigned, which is no reason to drop it; U+200B is a format character.
  CHECK(normalized(bert, "\u0378\u200b") == "\u0378");
  // Normal forms are those of Unicode 9: a later mark does not move (U+08D3, of Unicode 11, would go below U+0301), and
  // a later letter that stands for another (U+107A5 of Unicode 14, for q) stays.
  for (const char* form : {"NFC", "NFD", "NFKC", "NFKD"}) {
    INFO(form);
    CHECK(normalized({{"type", form}}, "x\u0301\u08D3 \U000107A5") == "x\u0301\u08D3 \U000107A5");
    CHECK(normalized({{"type", form}}, "x\u0301\u08E3") == "x\u08E3\u0301");
  }
}

TEST_CASE("pre-tokenizers split a text as the library does", "[tokenizer]") {
  const std::string text = "the-final--countdown";
  CHECK(split(split_at("Removed"), text) == Texts{"the", "final", "countdown"});
  CHECK(split(split_at("Isolated"), text) == Texts{"the", "-", "final", "-", "-", "countdown"});
  CHECK(split(split_at("MergedWithPrevious"), text) == Texts{"the-", "final-", "-", "countdown"});
  CHECK(split(split_at("MergedWithNext"), text) == Texts{"the", "-final", "-", "-countdown"});
  CHECK(split(split_at("Contiguous"), text) == Texts{"the", "-", "final", "--", "countdown"});
  CHECK(split(split_at("Removed", true), text) == Texts{"-", "-", "-"});
  CHECK(split({{"type", "Whitespace"}}, "a_b c!? d") == Texts{"a_b", "c", "!?", "d"});
  CHECK(split({{"type", "WhitespaceSplit"}}, " a\u3000b! ") == Texts{"a", "b!"});
  CHECK(split({{"type", "BertPreTokenizer"}}, "Hi, you") == Texts{"Hi", ",", "you"});
  CHECK(split({{"type", "Digits"}, {"individual_digits", true}}, "a12") == Texts{"a", "1", "2"});
  CHECK(split({{"type", "Digits"}, {"individual_digits", false}}, "a12") == Texts{"a", "12"});
  CHECK(split({{"type", "Punctuation"}, {"behavior", "Contiguous"}}, "a?!b") == Texts{"a", "?!", "b"});
  const auto metaspace = [](const char* scheme, bool splits) {
    return json{{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", scheme}, {"split", splits}};
  };
  CHECK(split(metaspace("always", true), "a b") == Texts{"▁a", "▁b"});
  CHECK(split(metaspace("never", false), "a b") == Texts{"a▁b"});
  const json after_digits = {
      {"type", "Sequence"},
      {"pretokenizers", {{{"type", "Digits"}, {"individual_digits", true}}, metaspace("first", true)}}};
  CHECK(split(after_digits, "1a") == Texts{"▁1", "a"});
  const json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"use_regex", true}};
  CHECK(split(bytes, "I'm  42!") == Texts{"ĠI", "'m", "Ġ", "Ġ42", "!"});
}

TEST_CASE("decoders join tokens as the library does", "[tokenizer]") {
  CHECK(decoded({{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}, {"do", "##n", "'", "t", "!"}) ==
        "don ' t!");
  CHECK(decoded({{"type", "BPEDecoder"}, {"suffix", "</w>"}}, {"a", "b</w>", "c</w>"}) == "ab c");
  CHECK(decoded({{"type", "ByteFallback"}}, {"<0xC3>", "<0xA9>", "x", "<0xC3>"}) == "éx\uFFFD");
  CHECK(decoded({{"type", "ByteLevel"}}, {"ĠÃ", "©"}) == " é");
  CHECK(decoded({{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "always"}}, {"▁a", "▁b"}) == "a b");
  CHECK(decoded({{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "never"}}, {"▁a", "▁b"}) == " a b");
  CHECK(decoded({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 1}}, {"  a  "}) == " a ");
}

TEST_CASE("added tokens are found leftmost, then longest", "[tokenizer]") {
  const json plain = of_characters("abcdef ", {added(7, "ab"), added(8, "abc"), added(9, "bcdef")});
  CHECK(tokens_of(plain, "abcdef") == Texts{"abc", "d", "e", "f"});
  const json word = of_characters("abc ", json::array({added(4, "ab", {{"single_word", true}})}));
  CHECK(tokens_of(word, "ab abc") == Texts{"ab", " ", "a", "b", "c"});
  const json strip = of_characters("abc ", json::array({added(4, "bb", {{"lstrip", true}, {"rstrip", true}})}));
  CHECK(tokens_of(strip, "a  bb c") == Texts{"a", "  bb ", "c"});
  json lower = of_characters("abc", json::array({added(3, "AB", {{"normalized", true}})}));
  lower["normalizer"] = {{"type", "Lowercase"}};
  CHECK(tokens_of(lower, "ABab") == Texts{"ab", "ab"});
  CHECK(Tokenizer(object(lower)).decode(std::vector<int32_t>{3}) == "ab");
}

TEST_CASE("RoBERTa's and BERT's special tokens", "[tokenizer]") {
  json tokenizer = of_characters("ab", {added(2, "<s>", {{"special", true}}), added(3, "</s>", {{"special", true}})});
  tokenizer["post_processor"] = {{"type", "RobertaProcessing"}, {"cls", {"<s>", 2}}, {"sep", {"</s>", 3}}};
  const Tokenizer roberta(object(tokenizer));
  CHECK(roberta.encode_pair("a", "b").ids == std::vector<int32_t>{2, 0, 3, 3, 1, 3});
  CHECK(roberta.encode_pair("a", "b").type_ids == std::vector<int32_t>(6, 0));
  CHECK(roberta.decode(roberta.encode("ab").ids) == "ab");
  CHECK(roberta.decode(roberta.encode("ab").ids, false) == "<s>ab</s>");
  tokenizer["post_processor"]["type"] = "BertProcessing";
  const Tokenizer bert(object(tokenizer));
  CHECK(bert.encode_pair("a", "b").ids == std::vector<int32_t>{2, 0, 3, 1, 3});
  CHECK(bert.encode_pair("a", "b").type_ids == std::vector<int32_t>{0, 0, 0, 1, 1});
  CHECK(bert.encode_pair("a", "b", false).type_ids == std::vector<int32_t>{0, 1});
}

TEST_CASE("LLaMA's class of tokenizers goes by tokenizer_config.json", "[tokenizer]") {
  const TemporaryFolder folder;
  json tokenizer = json::parse(get(std::filesystem::path(VKFORMER_FIXTURES) / "tokenizers/llama/tokenizer.json"));
  tokenizer["post_processor"] = nullptr;
  put(folder / "tokenizer.json", tokenizer.dump());
  const auto ids = [&](const json& settings) {
    put(folder / "tokenizer_config.json", settings.dump());
    return Tokenizer(load_model_json(folder.path(), "tokenizer.json")).encode("a").ids;
  };
  const std::vector<int32_t> plain = ids({{"tokenizer_class", "PreTrainedTokenizerFast"}, {"bos_token", "<s>"}});
  const auto around = [&](std::vector<int32_t> before, const std::vector<int32_t>& behind) {
    before.insert(before.end(), plain.begin(), plain.end());
    before.insert(before.end(), behind.begin(), behind.end());
    return before;
  };
  json settings = {
      {"tokenizer_class", "LlamaTokenizerFast"}, {"bos_token", {{"content", "<s>"}}}, {"eos_token", "</s>"}};
  CHECK(ids(settings) == around({1}, {}));
  settings["add_eos_token"] = true;
  CHECK(ids(settings) == around({1}, {2}));
  settings["add_bos_token"] = false;
  CHECK(ids(settings) == around({}, {2}));
  settings["eos_token"] = "<no token>";  // so nothing is known
  CHECK(ids(settings) == plain);
}

TEST_CASE("the vocabularies that are trained here are tokenizers too", "[tokenizer]") {
  const std::string text = "Grün,\n 中文 😀 don't";
  for (const Vocabulary& vocabulary : {Vocabulary::characters(text), Vocabulary::bytes()}) {
    const JsonObject file = JsonObject::parse(vocabulary.to_json(), "t.json");
    CHECK(Vocabulary::is_one(file));
    const Tokenizer tokenizer(file);
    CHECK(tokenizer.size() == vocabulary.size());
    CHECK(tokenizer.encode(text).ids == vocabulary.encode(text));
    CHECK(tokenizer.decode(vocabulary.encode(text)) == text);
  }
  CHECK_FALSE(Vocabulary::is_one(object(of_characters("ab", json::array({added(2, "<s>")})))));
}

TEST_CASE("a stream of tokens shows whole characters and continues the prompt", "[tokenizer]") {
  const Tokenizer bytes(JsonObject::parse(Vocabulary::bytes().to_json(), "t.json"));
  TokenStream stream(bytes);
  CHECK(stream.push('a') == "a");
  CHECK(stream.push(0xE2).empty());
  CHECK(stream.push(0x82).empty());
  CHECK(stream.push(0xAC) == "€");
  CHECK(stream.push(0xC3).empty());
  CHECK(stream.finish() == "\uFFFD");
  // Long enough that only the last ids are kept.
  std::string shown;
  for (int i = 0; i < 500; ++i)
    for (const int id : {0x78, 0xC3, 0xA9}) shown += stream.push(id);
  CHECK(shown.size() == 1500);
  CHECK(shown.substr(1494) == "xéxé");
  // No character begins or ends: nothing to wait for, and all of it in little time.
  shown.clear();
  TokenStream broken(bytes);
  constexpr size_t many = 30'000;
  for (size_t i = 0; i < many; ++i) shown += broken.push(0xFF);
  shown += broken.finish();
  CHECK(shown == bytes.decode(std::vector<int32_t>(many, 0xFF)));

  // What byte tokens spell, a run of them says as a whole, however long ago it began, whatever is left out between.
  json fallback = of_characters("ab", json::array({added(2, "<0xC3>"), added(3, "<0xA9>"), added(4, "<0xFF>"),
                                                   added(5, "<end>", {{"special", true}})}));
  fallback["decoder"] = {{"type", "Sequence"},
                         {"decoders", json::array({{{"type", "ByteFallback"}}, {{"type", "Fuse"}}})}};
  const Tokenizer spelled(object(fallback));
  std::vector<int32_t> ids;
  for (uint32_t i = 0, state = 1; i < 4000; ++i) {
    state = state * 1664525 + 1013904223;  // Numerical Recipes' generator
    ids.push_back(static_cast<int32_t>((state >> 16) % (i % 200 < 100 ? 4 : 6)));
  }
  TokenStream run(spelled);
  shown.clear();
  for (const int32_t next : ids) shown += run.push(next);
  shown += run.finish();
  CHECK(shown == spelled.decode(ids));

  json words = of_characters("▁ab", json::array());
  words["decoder"] = {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "always"}};
  const Tokenizer marked(object(words));
  const auto id = [&](const char* token) { return marked.id_of(token).value(); };
  TokenStream alone(marked);
  CHECK(alone.push(id("▁")).empty());
  const std::vector<int32_t> prompt = {id("▁"), id("a")};
  TokenStream continued(marked, prompt);
  CHECK(continued.push(id("▁")) == " ");
  CHECK(continued.push(id("b")) == "b");
}

TEST_CASE("what a tokenizer has that is not supported is named", "[tokenizer]") {
  const json good = of_characters("ab", json::array());
  const auto changed = [&](const char* pointer, const json& value) {
    json tokenizer = good;
    tokenizer[json::json_pointer(pointer)] = value;
    return error_of([&] { Tokenizer{object(tokenizer)}; });
  };
  CHECK(changed("/normalizer", {{"type", "Odd"}}) ==
        "t.json, normalizer: normalizers of type \"Odd\" are not supported");
  CHECK(changed("/pre_tokenizer", {{"type", "UnicodeScripts"}}) ==
        "t.json, pre_tokenizer: pre-tokenizers of type \"UnicodeScripts\" are not supported");
  CHECK(changed("/decoder", {{"type", "CTC"}}) == "t.json, decoder: decoders of type \"CTC\" are not supported");
  CHECK(changed("/post_processor", {{"type", "Odd"}}) ==
        "t.json, post_processor: post-processors of type \"Odd\" are not supported");
  CHECK(changed("/model/type", "WordLevel") == "t.json, model: models of type \"WordLevel\" are not supported");
  CHECK_THAT(changed("/pre_tokenizer", split_at("Odd")), ContainsSubstring("\"behavior\" \"Odd\" is none of"));
  CHECK_THAT(changed("/normalizer", {{"type", "Replace"}, {"pattern", {{"Regex", "("}}}, {"content", ""}}),
             ContainsSubstring("the regular expression \"(\" can't be compiled"));
  CHECK_THAT(changed("/added_tokens", {{{"id", -1}, {"content", "x"}}}),
             ContainsSubstring("\"id\" must be an integer"));
  CHECK_THAT(changed("/added_tokens", {1}), ContainsSubstring("added_tokens[0] must be an object"));
  CHECK_THAT(error_of([&] { Tokenizer(object(good)).encode("a\xFF"); }), ContainsSubstring("byte 1 is 0xFF"));
}
