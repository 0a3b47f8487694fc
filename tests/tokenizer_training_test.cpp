// Vocabularies made of text: what sentencepiece's trainer learns, read back by our own tokenizer.

#include "models/text/tokenizer_training.h"

#include <sentencepiece_processor.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "models/text/sentence_pieces.h"
#include "models/text/tokenizer.h"
#include "runtime/check.h"
#include "tests/file_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;

namespace {

using Kind = TokenizerTraining::Kind;
using Layout = TokenizerTraining::Layout;

/// Sentences of made-up words in four scripts, some with numbers and signs; none changes by normalization.
std::vector<std::string> made_sentences(int count, uint32_t seed) {
  const std::vector<std::vector<std::string>> syllables = {
      {"ba", "ren", "tü", "schlo", "ing", "ka", "ß", "Mo", "e"},
      {"на", "ро", "ж", "сти", "ы", "К", "ло"},
      {"κα", "λη", "μέ", "ρα", "ς", "Θ"},
      {"天", "地", "人", "日", "月", "山"},
  };
  std::mt19937 random(seed);
  std::vector<std::string> sentences;
  for (int i = 0; i < count; ++i) {
    const auto& script = syllables[random() % syllables.size()];
    std::string sentence;
    for (uint32_t word = 0, words = 2 + random() % 8; word < words; ++word) {
      if (word > 0) sentence += random() % 9 == 0 ? ", " : " ";
      if (random() % 10 == 0) sentence += std::to_string(random() % 1000);
      // A small set of words, so that there is something to learn.
      std::mt19937 word_random(static_cast<uint32_t>(random() % 120));
      for (uint32_t part = 0, parts = 1 + word_random() % 3; part < parts; ++part)
        sentence += script[word_random() % script.size()];
    }
    sentences.push_back(sentence + (random() % 3 == 0 ? "?" : "."));
  }
  return sentences;
}

const std::vector<std::string>& corpus() {
  static const auto sentences = made_sentences(400, 1);
  return sentences;
}

Tokenizer tokenizer_of(const json& content) { return Tokenizer(JsonObject::parse(content.dump(), "tokenizer.json")); }

TokenizerTraining wanted(Kind kind, int64_t size) {
  return {.kind = kind, .layout = kind == Kind::byte_bpe ? Layout::plain : Layout::translation, .size = size};
}

void check_same_as_sentencepiece(const TokenizerTraining& training, const std::vector<std::string>& texts) {
  const Tokenizer tokenizer = tokenizer_of(train_tokenizer(corpus(), training));
  sentencepiece::SentencePieceProcessor processor;
  REQUIRE(processor.LoadFromSerializedProto(train_pieces(corpus(), training).model).ok());
  REQUIRE(tokenizer.size() == processor.GetPieceSize());
  for (const std::string& text : texts) {
    INFO(text);
    const std::vector<int> expected = processor.EncodeAsIds(text);
    CHECK(tokenizer.encode(text, false).ids == std::vector<int32_t>(expected.begin(), expected.end()));
  }
}

/// A text of any characters at all but surrogates.
std::string random_text(std::mt19937& random) {
  std::string text;
  for (uint32_t i = 0, length = random() % 60; i < length; ++i) {
    const uint32_t limits[] = {0x80, 0x80, 0x800, 0x10000, 0x110000};
    const char32_t c = random() % limits[random() % 5];
    append_utf8(text, c >= 0xD800 && c < 0xE000 ? U' ' : c);
  }
  return text;
}

}  // namespace

TEST_CASE("trained tokenizers give sentencepiece's ids", "[tokens]") {
  std::vector<std::string> texts = made_sentences(200, 2);
  // Unknown characters alone, in runs and within words; blanks of all kinds; what normalization changes; nothing.
  for (const char* text : {"", " ", "日本語", "ba§§ren ¶ ка", "  ba   ren ", "ba\tren\u3000\u00a0tü",
                           "ｂａ ﬁ ½ Å e\u0301", "KA ma0ba", "12 345", "\u200bba\u2581ren"})
    texts.emplace_back(text);
  check_same_as_sentencepiece(wanted(Kind::unigram, 200), texts);
  check_same_as_sentencepiece(wanted(Kind::bpe, 300), texts);
  TokenizerTraining bert = wanted(Kind::bpe, 200);
  bert.layout = Layout::bert;
  check_same_as_sentencepiece(bert, texts);
}

TEST_CASE("trained tokenizers give texts back", "[tokens]") {
  for (const Kind kind : {Kind::unigram, Kind::bpe, Kind::byte_bpe}) {
    const Tokenizer tokenizer = tokenizer_of(train_tokenizer(corpus(), wanted(kind, 400)));
    CHECK(tokenizer.size() <= 400);
    size_t ids = 0, characters = 0;
    for (const std::string& text : made_sentences(100, 3)) {
      const Encoding encoding = tokenizer.encode(text);
      CHECK(tokenizer.decode(encoding.ids) == text);
      ids += encoding.ids.size();
      for_each_character(text, [&](char32_t, size_t, size_t) { ++characters; });
    }
    CHECK(ids * 3 < characters * 2);
  }
}

