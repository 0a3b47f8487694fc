// The models of tokenizers, with small vocabularies.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "models/text/precompiled_charsmap.h"
#include "models/text/token_model.h"
#include "runtime/files/json_file.h"
#include "tests/file_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;
using namespace nlohmann::literals;

namespace {

using Ids = std::vector<int32_t>;
using Texts = std::vector<std::string>;
using Maker = std::unique_ptr<TokenModel> (*)(const JsonObject&);

std::unique_ptr<TokenModel> made(Maker make, const json& model) {
  return make(JsonObject::parse(model.dump(), "tokenizer.json"));
}

std::string error_of_model(Maker make, const json& model) {
  return error_of([&] { made(make, model); });
}

Ids ids_of(const TokenModel& model, std::string_view word) {
  Ids all;
  for (const Token& token : model.tokenize(word)) all.push_back(token.id);
  return all;
}

Texts texts(const TokenModel& model, std::string_view word) {
  Texts all;
  for (const Token& token : model.tokenize(word)) all.push_back(token.text);
  return all;
}

json bpe_of(json vocab, json merges, const json& more = json::object()) {
  json model = {{"type", "BPE"}, {"vocab", std::move(vocab)}, {"merges", std::move(merges)}};
  model.update(more);
  return model;
}

json word_piece_of(json vocab, const json& more = json::object()) {
  json model = {{"type", "WordPiece"},
                {"unk_token", "[UNK]"},
                {"continuing_subword_prefix", "##"},
                {"max_input_chars_per_word", 8},
                {"vocab", std::move(vocab)}};
  model.update(more);
  return model;
}

json unigram_of(json vocab, const json& more = json::object()) {
  json model = {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", std::move(vocab)}};
  model.update(more);
  return model;
}

const json abc = {{"a", 0}, {"b", 1}, {"c", 2}, {"ab", 3}, {"bc", 4}, {"abc", 5}, {"aa", 6}, {"aaaa", 7}};
const json abc_merges = R"([["b", "c"], ["a", "b"], ["a", "bc"], ["a", "a"], ["aa", "aa"]])"_json;

std::string base64_of(const std::string& bytes) {
  static const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = (group << 8) | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) text += i + k > bytes.size() ? '=' : digits[(group >> (18 - 6 * k)) & 63];
  }
  return text;
}

std::string u32_bytes(uint32_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

/// A charsmap with the given rules. Node k's children are at 256 k ^ byte.
std::string charsmap_of(const std::map<std::string, std::string>& rules) {
  std::vector<uint32_t> trie(512);
  trie[0] = 256u << 10;
  std::string replacements;
  for (const auto& [from, to] : rules) {
    uint32_t node = 256;
    uint32_t place = 0;
    for (const char c : from) {
      place = node ^ static_cast<uint8_t>(c);
      if (trie[place] == 0) {
        trie[place] = static_cast<uint8_t>(c) | ((place ^ static_cast<uint32_t>(trie.size())) << 10);
        trie.resize(trie.size() + 256);
      }
      node = (trie[place] >> 10) ^ place;
    }
    trie[place] |= 0x100;
    trie[node] = 0x80000000u | static_cast<uint32_t>(replacements.size());
    replacements += to + '\0';
  }
  std::string bytes = u32_bytes(static_cast<uint32_t>(4 * trie.size()));
  for (const uint32_t unit : trie) bytes += u32_bytes(unit);
  return bytes + replacements;
}

std::string normalized_by(const PrecompiledCharsmap& rules, std::string_view text) {
  TextPart part{std::string(text)};
  rules.normalize(part);
  return part.text;
}

std::string error_of_charsmap(const std::string& bytes, std::string_view text = "") {
  return error_of([&] { normalized_by(PrecompiledCharsmap(base64_of(bytes)), text); });
}

}  // namespace

