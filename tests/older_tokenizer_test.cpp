// Tokenizers of folders without a tokenizer.json: made of their older files they give the recorded ids, and those that
// SentencePiece itself gives.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "models/text/precompiled_charsmap.h"
#include "tests/model_helpers.h"
#include "tests/older_helpers.h"
#include "tests/older_pieces.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

json recorded_tokenizer(const std::string& kind) {
  return JsonObject::load(fixtures / "tokenizers" / kind / "tokenizer.json").value();
}

/// Ids, ids of pairs and decoded texts are those of a tokenizer.json's recorded cases.
void check_recorded(const Tokenizer& made, const std::string& kind, bool pairs = true) {
  const Tokenizer expected = Tokenizer::load(fixtures / "tokenizers" / kind / "tokenizer.json");
  const json cases = JsonObject::load(fixtures / "tokenizers" / kind / "cases.json").value();
  size_t count = 0;
  for (const json& recorded : cases.at("cases")) {
    const std::string text = recorded.at("text");
    INFO(text);
    const auto ids = recorded.at("ids").get<std::vector<int32_t>>();
    CHECK(made.encode(text).ids == ids);
    CHECK(made.encode(text, false).ids == expected.encode(text, false).ids);
    CHECK(made.decode(ids) == expected.decode(ids));
    CHECK(made.decode(ids, false) == expected.decode(ids, false));
    ++count;
  }
  CHECK(count > 20);
  if (!pairs) return;
  for (const json& recorded : cases.at("pairs")) {
    const Encoding pair =
        made.encode_pair(recorded.at("text")[0].get<std::string>(), recorded.at("text")[1].get<std::string>());
    CHECK(pair.ids == recorded.at("ids").get<std::vector<int32_t>>());
    CHECK(pair.type_ids == recorded.at("type_ids").get<std::vector<int32_t>>());
  }
}

/// What fairseq's models make of SentencePiece's ids.
std::vector<int32_t> shifted(const std::vector<int>& ids, int offset, int unknown, int first, int last) {
  std::vector<int32_t> all{first};
  for (const int id : ids) all.push_back(id == 0 ? unknown : id + offset);
  all.push_back(last);
  return all;
}

}  // namespace

TEST_CASE("vocab.txt is BERT's WordPiece", "[files]") {
  const TemporaryFolder folder;
  const json recorded = recorded_tokenizer("bert");
  put(folder / "vocab.txt", vocabulary_text(recorded["model"]["vocab"]));
  put(folder / "config.json", R"({"model_type": "bert"})");
  check_recorded(made_in(folder), "bert");

  SECTION("lines end as on any system") {
    std::string text;
    for (const char c : vocabulary_text(recorded["model"]["vocab"]))
      text += c == '\n' ? std::string("\r\n") : std::string(1, c);
    put(folder / "vocab.txt", text);
    check_recorded(made_in(folder), "bert");
  }
  SECTION("what a text loses first is in tokenizer_config.json") {
    for (const json& settings :
         {json{{"do_lower_case", false}}, json{{"strip_accents", false}}, json{{"tokenize_chinese_chars", false}},
          json{{"do_lower_case", false}, {"strip_accents", true}, {"tokenizer_class", "DistilBertTokenizerFast"}},
          json{{"do_basic_tokenize", false}}}) {
      put(folder / "tokenizer_config.json", settings.dump());
      json expected = recorded;
      json& normalizer = expected["normalizer"];
      const bool basic = settings.value("do_basic_tokenize", true);
      normalizer["lowercase"] = basic && settings.value("do_lower_case", true);
      normalizer["handle_chinese_chars"] = basic && settings.value("tokenize_chinese_chars", true);
      normalizer["strip_accents"] = basic ? settings.value("strip_accents", json()) : json(false);
      CHECK(load_model_json(folder.path(), vkformer::tokenizer_file).value()["normalizer"] == normalizer);
      const Tokenizer made = made_in(folder), other(JsonObject::make(expected, "expected"));
      for (const std::string& text : all_texts()) CHECK(made.encode(text).ids == other.encode(text).ids);
    }
  }
  SECTION("special tokens have the names that the files say") {
    std::string text = vocabulary_text(recorded["model"]["vocab"]);
    const auto rename = [&](const std::string& from, const std::string& to) {
      text.replace(text.find(from), from.size(), to);
    };
    rename("[CLS]", "<cls>");
    rename("[SEP]", "<sep>");
    put(folder / "vocab.txt", text);
    CHECK_THAT(error_in(folder), ContainsSubstring("has no token \"[CLS]\", which is its cls_token; name it in"));
    put(folder / "tokenizer_config.json", R"({"cls_token": "<cls>", "sep_token": "[UNK]"})");
    put(folder / "special_tokens_map.json",
        R"({"sep_token": {"content": "<sep>", "lstrip": false, "normalized": true, "rstrip": true},
            "additional_special_tokens": ["[new]"]})");
    put(folder / "added_tokens.json", R"({"[own]": 801, "[new]": 900})");
    const Tokenizer made = made_in(folder);
    const Tokenizer plain = Tokenizer::load(fixtures / "tokenizers/bert/tokenizer.json");
    CHECK(made.encode("the man").ids == plain.encode("the man").ids);
    CHECK(made.id_of("[own]") == 801);
    CHECK(made.special_ids().contains(900));
    CHECK(!made.special_ids().contains(801));
    const std::vector<int32_t> found = made.encode("[new][own]").ids;
    CHECK(found == std::vector<int32_t>{2, 900, 801, 3});
    // Taken along: the blank behind it.
    CHECK(made.encode("<sep>  the", false).ids[0] == 3);
  }
}

