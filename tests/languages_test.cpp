// Tokenizers of models that translate between many languages: made of older files they give SentencePiece's ids, and
// texts have the token of their language where transformers puts it.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "models/text/languages.h"
#include "tests/model_helpers.h"
#include "tests/older_pieces.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

using Ids = std::vector<int32_t>;

Ids joined(std::initializer_list<Ids> parts) {
  Ids all;
  for (const Ids& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// Runs `check` with each text and the ids that SentencePiece has for its pieces.
template <class Check>
void with_pieces(const TrainedPieces& trained, Check check) {
  for (const std::string& text : all_texts()) {
    // 9 and 99 cost the same as 99 and 9: SentencePiece's sums are of single precision, the tokenizers library's not.
    if (text.find("999") != text.npos) continue;
    INFO(text);
    check(text, trained.ids(text));
  }
}

JsonObject tokenizer_in(const TemporaryFolder& folder) {
  return load_model_json(folder.path(), vkformer::tokenizer_file);
}

std::string refusal(const JsonObject& tokenizer, const std::string& name) {
  return error_of([&] { (void)Languages(tokenizer).find(name); });
}

}  // namespace

TEST_CASE("mBART has its languages behind SentencePiece's pieces", "[files]") {
  const TemporaryFolder folder;
  const TrainedPieces trained(english_lines(), unigram_options());
  put(folder / "sentencepiece.bpe.model", trained.bytes);
  const int32_t first = trained.processor.GetPieceSize() + 1;  // Arabic; English is the fourth, German the third
  put(folder / "config.json", R"({"model_type": "mbart"})");
  const Tokenizer small = made_in(folder);
  put(folder / "tokenizer_config.json", R"({"tokenizer_class": "MBart50Tokenizer", "src_lang": "de_DE"})");
  const Tokenizer large = made_in(folder);
  with_pieces(trained, [&](const std::string& text, const std::vector<int>& pieces) {
    Ids ids;
    for (const int id : pieces) ids.push_back(id == 0 ? 3 : id + 1);
    CHECK(small.encode(text).ids == joined({ids, {2, first + 3}}));
    CHECK(large.encode(text).ids == joined({{first + 2}, ids, {2}}));
  });
  CHECK(small.id_of("<mask>") == first + 25);
  CHECK(large.id_of("<mask>") == first + 52);
  CHECK(large.decode(large.encode(english_lines()[0]).ids) == english_lines()[0]);
}

TEST_CASE("M2M-100 has SentencePiece's pieces under the ids of another file", "[files]") {
  const TemporaryFolder folder;
  put(folder / "config.json", R"({"model_type": "m2m_100"})");
  for (const bool unigram : {true, false}) {
    SentencePieceOptions options = unigram_options();
    if (!unigram) options["model_type"] = "bpe";
    const TrainedPieces trained(english_lines(), options);
    put(folder / "sentencepiece.bpe.model", trained.bytes);
    const int32_t size = trained.processor.GetPieceSize();
    const auto id_of = [&](int piece) { return piece == 0 ? 3 : 3 + size - piece; };  // the last piece's is 4
    json vocabulary = {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}};
    for (int piece = 3; piece < size; ++piece) vocabulary[trained.processor.IdToPiece(piece)] = id_of(piece);
    put(folder / "vocab.json", vocabulary.dump());
    const Tokenizer made = made_in(folder);
    const auto count = static_cast<int32_t>(vocabulary.size());
    CHECK(made.id_of("__af__") == count);
    CHECK(made.id_of("__zu__") == count + 99);
    with_pieces(trained, [&](const std::string& text, const std::vector<int>& pieces) {
      Ids ids;
      for (const int piece : pieces) ids.push_back(id_of(piece));
      CHECK(made.encode(text).ids == joined({{*made.id_of("__en__")}, ids, {2}}));
    });
    CHECK(made.decode(made.encode(english_lines()[0]).ids) == english_lines()[0]);
  }
}

TEST_CASE("the models of WMT 2021 are M2M-100s of eight languages", "[files]") {
  const TemporaryFolder folder;
  put(folder / "config.json", R"({"model_type": "m2m_100"})");
  put(folder / "sentencepiece.bpe.model", TrainedPieces(english_lines(), unigram_options()).bytes);
  put(folder / "vocab.json", R"({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3})");
  put(folder / "tokenizer_config.json", R"({"language_codes": "wmt21", "src_lang": "de"})");
  CHECK(made_in(folder).encode("").ids == Ids{11, 2});
  put(folder / "tokenizer_config.json", R"({"language_codes": "wmt21", "src_lang": "fr"})");
  CHECK_THAT(error_in(folder), ContainsSubstring("src_lang in tokenizer_config.json is none of its 8 languages"));
  put(folder / "tokenizer_config.json", R"({"language_codes": "wmt22"})");
  CHECK_THAT(error_in(folder), ContainsSubstring("language_codes \"wmt22\" in tokenizer_config.json is not supported"));
}