TEST_CASE("BPE merges the best rank first, and of equal ranks the leftmost", "[files]") {
  const auto model = made(make_bpe, bpe_of(abc, abc_merges));
  CHECK(ids_of(*model, "abc") == Ids{5});  // not ab c
  CHECK(ids_of(*model, "abbc") == Ids{3, 4});
  CHECK(ids_of(*model, "aaa") == Ids{6, 0});
  CHECK(ids_of(*model, "aaaaaaa") == Ids{7, 6, 0});
  CHECK(texts(*model, "cab") == Texts{"c", "ab"});
  CHECK(ids_of(*model, "").empty());
  CHECK(ids_of(*model, "axb") == Ids{3});  // what is unknown is left out, without unk_token
  CHECK(model->size() == 8);
  CHECK(model->id_of("bc") == 4);
  CHECK(!model->id_of("x"));
  CHECK(model->token_of(3) == "ab");
  CHECK(!model->token_of(8));
  CHECK(!model->token_of(-1));
}

TEST_CASE("BPE reads merges as lines too", "[files]") {
  const auto model = made(make_bpe, bpe_of(abc, R"(["#version: 0.2", "b c", "a bc"])"_json));
  CHECK(ids_of(*model, "abcab") == Ids{5, 0, 1});
}

TEST_CASE("a repeated merge has its last rank", "[files]") {
  const auto model = made(make_bpe, bpe_of(abc, R"([["a", "b"], ["b", "c"], ["a", "b"]])"_json));
  CHECK(ids_of(*model, "abc") == Ids{0, 4});
}

TEST_CASE("BPE merges long words in little time", "[files][long]") {
  const auto model = made(make_bpe, bpe_of(abc, abc_merges));
  const size_t length = 1 << 20;  // quadratic time would take minutes
  const Ids all = ids_of(*model, std::string(length, 'a'));
  CHECK(all == Ids(length / 4, 7));
}

TEST_CASE("BPE with unknown characters", "[files]") {
  const json vocab = {{"<unk>", 0}, {"a", 1}, {"<0xC3>", 2}, {"<0xA9>", 3}};
  const std::string e_acute = "\xC3\xA9";
  const auto make_with = [&](const json& more) { return made(make_bpe, bpe_of(vocab, json::array(), more)); };
  CHECK(ids_of(*make_with({{"unk_token", "<unk>"}}), "xyaz") == Ids{0, 0, 1, 0});
  CHECK(ids_of(*make_with({{"unk_token", "<unk>"}, {"fuse_unk", true}}), "xyaz") == Ids{0, 1, 0});
  CHECK(ids_of(*make_with({{"byte_fallback", true}}), "a" + e_acute + "x") == Ids{1, 2, 3});
  // Odd, but so does the library: bytes overtake an unknown character.
  CHECK(ids_of(*make_with({{"unk_token", "<unk>"}, {"byte_fallback", true}}), "x" + e_acute + "a") == Ids{2, 3, 0, 1});
  const auto broken = make_with({{"unk_token", "<missing>"}});
  CHECK(ids_of(*broken, "a") == Ids{1});
  CHECK_THAT(error_of([&] { broken->tokenize("x"); }), ContainsSubstring("tokenizer.json: \"vocab\" lacks"));
}

TEST_CASE("BPE with affixes, and without merges of whole words", "[files]") {
  const json vocab = {{"a", 0}, {"##b", 1}, {"##c</w>", 2}, {"##bc</w>", 3}, {"abc</w>", 4}, {"a</w>", 5}, {"bab", 6}};
  const json affixes = {{"continuing_subword_prefix", "##"}, {"end_of_word_suffix", "</w>"}, {"ignore_merges", true}};
  const auto model = made(make_bpe, bpe_of(vocab, R"([["##b", "##c</w>"], ["a", "##bc</w>"]])"_json, affixes));
  CHECK(ids_of(*model, "abc") == Ids{4});
  CHECK(ids_of(*model, "abbc") == Ids{0, 1, 3});
  CHECK(ids_of(*model, "a") == Ids{0});  // ignore_merges: the word is a token
  CHECK(ids_of(*model, "bab") == Ids{6});
}

TEST_CASE("wrong BPE models", "[files]") {
  const auto error = [](const json& model) { return error_of_model(make_bpe, model); };
  CHECK(error(bpe_of(abc, abc_merges)).empty());
  CHECK(error(bpe_of(abc, abc_merges, {{"dropout", 0.0}})).empty());
  CHECK_THAT(error(bpe_of(abc, abc_merges, {{"dropout", 0.1}})), ContainsSubstring("\"dropout\""));
  CHECK_THAT(error(bpe_of({{"a", 0}, {"b", 0}}, json::array())), ContainsSubstring("both have the id 0"));
  CHECK_THAT(error(bpe_of({{"a", -1}}, json::array())), ContainsSubstring("tokenizer.json, vocab: the id of \"a\""));
  CHECK_THAT(error(bpe_of({{"a", 3000000000}}, json::array())), ContainsSubstring("the id of \"a\""));
  CHECK_THAT(error(bpe_of({{"a", "0"}}, json::array())), ContainsSubstring("the id of \"a\""));
  CHECK_THAT(error(bpe_of(json::array(), json::array())), ContainsSubstring("\"vocab\" must be an object"));
  CHECK_THAT(error(bpe_of(abc, nullptr)), ContainsSubstring("\"merges\" must be a list"));
  CHECK_THAT(error(bpe_of(abc, R"([["a", "x"]])"_json)), ContainsSubstring("needs the token \"x\""));
  CHECK_THAT(error(bpe_of(abc, R"([["c", "c"]])"_json)), ContainsSubstring("needs the token \"cc\""));
  CHECK_THAT(error(bpe_of(abc, R"([["a", "b"], ["a"]])"_json)), ContainsSubstring("\"merges\"[1] must be [\"left\""));
  CHECK_THAT(error(bpe_of(abc, R"([["a", "b"], "b c"])"_json)), ContainsSubstring("\"merges\"[1] must be [\"left\""));
  CHECK_THAT(error(bpe_of(abc, R"(["a b c"])"_json)), ContainsSubstring("\"merges\"[0] must be \"left right\""));
  CHECK_THAT(error(bpe_of(abc, R"(["a b", 1])"_json)), ContainsSubstring("\"merges\"[1] must be \"left right\""));
  CHECK_THAT(error(bpe_of(abc, abc_merges, {{"continuing_subword_prefix", "##"}})), ContainsSubstring("is shorter"));
  CHECK_THAT(error(bpe_of(abc, abc_merges, {{"unk_token", 1}})), ContainsSubstring("\"unk_token\" must be a string"));
  CHECK_THAT(error(bpe_of(abc, abc_merges, {{"fuse_unk", 1}})), ContainsSubstring("\"fuse_unk\" must be true"));
}

TEST_CASE("WordPiece takes the longest token at every place", "[files]") {
  const auto model = made(make_word_piece, word_piece_of({{"[UNK]", 9},
                                                          {"un", 1},
                                                          {"una", 2},
                                                          {"##ab", 3},
                                                          {"##ble", 4},
                                                          {"##b", 5},
                                                          {"##\xC3\xA9", 6},
                                                          {"\xC3\xA9", 7}}));
  CHECK(ids_of(*model, "unab") == Ids{2, 5});
  CHECK(texts(*model, "unabble") == Texts{"una", "##b", "##ble"});
  CHECK(texts(*model, "unable") == Texts{"una", "##ble"});
  CHECK(texts(*model, "unbx") == Texts{"[UNK]"});
  CHECK(ids_of(*model, "ab") == Ids{9});  // only within words
  CHECK(ids_of(*model, "").empty());
  CHECK(ids_of(*model, "\xC3\xA9\xC3\xA9") == Ids{7, 6});
  std::string accents;
  for (int i = 0; i < 8; ++i) accents += "\xC3\xA9";
  CHECK(model->tokenize(accents).size() == 8);
  CHECK(ids_of(*model, accents + "b") == Ids{9});  // more than 8 characters
  CHECK(model->token_of(3) == "##ab");
}

TEST_CASE("wrong WordPiece models", "[files]") {
  const auto error = [](const json& model) { return error_of_model(make_word_piece, model); };
  const json vocab = {{"a", 0}};
  CHECK(error(word_piece_of(vocab)).empty());
  CHECK_THAT(error(word_piece_of(vocab, {{"max_input_chars_per_word", -1}})), ContainsSubstring("max_input_chars"));
  CHECK_THAT(error(word_piece_of(vocab, {{"unk_token", nullptr}})), ContainsSubstring("\"unk_token\" is missing"));
  CHECK_THAT(error(word_piece_of(vocab, {{"continuing_subword_prefix", 1}})), ContainsSubstring("continuing"));
  CHECK_THAT(error(word_piece_of({{"a", 1.5}})), ContainsSubstring("the id of \"a\""));
  const auto model = made(make_word_piece, word_piece_of(vocab));
  CHECK_THAT(error_of([&] { model->tokenize("ab"); }), ContainsSubstring("lacks the \"unk_token\" \"[UNK]\""));
}

TEST_CASE("Unigram takes the cut with the best score", "[files]") {
  const json pieces = R"([["<unk>", 0], ["a", 0], ["b", 0], ["c", 0], ["d", 0], ["cd", 1], ["ab", 2], ["abc", 5],
                          ["abcd", 10]])"_json;
  const auto model = made(make_unigram, unigram_of(pieces));
  CHECK(texts(*model, "abcdacdxx") == Texts{"abcd", "a", "cd", "xx"});  // the example of the library
  CHECK(ids_of(*model, "abcdacdxx") == Ids{8, 1, 5, 0});
  CHECK(ids_of(*model, "x<unk>y") == Ids{0});  // the piece of unknowns is fused with unknowns
  CHECK(texts(*model, "x<unk>y") == Texts{"x<unk>y"});
  CHECK(ids_of(*model, "").empty());
  CHECK(model->size() == 9);
  CHECK(model->id_of("abc") == 7);
  CHECK(!model->id_of("bc"));
  CHECK(model->token_of(8) == "abcd");
  CHECK(!model->token_of(9));
  CHECK(!model->token_of(-1));
}

TEST_CASE("of equal Unigram scores the earlier start stays", "[files]") {
  const json pieces = R"([["<unk>", -9], ["a", -1], ["b", -1], ["ab", -2], ["ba", -2], ["aba", -3]])"_json;
  const auto model = made(make_unigram, unigram_of(pieces));
  CHECK(texts(*model, "ab") == Texts{"ab"});
  CHECK(texts(*model, "aba") == Texts{"aba"});
  CHECK(texts(*model, "abab") == Texts{"ab", "ab"});  // not aba b
}

TEST_CASE("Unigram with unknown characters", "[files]") {
  const json pieces = R"([["<unk>", 0], ["a", -3], ["<0xC3>", -4], ["<0xA9>", -4], ["ay", -14]])"_json;
  const auto model = made(make_unigram, unigram_of(pieces, {{"byte_fallback", true}}));
  CHECK(ids_of(*model, "a\xC3\xA9x") == Ids{1, 0});  // one unknown of two characters, and x has no byte token
  CHECK(ids_of(*model, "a\xC3\xA9") == Ids{1, 2, 3});
  CHECK(texts(*model, "\xC3\xA9") == Texts{"<0xC3>", "<0xA9>"});
  CHECK(ids_of(*model, "ay") == Ids{4});  // an unknown y would score -24
  const auto without = made(make_unigram, unigram_of(pieces, {{"unk_id", nullptr}}));
  CHECK(ids_of(*without, "aa") == Ids{1, 1});
  CHECK_THAT(error_of([&] { without->tokenize("x"); }), ContainsSubstring("there is no \"unk_id\""));
}

TEST_CASE("wrong Unigram models", "[files]") {
  const auto error = [](const json& model) { return error_of_model(make_unigram, model); };
  CHECK_THAT(error(unigram_of(R"([["a", 0], ["b"]])"_json)),
             ContainsSubstring("\"vocab\"[1] must be [\"piece\", score]"));
  CHECK_THAT(error(unigram_of(R"([["a", "0"], ["b", 0]])"_json)), ContainsSubstring("\"vocab\"[0] must be"));
  CHECK_THAT(error(unigram_of(R"([[1, 0], ["b", 0]])"_json)), ContainsSubstring("\"vocab\"[0] must be"));
  CHECK_THAT(error(unigram_of(json::object())), ContainsSubstring("\"vocab\" must be a list"));
  CHECK_THAT(error(unigram_of(json::array())), ContainsSubstring("\"vocab\" is empty"));
  CHECK_THAT(error(unigram_of(R"([["a", 0], ["b", 0]])"_json, {{"unk_id", 2}})),
             ContainsSubstring("from 0 to 1, not 2"));
  CHECK_THAT(error_of([] { make_unigram(JsonObject::parse(R"({"vocab": [["a", 1e999]]})", "tokenizer.json")); }),
             ContainsSubstring("tokenizer.json: not valid JSON"));
}

TEST_CASE("compiled normalization rules replace clusters, then characters", "[files]") {
  const std::string acute = "\xCC\x81", jamo = "\xE1\x84\x80\xE1\x85\xA1";
  const PrecompiledCharsmap rules(base64_of(charsmap_of({{"e" + acute, "E"},
                                                         {"o", "0"},
                                                         {"o" + acute, "O"},
                                                         {"\r", " "},
                                                         {"x", ""},
                                                         {"\xEF\xAC\x81", "fi"},
                                                         {jamo, "no"}})));
  CHECK(normalized_by(rules, "") == "");
  CHECK(normalized_by(rules, "pie" + acute + "\xEF\xAC\x81.") == "piEfi.");
  CHECK(normalized_by(rules, "o" + acute) == "0");  // the shortest entry, for all of the cluster
  CHECK(normalized_by(rules, "a\r\nb\r\r\n") == "a b  ");
  CHECK(normalized_by(rules, "axb") == "ab");
  CHECK(normalized_by(rules, "q" + acute) == "q" + acute);
  CHECK(normalized_by(rules, jamo) == jamo);  // six bytes: only the characters are looked up
  CHECK(normalized_by(rules, "o" + acute + acute + acute) == "0" + acute + acute + acute);
  CHECK(normalized_by(rules, std::string("o\0o", 3)) == std::string("0\0"
                                                                    "0",
                                                                    3));
  CHECK(normalized_by(rules, "o\xFFo\xC3") ==
        "0\xFF"
        "0\xC3");
}

TEST_CASE("damaged normalization rules", "[files]") {
  const std::string good = charsmap_of({{"o", "0"}, {"pq", "1"}});
  const std::string head = u32_bytes(8) + u32_bytes(256u << 10) + u32_bytes(0);
  CHECK(error_of_charsmap(good, "opq").empty());
  CHECK_THAT(error_of([] { PrecompiledCharsmap("AAA"); }), ContainsSubstring("no whole base64"));
  CHECK_THAT(error_of([] { PrecompiledCharsmap("AA*A"); }), ContainsSubstring("character 2 is not of base64"));
  CHECK_THAT(error_of([] { PrecompiledCharsmap("A==="); }), ContainsSubstring("character 1 is not of base64"));
  CHECK_THAT(error_of_charsmap(""), ContainsSubstring("are too few"));
  CHECK_THAT(error_of_charsmap(u32_bytes(0)), ContainsSubstring("does not fit"));
  CHECK_THAT(error_of_charsmap(u32_bytes(8) + u32_bytes(0)), ContainsSubstring("does not fit"));
  CHECK_THAT(error_of_charsmap(u32_bytes(0xFFFFFFFC) + u32_bytes(0)), ContainsSubstring("does not fit"));
  CHECK_THAT(error_of_charsmap(good + "\xFF"), ContainsSubstring("are not UTF-8"));
  CHECK_THAT(error_of_charsmap(head, "o"), ContainsSubstring("points outside itself"));
  // The value of "o", the first rule's, at 4 + 4 * 512.
  for (const uint32_t value : {5u, 0x7FFFFFFFu}) {
    std::string wrong = good;
    wrong.replace(4 + 4 * 512, 4, u32_bytes(value));
    CHECK_THAT(error_of_charsmap(wrong, "o"), ContainsSubstring("starts outside the list"));
  }
  // One bit wrong at a time, anywhere: an Error or another text, but no harm.
  for (size_t bit = 0; bit < 8 * good.size(); bit += 7) {
    std::string wrong = good;
    wrong[bit / 8] = static_cast<char>(wrong[bit / 8] ^ (1 << bit % 8));
    const std::string error = error_of_charsmap(wrong, "opqpo");
    CHECK((error.empty() || error.starts_with("precompiled_charsmap: ")));
  }
}