TEST_CASE("a folder's tokenizer.json counts before older files", "[files]") {
  const TemporaryFolder folder;
  put(folder / "vocab.txt", "nonsense\n");
  put(folder / "config.json", R"({"model_type": "bert"})");
  std::filesystem::copy_file(fixtures / "tokenizers/bert/tokenizer.json", folder / "tokenizer.json");
  check_recorded(made_in(folder), "bert");
}

TEST_CASE("vocab.json and merges.txt are BPE of bytes", "[files]") {
  const TemporaryFolder folder;
  json recorded = recorded_tokenizer("gpt2");
  put(folder / "merges.txt", merges_text(recorded["model"]["merges"]));
  put(folder / "vocab.json", recorded["model"]["vocab"].dump());
  put(folder / "config.json", R"({"model_type": "gpt2"})");

  SECTION("GPT-2's stands alone") {
    check_recorded(made_in(folder), "gpt2");
    for (const char* family : {"opt", "gpt_neo", "gptj", "starcoder2", "phi"}) {
      put(folder / "config.json", fmt::format(R"({{"model_type": "{}"}})", family));
      check_recorded(made_in(folder), "gpt2");
    }
    put(folder / "tokenizer_config.json", R"({"add_bos_token": true, "add_prefix_space": true})");
    const Tokenizer made = made_in(folder), plain(JsonObject::make(recorded, "recorded"));
    std::vector<int32_t> expected = plain.encode(" the man").ids;
    expected.insert(expected.begin(), 0);
    CHECK(made.encode("the man").ids == expected);
  }
  SECTION("RoBERTa's is put between <s> and </s>, and its mask takes the blank before it along") {
    for (const char* token : {"<s>", "<pad>", "</s>", "<unk>", "<mask>"})
      recorded["model"]["vocab"][token] = recorded["model"]["vocab"].size();
    put(folder / "vocab.json", recorded["model"]["vocab"].dump());
    const auto id = [&](const char* token) { return recorded["model"]["vocab"][token].get<int32_t>(); };
    for (const char* config : {R"({"model_type": "roberta"})", R"({"model_type": "bart"})",
                               R"({"model_type": "bert", "tokenizer_class": "RobertaTokenizer"})"}) {
      put(folder / "config.json", config);
      const Tokenizer made = made_in(folder), plain(JsonObject::make(recorded_tokenizer("gpt2"), "recorded"));
      for (const std::string& text : all_texts()) {
        std::vector<int32_t> expected = plain.encode(text).ids, pair = expected;
        expected.insert(expected.begin(), id("<s>"));
        expected.push_back(id("</s>"));
        CHECK(made.encode(text).ids == expected);
      }
      const std::vector<int32_t> the = plain.encode("the").ids;
      std::vector<int32_t> masked{id("<s>")};
      masked.insert(masked.end(), the.begin(), the.end());
      masked.push_back(id("<mask>"));
      masked.push_back(id("</s>"));
      CHECK(made.encode("the <mask>").ids == masked);
      const Encoding pair = made.encode_pair("the", "the");
      std::vector<int32_t> expected{id("<s>")};
      expected.insert(expected.end(), the.begin(), the.end());
      expected.insert(expected.end(), {id("</s>"), id("</s>")});
      expected.insert(expected.end(), the.begin(), the.end());
      expected.push_back(id("</s>"));
      CHECK(pair.ids == expected);
    }
    // A file that says how the mask is sought counts.
    put(folder / "special_tokens_map.json",
        R"({"mask_token": {"content": "<mask>", "lstrip": false, "rstrip": false}})");
    const Tokenizer made = made_in(folder);
    CHECK(made.encode("the <mask>").ids.size() == made.encode("the ").ids.size() + 1);
  }
  SECTION("damage is named with its line") {
    put(folder / "merges.txt", "#version: 0.2\na b\nab\n");
    CHECK_THAT(error_in(folder), ContainsSubstring("merges.txt:3: \"ab\" is not a merge of two tokens"));
    put(folder / "merges.txt", "#version: 0.2\na nothing\n");
    CHECK_THAT(error_in(folder), ContainsSubstring("lacks"));
    put(folder / "merges.txt", "#version: 0.2\n");
    put(folder / "vocab.json", R"({"a": 1.5})");
    CHECK_THAT(error_in(folder), ContainsSubstring("vocab.json: the id of \"a\" is 1.5"));
    put(folder / "vocab.json", R"(["a"])");
    CHECK_THAT(error_in(folder), ContainsSubstring("vocab.json"));
  }
}