TEST_CASE("a trained byte vocabulary decodes every text exactly", "[tokens]") {
  const json content = train_tokenizer(corpus(), wanted(Kind::byte_bpe, 300));
  const Tokenizer tokenizer = tokenizer_of(content);
  REQUIRE(tokenizer.size() == 300);
  CHECK(tokenizer.id_of("!") == 0);  // the bytes are in GPT-2's order
  CHECK(tokenizer.id_of("Ġ") == 220);
  CHECK(tokenizer.id_of("<|endoftext|>") == 299);
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    const std::string text = random_text(random);
    INFO(printable(text));
    CHECK(tokenizer.decode(tokenizer.encode(text).ids) == text);
  }
  CHECK(tokenizer.encode("a<|endoftext|>b").ids == std::vector<int32_t>{64, 299, 65});
}

TEST_CASE("special tokens have their ids and places", "[tokens]") {
  const Tokenizer translation = tokenizer_of(train_tokenizer(corpus(), wanted(Kind::unigram, 150)));
  CHECK(translation.id_of("<pad>") == 0);
  CHECK(translation.encode("").ids == std::vector<int32_t>{1});
  CHECK(translation.encode("§").ids == std::vector<int32_t>{*translation.id_of("▁"), 2, 1});
  CHECK(translation.encode_pair("", "").ids == std::vector<int32_t>{1, 1});

  TokenizerTraining training = wanted(Kind::bpe, 150);
  training.layout = Layout::bert;
  const Tokenizer bert = tokenizer_of(train_tokenizer(corpus(), training));
  CHECK(bert.token_of(0) == "[PAD]");
  const Encoding pair = bert.encode_pair("[MASK]", "[UNK]");
  CHECK(pair.tokens == std::vector<std::string>{"[CLS]", "[MASK]", "[SEP]", "[UNK]", "[SEP]"});
  CHECK(pair.ids == std::vector<int32_t>{2, 4, 3, 1, 3});
  CHECK(pair.type_ids == std::vector<int32_t>{0, 0, 0, 1, 1});
  CHECK(bert.decode(pair.ids).empty());
}

TEST_CASE("XLNet's and T5's special tokens have their ids and places", "[tokens]") {
  for (const Kind kind : {Kind::unigram, Kind::bpe}) {
    TokenizerTraining training = wanted(kind, 260);
    training.layout = Layout::xlnet;
    const Tokenizer xlnet = tokenizer_of(train_tokenizer(corpus(), training));
    const char* const names[] = {"<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"};
    for (int32_t id = 0; id < 9; ++id) CHECK(xlnet.token_of(id) == names[id]);
    const Encoding pair = xlnet.encode_pair("<mask>", "<eop>");
    CHECK(pair.ids == std::vector<int32_t>{6, 4, 8, 4, 3});
    CHECK(pair.type_ids == std::vector<int32_t>{0, 0, 1, 1, 2});
    CHECK(xlnet.encode("").type_ids == std::vector<int32_t>{0, 2});

    training.layout = Layout::t5;
    const Tokenizer t5 = tokenizer_of(train_tokenizer(corpus(), training));
    CHECK(t5.size() == 260);
    CHECK(t5.token_of(159) != "<extra_id_100>");
    for (int32_t id = 160; id < 260; ++id) CHECK(t5.token_of(id) == fmt::format("<extra_id_{}>", 259 - id));
    CHECK(t5.encode("<extra_id_0> <extra_id_99>").ids == std::vector<int32_t>{259, 160, 1});
  }
}

TEST_CASE("a vocabulary can be of lower case", "[tokens]") {
  for (const Kind kind : {Kind::unigram, Kind::bpe, Kind::byte_bpe}) {
    TokenizerTraining training = wanted(kind, 400);
    training.lowercase = true;
    const Tokenizer tokenizer = tokenizer_of(train_tokenizer(corpus(), training));
    CHECK(tokenizer.decode(tokenizer.encode("MoKA ΘΚΑΛΗ Кло").ids) == "moka θκαλη кло");
    if (kind != Kind::byte_bpe) CHECK_FALSE(tokenizer.id_of("M"));
  }
}

TEST_CASE("training a vocabulary twice gives the same bytes", "[tokens]") {
  for (const Kind kind : {Kind::unigram, Kind::bpe, Kind::byte_bpe}) {
    const TokenizerTraining training = wanted(kind, 280);
    CHECK(train_tokenizer(corpus(), training).dump() == train_tokenizer(corpus(), training).dump());
  }
}

