// Marian's older tokenizers: pieces of two SentencePiece models, ids of a vocabulary.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/older_pieces.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

/// A Marian model's files, with some pieces that have no id, and tokens that only the target has.
struct Marian {
  TemporaryFolder folder;
  TrainedPieces source{english_lines(), unigram_options()}, target{german_lines(), unigram_options()};
  std::map<std::string, int32_t> source_ids, target_ids;

  static std::string piece(const TrainedPieces& of, int id) { return of.processor.IdToPiece(id); }

  explicit Marian(bool apart = false) {
    put(folder / "source.spm", source.bytes);
    put(folder / "target.spm", target.bytes);
    const auto add = [](std::map<std::string, int32_t>& ids, const std::string& token) {
      ids.emplace(token, static_cast<int32_t>(ids.size()));
    };
    const auto add_all = [&](std::map<std::string, int32_t>& ids, const TrainedPieces& of) {
      for (int id = of.processor.GetPieceSize() - 1; id > 2; --id)
        if (id % 7 != 0) add(ids, piece(of, id));
    };
    for (auto* ids : {&source_ids, &target_ids}) {
      add(*ids, "</s>");
      add(*ids, "<unk>");
      add(*ids, ">>de<<");
      add_all(*ids, ids == &source_ids ? source : target);
      if (!apart) add_all(*ids, ids == &source_ids ? target : source);
      add(*ids, "<pad>");
    }
    if (!apart) target_ids = source_ids;
    put(folder / "vocab.json", json(source_ids).dump());
    if (apart) put(folder / "target_vocab.json", json(target_ids).dump());
    put(folder / "config.json", R"({"model_type": "marian"})");
    put(folder / "tokenizer_config.json", apart ? R"({"separate_vocabs": true})" : R"({"source_lang": "en"})");
  }

  static std::vector<int32_t> expected(const TrainedPieces& of, const std::map<std::string, int32_t>& ids,
                                       const std::string& text) {
    std::vector<int32_t> all;
    for (const std::string& piece : of.processor.EncodeAsPieces(text))
      all.push_back(ids.contains(piece) ? ids.at(piece) : ids.at("<unk>"));
    all.push_back(ids.at("</s>"));
    return all;
  }
};

}  // namespace

TEST_CASE("Marian's pieces have the ids of vocab.json", "[files]") {
  for (const bool apart : {false, true}) {
    const Marian marian(apart);
    const Tokenizer source = made_in(marian.folder), target = made_in(marian.folder, target_tokenizer_file);
    CHECK(source.size() == static_cast<int64_t>(marian.source_ids.size()));
    size_t unknown = 0;
    for (const std::string& text : all_texts()) {
      INFO(text);
      const std::vector<int32_t> ids = Marian::expected(marian.source, marian.source_ids, text);
      unknown += static_cast<size_t>(std::ranges::count(ids, 1));
      CHECK(source.encode(text).ids == ids);
      CHECK(target.encode(text).ids == Marian::expected(marian.target, marian.target_ids, text));
    }
    CHECK(unknown > 20);
    for (const std::string& text : {german_lines()[1], german_lines()[3]}) {
      const std::vector<int32_t> ids = target.encode(text).ids;
      std::vector<std::string> pieces;
      for (const int32_t id : ids)
        if (id > 1) pieces.emplace_back(*target.token_of(id));
      CHECK(target.decode(ids) == marian.target.processor.DecodePieces(pieces));
      if (!apart) CHECK(source.decode(ids) == target.decode(ids));
    }
    // A language before a text is one token.
    std::vector<int32_t> ids = source.encode("The man").ids;
    ids.insert(ids.begin(), 2);
    CHECK(source.encode(">>de<< The man").ids == ids);
  }
}

TEST_CASE("a Marian's damaged vocabulary is refused", "[files]") {
  const Marian marian;
  for (const char* vocabulary :
       {R"({"</s>": 0, "<unk>": 2})", R"({"</s>": 0, "<unk>": 0})", R"({"</s>": 0, "<unk>": -1})"}) {
    put(marian.folder / "vocab.json", vocabulary);
    CHECK_THAT(error_in(marian.folder), ContainsSubstring("vocab.json: the id of") && ContainsSubstring("each once"));
  }
  put(marian.folder / "vocab.json", R"({"</s>": 0})");
  CHECK_THAT(error_in(marian.folder), ContainsSubstring("has no token \"<unk>\""));
  put(marian.folder / "source.spm",
      TrainedPieces(english_lines(), {{"model_type", "bpe"}, {"vocab_size", "60"}, {"num_threads", "1"}}).bytes);
  CHECK_THAT(error_in(marian.folder), ContainsSubstring("source.spm: it is no Unigram model"));
}
