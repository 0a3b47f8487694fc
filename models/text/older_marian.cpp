// Marian's tokenizers, for which transformers has no converter: SentencePiece cuts a text, and another file has the
// ids.

#include <map>

#include "models/text/older_makers.h"
#include "models/text/older_tokens.h"
#include "models/text/precompiled_charsmap.h"
#include "models/text/sentence_piece_file.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using nlohmann::json;

constexpr const char* word_start = "\u2581";

/// The tokens of a vocab.json by id.
std::vector<std::string> read_tokens(const std::filesystem::path& path) {
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

/// What a multilingual model reads before a text: ">>fr<<".
bool is_language(std::string_view token) {
  return token.size() > 4 && token.starts_with(">>") && token.ends_with("<<");
}

}  // namespace

json make_older_marian(const OlderFiles& files) {
  const bool target = files.side == TextSide::target;
  const SentencePieceFile file = SentencePieceFile::load(files.folder / (target ? "target.spm" : "source.spm"));
  check(file.kind == SentencePieceFile::Kind::unigram, "{}: it is no Unigram model, which Marian's are", file.name);
  const bool apart = files.settings.flag("separate_vocabs", false);
  const std::vector<std::string> texts =
      read_tokens(files.folder / (target && apart ? "target_vocab.json" : "vocab.json"));
  std::map<std::string_view, int64_t> ids;
  for (size_t id = 0; id < texts.size(); ++id) ids.emplace(texts[id], static_cast<int64_t>(id));

  // What SentencePiece may cut a text into, and what each token would cost if it were one of those.
  std::map<std::string_view, double> scores;
  json pieces = json::array();
  for (const SentencePieceFile::Piece& piece : file.pieces) {
    using Type = SentencePieceFile::Type;
    if (piece.type != Type::normal && piece.type != Type::user_defined) continue;
    pieces.push_back(json::array({piece.text, piece.score}));
    scores.emplace(piece.text, piece.score);
  }
  json vocabulary = json::array();
  for (const std::string& text : texts) {
    const auto score = scores.find(text);
    vocabulary.push_back(json::array({text, score == scores.end() ? 0.0 : score->second}));
  }

  std::vector<OlderToken> languages;
  for (const std::string& text : texts)
    if (is_language(text)) languages.push_back({.content = text, .special = false, .normalized = false});
  const auto find = [&ids](const std::string& token) -> std::optional<int64_t> {
    const auto id = ids.find(token);
    return id == ids.end() ? std::nullopt : std::optional(id->second);
  };
  const OlderTokens tokens(files.settings,
                           {{"eos_token", {"</s>"}}, {"unk_token", {"<unk>"}}, {"pad_token", {"<pad>"}}},
                           static_cast<int64_t>(texts.size()), find, languages);

  json normalizers = json::array();
  if (!file.charsmap.empty())
    normalizers.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", to_base64(file.charsmap)}});
  if (file.strips_blanks) {
    normalizers.push_back({{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
    normalizers.push_back({{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}});
  }
  // All blanks around a decoded text go, as the slow tokenizer strips them.
  constexpr int all = 1 << 20;
  const json decoders = {{{"type", "Replace"}, {"pattern", {{"String", word_start}}}, {"content", " "}},
                         {{"type", "Fuse"}},
                         {{"type", "Strip"}, {"content", " "}, {"start", all}, {"stop", all}}};
  return {{"added_tokens", tokens.added()},
          {"normalizer", {{"type", "Sequence"}, {"normalizers", normalizers}}},
          {"pre_tokenizer",
           {{"type", "Metaspace"},
            {"replacement", word_start},
            {"prepend_scheme", file.prefix ? "always" : "never"},
            {"split", false}}},
          {"post_processor", tokens.surround("A eos_token", "A B eos_token")},
          {"decoder", {{"type", "Sequence"}, {"decoders", decoders}}},
          {"model",
           {{"type", "Unigram"},
            {"unk_id", tokens.id("unk_token")},
            {"byte_fallback", file.byte_fallback},
            {"vocab", vocabulary},
            {"pieces", pieces}}}};
}

}  // namespace vkformer
