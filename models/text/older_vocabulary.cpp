#include "models/text/older_vocabulary.h"

#include <map>
#include <nlohmann/json.hpp>

#include "models/text/precompiled_charsmap.h"
#include "models/text/sentence_pieces.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

using nlohmann::json;

std::vector<std::string> read_vocabulary(const std::filesystem::path& path) {
  const JsonObject file = JsonObject::load(path);
  const size_t count = file.value().size();
  std::vector<std::string> tokens(count);
  std::vector<bool> known(count);
  for (const auto& [token, id] : file.value().items()) {
    const bool is_next = id.is_number_unsigned() && id.get<uint64_t>() < count && !known[id.get<size_t>()];
    check(is_next, "{}: the id of {} is {}; its {} tokens must have the ids from 0 on, each once; the file is damaged",
          file.name(), in_quotes(token), printable(id.dump(), 40), count);
    known[id.get<size_t>()] = true;
    tokens[id.get<size_t>()] = token;
  }
  return tokens;
}

json merges_in(const SentencePieceFile& file) {
  SentencePieces pieces;
  for (const SentencePieceFile::Piece& piece : file.pieces) {
    pieces.pieces.push_back(piece.text);
    pieces.scores.push_back(piece.score);
    pieces.special.push_back(piece.type != SentencePieceFile::Type::normal);
  }
  json merges = json::array();
  for (const auto& [left, right] : merges_of(pieces)) merges.push_back({left, right});
  return merges;
}

json bpe_model(const SentencePieceFile& file, json vocabulary, json merges, bool byte_fallback) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", file.unknown_text},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", true},
          {"byte_fallback", byte_fallback},
          {"ignore_merges", false},
          {"vocab", std::move(vocabulary)},
          {"merges", std::move(merges)}};
}

json unigram_beside(const SentencePieceFile& file, const std::vector<std::string>& vocabulary, uint64_t unknown) {
  // What SentencePiece may cut a text into, and what each token would cost if it were one of those.
  std::map<std::string_view, double> scores;
  json pieces = json::array();
  for (const SentencePieceFile::Piece& piece : file.pieces) {
    using Type = SentencePieceFile::Type;
    if (piece.type != Type::normal && piece.type != Type::user_defined) continue;
    pieces.push_back(json::array({piece.text, piece.score}));
    scores.emplace(piece.text, piece.score);
  }
  json tokens = json::array();
  for (const std::string& text : vocabulary) {
    const auto score = scores.find(text);
    tokens.push_back(json::array({text, score == scores.end() ? 0.0 : score->second}));
  }
  return {{"type", "Unigram"},
          {"unk_id", unknown},
          {"byte_fallback", file.byte_fallback},
          {"vocab", tokens},
          {"pieces", pieces}};
}

json bpe_beside(const SentencePieceFile& file, const std::vector<std::string>& vocabulary) {
  json tokens = json::object();
  for (size_t id = 0; id < vocabulary.size(); ++id) tokens[vocabulary[id]] = id;
  json merges = json::array();
  for (json& merge : merges_in(file)) {
    const std::string left = merge[0], right = merge[1];
    if (tokens.contains(left) && tokens.contains(right) && tokens.contains(left + right))
      merges.push_back(std::move(merge));
  }
  return bpe_model(file, std::move(tokens), std::move(merges), file.byte_fallback);
}

json tokenizer_beside(const SentencePieceFile& file, json added_tokens, json around, json model) {
  json normalizers = json::array();
  if (!file.charsmap.empty())
    normalizers.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", to_base64(file.charsmap)}});
  if (file.strips_blanks) {
    normalizers.push_back({{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
    normalizers.push_back({{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}});
  }
  // All blanks around a decoded text go, as the slow tokenizer strips them.
  constexpr int all = 1 << 20;
  const json decoders = {{{"type", "Replace"}, {"pattern", {{"String", blank_sign}}}, {"content", " "}},
                         {{"type", "Fuse"}},
                         {{"type", "Strip"}, {"content", " "}, {"start", all}, {"stop", all}}};
  return {{"added_tokens", std::move(added_tokens)},
          {"normalizer", {{"type", "Sequence"}, {"normalizers", normalizers}}},
          {"pre_tokenizer",
           {{"type", "Metaspace"},
            {"replacement", blank_sign},
            {"prepend_scheme", file.prefix ? "always" : "never"},
            {"split", false}}},
          {"post_processor", std::move(around)},
          {"decoder", {{"type", "Sequence"}, {"decoders", decoders}}},
          {"model", std::move(model)}};
}

}  // namespace vkformer
