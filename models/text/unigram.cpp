#include "models/text/unigram.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/text/token_table.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

/// What an unknown character costs more than the worst piece (kUnkPenalty of sentencepiece).
constexpr double unknown_penalty = 10;

/// The best cut of the text up to one place.
struct Best {
  double score = 0;
  size_t start = 0;  ///< of the last token
  int32_t id = -1;   ///< of the last token; -1: no cut ends here
};

/// Stands for an unknown character among the ids of pieces that are no vocabulary.
constexpr int32_t unknown_piece = INT32_MAX;

/// Of [["piece", score], ...]. Throws Error for anything else.
std::vector<std::string> texts_of(const JsonObject& model, const char* key) {
  std::vector<std::string> texts;
  for (const nlohmann::json& entry : require_list(model, key)) {
    check(entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_number(),
          "{}: \"{}\"[{}] must be [\"piece\", score], not {}; the file is damaged", model.name(), key, texts.size(),
          printable(entry.dump(), 80));
    texts.push_back(entry[0].get<std::string>());
  }
  return texts;
}

}  // namespace

Unigram::Pieces::Pieces(const JsonObject& model, const char* key) : texts(texts_of(model, key)), trie(texts) {
  for (const nlohmann::json& entry : require_list(model, key)) scores.push_back(entry[1].get<double>());
}

Unigram::Unigram(const JsonObject& model)
    : name_(model.name()), vocabulary_(model, "vocab"), byte_fallback_(boolean_or(model, "byte_fallback", false)) {
  if (model.has("pieces")) cut_.emplace(model, "pieces");
  const std::vector<double>& scores = cut_ ? cut_->scores : vocabulary_.scores;
  const auto worst = std::min_element(scores.begin(), scores.end());
  unknown_score_ = rounded((worst == scores.end() ? 0 : *worst) - unknown_penalty);
  if (!model.has("unk_id")) return;
  check(size() > 0, "{}: \"vocab\" is empty, and \"unk_id\" names a piece of it; the file is damaged", name_);
  unk_id_ = static_cast<int32_t>(require_integer(model, "unk_id", 0, size() - 1));
}

std::optional<std::string_view> Unigram::token_of(int32_t id) const {
  if (id < 0 || id >= size()) return std::nullopt;
  return vocabulary_.texts[static_cast<size_t>(id)];
}

double Unigram::rounded(double sum) const { return cut_ ? static_cast<float>(sum) : sum; }

int32_t Unigram::unknown() const {
  check(unk_id_.has_value(), "{}: the text has a character outside \"vocab\", and there is no \"unk_id\"; add one",
        name_);
  return *unk_id_;
}

std::vector<size_t> Unigram::best_cut(std::string_view word) const {
  // One pass from the left: every piece that starts at a character tries to end the best cut of the text up to its own
  // end. An equal score does not replace an earlier start.
  const Pieces& pieces = cut_ ? *cut_ : vocabulary_;
  std::vector<Best> best(word.size() + 1);
  const auto offer = [&](size_t start, size_t length, double total, int32_t id) {
    Best& end = best[start + length];
    if (end.id < 0 || total > end.score) end = {rounded(total), start, id};
  };
  for (size_t start = 0; start < word.size();) {
    const size_t character = read_utf8(word, start).length;
    const double until = best[start].score;
    bool known = false;
    pieces.trie.each_prefix(word.substr(start), [&](size_t length, int32_t id) {
      offer(start, length, until + pieces.scores[static_cast<size_t>(id)], id);
      known = known || length == character;
    });
    if (!known) offer(start, character, rounded(until + unknown_score_), cut_ ? unknown_piece : unknown());
    start += character;
  }

  std::vector<size_t> ends;
  bool after_unknown = false;
  for (size_t end = word.size(); end > 0; end = best[end].start) {
    const bool is_unknown = cut_ ? best[end].id == unknown_piece : best[end].id == unk_id_;
    if (!(is_unknown && after_unknown)) ends.push_back(end);
    after_unknown = is_unknown;
  }
  std::reverse(ends.begin(), ends.end());
  return ends;
}

void Unigram::add_tokens(std::vector<Token>& tokens, std::string_view word, ByteRange range) const {
  const std::string_view surface = word.substr(range.begin, range.end - range.begin);
  if (const auto id = vocabulary_.trie.find(surface)) {
    tokens.push_back({*id, std::string(surface), range});
    return;
  }
  if (byte_fallback_) {
    std::vector<Token> bytes;
    for (size_t at = range.begin; at < range.end; ++at) {
      std::string token = byte_token(static_cast<uint8_t>(word[at]));
      if (const auto id = vocabulary_.trie.find(token)) bytes.push_back({*id, std::move(token), {at, at + 1}});
    }
    if (bytes.size() == surface.size()) {
      tokens.insert(tokens.end(), bytes.begin(), bytes.end());
      return;
    }
  }
  tokens.push_back({unknown(), std::string(surface), range});
}

std::vector<Token> Unigram::tokenize(std::string_view word) const {
  std::vector<Token> tokens;
  size_t start = 0;
  for (const size_t end : best_cut(word)) {
    add_tokens(tokens, word, {start, end});
    start = end;
  }
  return tokens;
}

std::unique_ptr<TokenModel> make_unigram(const JsonObject& model) { return std::make_unique<Unigram>(model); }

}  // namespace vkformer