TEST_CASE("Pegasus has tokens of its pretraining before SentencePiece's pieces", "[files]") {
  const TemporaryFolder folder;
  SentencePieceOptions options = unigram_options();
  options.insert({{"pad_id", "0"}, {"eos_id", "1"}, {"unk_id", "2"}, {"bos_id", "-1"}});
  const TrainedPieces trained(english_lines(), options);
  put(folder / "spiece.model", trained.bytes);
  put(folder / "config.json", R"({"model_type": "pegasus"})");
  const Tokenizer made = made_in(folder);
  // It parts a text at all blanks, of which SentencePiece keeps some.
  for (const std::string& text : english_lines()) {
    if (text.find("999") != text.npos) continue;
    Ids ids;
    for (const int id : trained.ids(text)) ids.push_back(id + 103);
    CHECK(made.encode(text).ids == joined({ids, {1}}));
  }
  CHECK(made.id_of("<mask_2>") == 3);
  CHECK(made.id_of("<unk_102>") == 104);
}

TEST_CASE("texts have the language that is named", "[files]") {
  const TemporaryFolder folder;
  const TrainedPieces trained(english_lines(), unigram_options());
  put(folder / "sentencepiece.bpe.model", trained.bytes);
  put(folder / "config.json", R"({"model_type": "mbart", "tokenizer_class": "MBart50Tokenizer"})");
  json content = tokenizer_in(folder).value();
  const JsonObject mbart = JsonObject::make(content, "mbart");
  const Languages languages(mbart);
  CHECK(languages.place() == Languages::Place::before);
  CHECK(languages.own().text == "en_XX");
  CHECK(languages.find("de").text == "de_DE");
  CHECK(languages.find("de_DE").id == languages.find("de").id);
  const Tokenizer german(languages.tokenizer_of(mbart, languages.find("de")));
  CHECK(german.encode("").ids == Ids{static_cast<int32_t>(languages.find("de").id), 2});
  CHECK(german.encode_pair("", "").ids == german.encode("").ids);
  CHECK_THAT(refusal(mbart, "deu"),
             ContainsSubstring("mbart: \"deu\" is none of its 52 languages; there are ar_AR, cs_CZ"));

  SECTION("as the class has it, whatever tokenizer.json says") {
    // As published NLLB folders have them.
    put(folder / "tokenizer.json", content.dump());
    const auto ids_of = [&](const json& settings) {
      put(folder / "tokenizer_config.json", settings.dump());
      return made_in(folder).encode("").ids;
    };
    const auto id = [&](const char* name) { return static_cast<int32_t>(languages.find(name).id); };
    const json nllb = {{"tokenizer_class", "NllbTokenizerFast"}, {"eos_token", "</s>"}, {"src_lang", "fr_XX"}};
    json legacy = nllb, one_of_25 = nllb;
    legacy["legacy_behaviour"] = true;
    one_of_25["tokenizer_class"] = "MBartTokenizer";
    CHECK(ids_of(nllb) == Ids{id("fr"), 2});
    CHECK(ids_of(legacy) == Ids{2, id("fr")});
    CHECK(ids_of(one_of_25) == Ids{2, id("fr")});
    CHECK(Languages(tokenizer_in(folder)).place() == Languages::Place::behind);
  }
  SECTION("by codes of three letters, of which a language may have several") {
    content["added_tokens"][0]["content"] = "zho_Hans";
    content["added_tokens"][1]["content"] = "zho_Hant";
    const JsonObject nllb = JsonObject::make(content, "nllb");
    CHECK(Languages(nllb).find("zho_Hans").text == "zho_Hans");
    CHECK_THAT(refusal(nllb, "zho"), ContainsSubstring("\"zho\" is the beginning of several of its"));
  }
  SECTION("and damaged files are refused") {
    json damaged = content;
    damaged["post_processor"]["special_tokens"] = json::array();
    const JsonObject file = JsonObject::make(damaged, "damaged");
    CHECK_THAT(error_of([&] { (void)languages.tokenizer_of(file, languages.own()); }),
               ContainsSubstring("special_tokens"));
    content["added_tokens"][0]["content"] = ">>" + std::string(100000, 'x');
    CHECK(!Languages(JsonObject::make(content, "long")).empty());
  }
  SECTION("but not where there is none") {
    const JsonObject plain = JsonObject::load(fixtures / "tokenizers/bert/tokenizer.json");
    CHECK(Languages(plain).empty());
    CHECK_THAT(refusal(plain, "de"), ContainsSubstring("has no tokens of languages"));
    content["added_tokens"] = json::array({{{"id", 5}, {"content", ">>fra<<"}}});
    content["post_processor"] = nullptr;
    const JsonObject marian = JsonObject::make(content, "marian");
    const Languages written(marian);
    CHECK(written.place() == Languages::Place::written);
    CHECK(written.find("fra").text == ">>fra<<");
    CHECK_THAT(error_of([&] { (void)written.tokenizer_of(marian, written.find("fra")); }),
               ContainsSubstring("its texts have no token of their own language"));
  }
}