TEST_CASE("spiece.model is T5's Unigram", "[files]") {
  const TemporaryFolder folder;
  const json recorded = recorded_tokenizer("t5");
  SentencePieceFile file{.unknown = 2};
  for (const json& entry : recorded["model"]["vocab"])
    file.pieces.push_back({entry[0], entry[1].get<float>(), type_of_piece(entry[0].get<std::string>())});
  file.charsmap = from_base64(recorded["normalizer"]["normalizers"][0]["precompiled_charsmap"].get<std::string>());
  put(folder / "spiece.model", model_bytes(file));
  put(folder / "config.json", R"({"model_type": "t5"})");
  const Tokenizer made = made_in(folder);
  check_recorded(made, "t5");
  const auto size = static_cast<int32_t>(file.pieces.size());
  CHECK(made.size() == size + 100);
  CHECK(made.id_of("<extra_id_0>") == size + 99);
  CHECK(made.encode("<extra_id_99>").ids[0] == size);
  put(folder / "tokenizer_config.json", R"({"extra_ids": 0, "tokenizer_class": "T5Tokenizer"})");
  CHECK(made_in(folder).size() == size);
  put(folder / "tokenizer_config.json", R"({"add_prefix_space": true, "legacy": false})");
  CHECK(load_model_json(folder.path(), vkformer::tokenizer_file).value()["pre_tokenizer"]["prepend_scheme"] == "first");
  put(folder / "tokenizer_config.json", R"({"extra_ids": -1})");
  CHECK_THAT(error_in(folder), ContainsSubstring("tokenizer_config.json") && ContainsSubstring("extra_ids"));
}

TEST_CASE("tokenizer.model is LLaMA's BPE", "[files]") {
  const TemporaryFolder folder;
  put(folder / "config.json", R"({"model_type": "llama"})");
  SECTION("of the recorded merges") {
    const json recorded = recorded_tokenizer("llama");
    SentencePieceFile file{.kind = SentencePieceFile::Kind::bpe, .byte_fallback = true, .strips_blanks = false};
    file.pieces.resize(recorded["model"]["vocab"].size());
    for (const auto& [token, id] : recorded["model"]["vocab"].items())
      file.pieces.at(id.get<size_t>()) = {token, -1e6f, type_of_piece(token)};
    float score = 0;
    for (const json& merge : recorded["model"]["merges"]) {
      const std::string left = merge.is_array()
                                   ? merge[0].get<std::string>()
                                   : merge.get<std::string>().substr(0, merge.get<std::string>().find(' '));
      const std::string right = merge.is_array()
                                    ? merge[1].get<std::string>()
                                    : merge.get<std::string>().substr(merge.get<std::string>().find(' ') + 1);
      auto& piece = file.pieces.at(recorded["model"]["vocab"][left + right].get<size_t>());
      if (piece.score < -1e5f) piece.score = score--;
    }
    put(folder / "tokenizer.model", model_bytes(file));
    check_recorded(made_in(folder), "llama", false);
    put(folder / "tokenizer_config.json", R"({"add_bos_token": false, "add_eos_token": true})");
    const Tokenizer made = made_in(folder);
    CHECK(made.encode("").ids == std::vector<int32_t>{2});
    CHECK(made.encode_pair("", "").ids == std::vector<int32_t>{2, 2});
  }
  SECTION("as SentencePiece cuts") {
    const TrainedPieces trained(english_lines(), {{"model_type", "bpe"},
                                                  {"vocab_size", "420"},
                                                  {"num_threads", "1"},
                                                  {"byte_fallback", "true"},
                                                  {"normalization_rule_name", "identity"},
                                                  {"remove_extra_whitespaces", "false"}});
    put(folder / "tokenizer.model", trained.bytes);
    for (const bool legacy : {true, false}) {
      put(folder / "tokenizer_config.json", json{{"legacy", legacy}}.dump());
      const Tokenizer made = made_in(folder);
      for (const std::string& text : all_texts()) {
        if (!legacy && text.starts_with(' ')) continue;  // as in the tokenizers library, not in SentencePiece
        INFO(text);
        std::vector<int32_t> ids{1};
        for (const int id : trained.ids(text)) ids.push_back(id);
        CHECK(made.encode(text).ids == ids);
        CHECK(made.decode(ids) == text);
      }
    }
  }
}

