#include "models/text/word_piece.h"

#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

WordPiece::WordPiece(const JsonObject& model)
    : name_(model.name()),
      table_(model),
      unk_token_(require_string(model, "unk_token")),
      prefix_(require_string(model, "continuing_subword_prefix")),
      max_characters_(require_integer(model, "max_input_chars_per_word", 0, INT64_MAX)) {}

std::optional<WordPiece::Match> WordPiece::longest_match(std::string_view text, bool continues) const {
  std::string candidate = continues ? prefix_ : std::string();
  const size_t before = candidate.size();
  candidate += text.substr(0, table_.longest() < before ? 0 : table_.longest() - before);
  // Tokens are whole characters, so that a candidate cut within one is never found.
  for (; candidate.size() > before; candidate.pop_back())
    if (const auto id = table_.id_of(candidate)) return Match{*id, candidate.size() - before};
  return std::nullopt;
}

std::vector<Token> WordPiece::unknown(std::string_view word) const {
  const auto id = table_.id_of(unk_token_);
  check(id.has_value(), "{}: \"vocab\" lacks the \"unk_token\" {}, which the text needs; add it", name_,
        in_quotes(unk_token_));
  return {{*id, unk_token_, {0, word.size()}}};
}

std::vector<Token> WordPiece::tokenize(std::string_view word) const {
  int64_t characters = 0;
  for (size_t at = 0; at < word.size(); at += read_utf8(word, at).length)
    if (++characters > max_characters_) return unknown(word);
  std::vector<Token> tokens;
  for (size_t at = 0; at < word.size();) {
    const auto match = longest_match(word.substr(at), at > 0);
    if (!match) return unknown(word);
    tokens.push_back({match->id, std::string(*table_.token_of(match->id)), {at, at + match->length}});
    at += match->length;
  }
  return tokens;
}

std::unique_ptr<TokenModel> make_word_piece(const JsonObject& model) { return std::make_unique<WordPiece>(model); }

}  // namespace vkformer