TEST_CASE("special tokens and long lines in a text do not disturb its training", "[tokens]") {
  std::vector<std::string> lines = corpus();
  for (int i = 0; i < 50; ++i) lines.push_back("<pad> kaba</s> <unk>ren \u2585 [MASK] <|endoftext|>");
  std::string endless;
  for (int i = 0; i < 20000; ++i) endless += "schloren";
  lines.push_back(endless);
  for (const Kind kind : {Kind::unigram, Kind::bpe, Kind::byte_bpe}) {
    const Tokenizer tokenizer = tokenizer_of(train_tokenizer(lines, wanted(kind, 400)));
    CHECK_FALSE(tokenizer.encode("schloren", false).ids.empty());
    for (int32_t id = 3; id < tokenizer.size() - 1; ++id) CHECK(tokenizer.token_of(id) != "<unk>");
  }
  // A line that is cut is all learnt from.
  std::string line(5000, 'a');
  line.append(" ").append(5000, 'b');
  const std::vector<std::string> parts = training_parts({&line, 1}, {}, 4096);
  std::string all;
  for (const std::string& part : parts) {
    CHECK(part.size() <= 4096);
    all += part;
  }
  CHECK(all == line);
  const std::string wide = "ééé";
  CHECK(training_parts({&wide, 1}, {}, 3) == std::vector<std::string>{"é", "é", "é"});
}

TEST_CASE("small texts give fewer tokens than asked for", "[tokens]") {
  for (const Kind kind : {Kind::unigram, Kind::bpe, Kind::byte_bpe})
    for (const char* text : {"a", "ab ab", "日"}) {
      const std::vector<std::string> lines = {text, "", " "};
      const Tokenizer tokenizer = tokenizer_of(train_tokenizer(lines, wanted(kind, 1000)));
      CHECK(tokenizer.size() < 300);
      CHECK(tokenizer.decode(tokenizer.encode(text).ids) == text);
    }
}

TEST_CASE("what no vocabulary can be made of is refused", "[tokens]") {
  const auto refused = [](const std::vector<std::string>& lines, const TokenizerTraining& training, const char* why) {
    CHECK_THROWS_WITH(train_tokenizer(lines, training), ContainsSubstring(why));
  };
  for (const Kind kind : {Kind::unigram, Kind::bpe, Kind::byte_bpe}) {
    refused({}, wanted(kind, 300), "no text");
    refused({"", ""}, wanted(kind, 300), "no text");
    refused({"a", "b\xff"}, wanted(kind, 300), "line 2 is not UTF-8: its byte 1 is 0xFF");
    refused({"a"}, wanted(kind, 0), "0");
  }
  refused({" ", "\t\u200b\u3000\u2581"}, wanted(Kind::unigram, 300), "blanks");
  refused({"\u2585"}, wanted(Kind::bpe, 300), "blanks");
  refused({"abc"}, wanted(Kind::unigram, 6), "too small for the 4 characters of the text and 3 special tokens");
  refused({"abc"}, wanted(Kind::bpe, 6), "size of 7 or more");
  refused({"abc"}, wanted(Kind::byte_bpe, 256), "257");
  refused({"abc"}, {.kind = Kind::bpe, .layout = Layout::t5, .size = 106}, "size of 107 or more");
  refused({"abc"}, {.kind = Kind::bpe, .layout = Layout::t5, .size = 20}, "size of 107 or more");
  refused({"abc"}, {.kind = Kind::bpe, .layout = Layout::plain}, "plain");
  refused({"abc"}, {.kind = Kind::byte_bpe, .layout = Layout::bert}, "plain");
  refused({"abc"}, {.kind = Kind::bpe, .coverage = 0.9}, "coverage");
}

TEST_CASE("a share of the characters may stay unknown", "[tokens]") {
  std::vector<std::string> lines = corpus();
  lines.push_back("Ω ба Ψ");
  TokenizerTraining training = wanted(Kind::unigram, 200);
  CHECK(tokenizer_of(train_tokenizer(lines, training)).id_of("Ψ"));
  training.coverage = 0.999;
  CHECK_FALSE(tokenizer_of(train_tokenizer(lines, training)).id_of("Ψ"));
}

TEST_CASE("a trained tokenizer is saved as transformers loads it", "[tokens]") {
  const TemporaryFolder folder;
  const json content = train_tokenizer(corpus(), wanted(Kind::unigram, 150));
  save_tokenizer(content, Layout::translation, folder.path() / "new");
  const JsonObject settings = JsonObject::load(folder.path() / "new" / "tokenizer_config.json");
  CHECK(require_string(settings, "tokenizer_class") == "PreTrainedTokenizerFast");
  CHECK(require_string(settings, "eos_token") == "</s>");
  CHECK(require_string(settings, "unk_token") == "<unk>");
  CHECK_FALSE(settings.has("mask_token"));
  const Tokenizer loaded = Tokenizer::load(folder.path() / "new" / "tokenizer.json");
  CHECK(loaded.encode("baren kaba.").ids == tokenizer_of(content).encode("baren kaba.").ids);
  save_tokenizer(content, Layout::xlnet, folder.path() / "new");
  const JsonObject xlnet = JsonObject::load(folder.path() / "new" / "tokenizer_config.json");
  CHECK(require_string(xlnet, "padding_side") == "left");
  CHECK(xlnet.value()["additional_special_tokens"] == json{"<eod>", "<eop>"});
  CHECK_FALSE(xlnet.has("model_input_names"));
}