TEST_CASE("XLM-RoBERTa and CamemBERT have SentencePiece's pieces under other ids", "[files]") {
  const TemporaryFolder folder;
  std::vector<std::string> lines = english_lines();
  const TrainedPieces trained(lines, unigram_options());
  put(folder / "sentencepiece.bpe.model", trained.bytes);
  const int size = trained.processor.GetPieceSize();
  put(folder / "config.json", R"({"model_type": "xlm-roberta"})");
  const Tokenizer xlm = made_in(folder);
  put(folder / "config.json", R"({"model_type": "camembert"})");
  const Tokenizer camembert = made_in(folder);
  for (const std::string& text : all_texts()) {
    // 9 and 99 cost the same as 99 and 9: SentencePiece's sums are of single precision, the tokenizers library's not.
    if (text.find("999") != text.npos) continue;
    INFO(text);
    const std::vector<int> ids = trained.ids(text);
    CHECK(xlm.encode(text).ids == shifted(ids, 1, 3, 0, 2));
    CHECK(camembert.encode(text).ids == shifted(ids, 4, 3, 5, 6));
  }
  CHECK(xlm.id_of("<mask>") == size + 1);
  CHECK(camembert.id_of("<mask>") == size + 4);
  CHECK(xlm.encode("a <mask>").ids == std::vector<int32_t>{0, *xlm.id_of("\u2581a"), size + 1, 2});
  CHECK(xlm.encode_pair("", "").ids == std::vector<int32_t>{0, 2, 2, 2});
  CHECK(camembert.decode(camembert.encode(english_lines()[0]).ids) == english_lines()[0]);
}

TEST_CASE("XLNet's special tokens stand behind a text", "[files]") {
  const TemporaryFolder folder;
  SentencePieceOptions options = unigram_options();
  options["control_symbols"] = "<cls>,<sep>,<pad>,<mask>,<eod>,<eop>";
  const TrainedPieces trained(english_lines(), options);
  put(folder / "spiece.model", trained.bytes);
  put(folder / "config.json", R"({"model_type": "xlnet"})");
  const Tokenizer made = made_in(folder);
  for (const std::string& text : english_lines()) {
    if (text.find(',') != text.npos) continue;  // those behind numbers are cut in another way
    INFO(text);
    std::vector<int32_t> ids;
    for (const int id : trained.ids(text)) ids.push_back(id);
    ids.insert(ids.end(), {4, 3});
    const Encoding encoding = made.encode(text);
    CHECK(encoding.ids == ids);
    CHECK(encoding.type_ids.back() == 2);
  }
  // Accents go, and these quotes are others.
  CHECK(made.encode("na\u00EFve").ids == made.encode("naive").ids);
  CHECK(made.encode("``a''").ids == made.encode("\"a\"").ids);
  put(folder / "tokenizer_config.json", R"({"keep_accents": true, "do_lower_case": true})");
  CHECK(made_in(folder).encode("THE MAN").ids == made.encode("the man").ids);
  CHECK(made_in(folder).encode("na\u00EFve").ids != made.encode("naive").ids);
}

TEST_CASE("DeBERTa's spm.model has its special tokens, but the mask", "[files]") {
  const TemporaryFolder folder;
  SentencePieceOptions options = unigram_options();
  options.insert({{"pad_id", "0"},
                  {"bos_id", "1"},
                  {"eos_id", "2"},
                  {"unk_id", "3"},
                  {"pad_piece", "[PAD]"},
                  {"bos_piece", "[CLS]"},
                  {"eos_piece", "[SEP]"},
                  {"unk_piece", "[UNK]"}});
  const TrainedPieces trained(english_lines(), options);
  put(folder / "spm.model", trained.bytes);
  put(folder / "config.json", R"({"model_type": "deberta-v2"})");
  const Tokenizer made = made_in(folder);
  for (const std::string& text : all_texts()) {
    if (text.find("999") != text.npos) continue;  // as above
    INFO(text);
    CHECK(made.encode(text).ids == shifted(trained.ids(text), 0, 0, 1, 2));
  }
  const int32_t mask = trained.processor.GetPieceSize();
  CHECK(made.encode("[MASK]", false).ids == std::vector<int32_t>{mask});
  CHECK(made.special_ids().contains(mask));
  CHECK(made.encode_pair("", "").type_ids == std::vector<int32_t>{0, 0, 1});
  CHECK(made.decode(made.encode(english_lines()[0]).ids) == english_lines()[0]);
  put(folder / "tokenizer_config.json", R"({"do_lower_case": true, "split_by_punct": true, "vocab_type": "spm"})");
  CHECK(made_in(folder).encode("THE MAN").ids == made.encode("the man").ids);
  const json cuts = load_model_json(folder.path(), vkformer::tokenizer_file).value()["pre_tokenizer"]["pretokenizers"];
  CHECK(cuts[0] == json{{"type", "Punctuation"}, {"behavior", "Isolated"}});
}

TEST_CASE("what no tokenizer can be made of says what to do", "[files]") {
  const TemporaryFolder folder;
  const auto refused = [&] {
    CHECK(!has_model_json(folder.path(), vkformer::tokenizer_file));
    return error_in(folder);
  };
  put(folder / "config.json", R"({"model_type": "bert"})");
  CHECK_THAT(refused(), ContainsSubstring("has no tokenizer.json, nor older files of a tokenizer; download them"));
  put(folder / "spiece.model", "x");
  CHECK_THAT(refused(),
             ContainsSubstring("has neither tokenizer.json nor vocab.txt, of which one is made for its BertTokenizer"));
  put(folder / "tokenizer_config.json", R"({"tokenizer_class": "AlbertTokenizer"})");
  CHECK_THAT(refused(),
             ContainsSubstring("its tokenizer_class \"AlbertTokenizer\" is not known; let transformers make"));
  put(folder / "tokenizer_config.json", R"({"model_max_length": 512})");
  put(folder / "config.json", R"({"model_type": "unheard"})");
  CHECK_THAT(refused(), ContainsSubstring("says of which kind it is (tokenizer_class, model_type)"));
  put(folder / "tokenizer_config.json", R"({"tokenizer_class": "T5Tokenizer", "pad_token": 7})");
  CHECK_THAT(error_of([&] { has_model_json(folder.path(), vkformer::tokenizer_file); }),
             ContainsSubstring("pad_token must be a token"));
  put(folder / "tokenizer_config.json", R"({"tokenizer_class": "T5Tokenizer"})");
  CHECK_THAT(error_in(folder), ContainsSubstring("spiece.model: it "));
}

TEST_CASE("damaged SentencePiece files are refused with what is wrong", "[files]") {
  SentencePieceFile good{.pieces = {{"<unk>", 0, SentencePieceFile::Type::unknown}, {"a", -1}}};
  const auto error = [](const std::string& bytes) {
    return error_of([&] { SentencePieceFile::parse(bytes, "x.model"); });
  };
  CHECK(error(model_bytes(good)).empty());
  CHECK_THAT(error(model_bytes(good).substr(0, 9)), ContainsSubstring("x.model: it ends within a field"));
  CHECK_THAT(error(std::string(3, '\xFF')), ContainsSubstring("it ends within a number"));
  CHECK_THAT(error("\x0B"), ContainsSubstring("a field of an unknown type"));
  CHECK_THAT(error(proto_bytes(2, proto_integer(40, 0))), ContainsSubstring("it has no pieces"));
  SentencePieceFile bad = good;
  bad.pieces[1].text = "\xFF";
  CHECK_THAT(error(model_bytes(bad)), ContainsSubstring("piece 1 is \"\\xFF\", which is no text"));
  bad = good;
  bad.pieces[1].score = std::nanf("");
  CHECK_THAT(error(model_bytes(bad)), ContainsSubstring("piece 1, \"a\", has the score nan"));
  bad = good;
  bad.unknown = 2;
  CHECK_THAT(error(model_bytes(bad)), ContainsSubstring("unk_id is 2, of 2 pieces"));
}
