#include "models/text/bpe.h"

#include <nlohmann/json.hpp>
#include <queue>

#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

uint64_t key_of(int32_t left, int32_t right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
}

}  // namespace

Bpe::Bpe(const JsonObject& model)
    : name_(model.name()),
      table_(model),
      prefix_(string_or(model, "continuing_subword_prefix", "")),
      suffix_(string_or(model, "end_of_word_suffix", "")),
      fuse_unk_(boolean_or(model, "fuse_unk", false)),
      byte_fallback_(boolean_or(model, "byte_fallback", false)),
      ignore_merges_(boolean_or(model, "ignore_merges", false)) {
  if (model.has("unk_token")) unk_token_ = require_string(model, "unk_token");
  check(number_or(model, "dropout", 0, 0, 1) == 0,
        "{}: \"dropout\" makes every run cut words in another way, and is not supported; set it to null", name_);
  read_merges(model);
}

void Bpe::read_merges(const JsonObject& model) {
  const nlohmann::json& list = require_list(model, "merges");
  merges_.reserve(list.size());
  const bool lines = !list.empty() && list[0].is_string();
  size_t rank = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const nlohmann::json& entry = list[i];
    const auto damaged = [&] {
      fail("{}: \"merges\"[{}] must be {}, not {}; the file is damaged", name_, i,
           lines ? "\"left right\"" : "[\"left\", \"right\"]", printable(entry.dump(), 80));
    };
    if (lines) {
      if (!entry.is_string()) damaged();
      const std::string_view line = entry.get_ref<const std::string&>();
      if (line.starts_with("#version")) continue;  // the first line of a merges.txt
      const size_t blank = line.find(' ');
      if (blank == line.npos || line.find(' ', blank + 1) != line.npos) damaged();
      add_merge(line.substr(0, blank), line.substr(blank + 1), rank++);
    } else {
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_string()) damaged();
      add_merge(entry[0].get_ref<const std::string&>(), entry[1].get_ref<const std::string&>(), rank++);
    }
  }
}

void Bpe::add_merge(std::string_view left, std::string_view right, size_t rank) {
  const auto id_in_vocab = [&](std::string_view token) {
    const auto id = table_.id_of(token);
    check(id.has_value(), "{}: the merge of {} and {} needs the token {}, which \"vocab\" lacks; the file is damaged",
          name_, in_quotes(left), in_quotes(right), in_quotes(token));
    return *id;
  };
  const int32_t left_id = id_in_vocab(left);
  const int32_t right_id = id_in_vocab(right);
  check(right.size() >= prefix_.size(), "{}: {} of \"merges\" is shorter than \"continuing_subword_prefix\"", name_,
        in_quotes(right));
  std::string joined(left);
  joined += right.substr(prefix_.size());
  merges_.insert_or_assign(key_of(left_id, right_id), Merge{rank, id_in_vocab(joined)});
}

const Bpe::Merge* Bpe::merge_of(int32_t left, int32_t right) const {
  const auto found = merges_.find(key_of(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

std::vector<int32_t> Bpe::bytes_of(std::string_view text) const {
  std::vector<int32_t> ids;
  for (const char byte : text) {
    const auto id = table_.id_of(byte_token(static_cast<uint8_t>(byte)));
    if (!id) return {};
    ids.push_back(*id);
  }
  return ids;
}

std::vector<Bpe::Piece> Bpe::start(std::string_view word) const {
  std::vector<Piece> pieces;
  // As in the library, an unknown character is added only when a known or another unknown one follows: the bytes of
  // characters in between come before it.
  Piece pending{.id = -1, .range = {}};
  const auto add_pending = [&] {
    if (pending.id >= 0) pieces.push_back(pending);
    pending.id = -1;
  };
  std::string symbol;
  for (size_t at = 0; at < word.size();) {
    const size_t length = read_utf8(word, at).length;
    symbol.clear();
    if (at > 0) symbol += prefix_;
    symbol += word.substr(at, length);
    const ByteRange range{at, at + length};
    at += length;
    if (at == word.size()) symbol += suffix_;

    if (const auto id = table_.id_of(symbol)) {
      add_pending();
      pieces.push_back({*id, range});
      continue;
    }
    if (byte_fallback_) {
      const std::vector<int32_t> bytes = bytes_of(symbol);
      for (const int32_t byte : bytes) pieces.push_back({byte, range});
      if (!bytes.empty()) continue;
    }
    if (!unk_token_) continue;
    if (pending.id >= 0 && fuse_unk_) {
      pending.range.end = range.end;
      continue;
    }
    add_pending();
    pending = {table_.id_of(*unk_token_).value_or(-1), range};
    check(pending.id >= 0, "{}: \"vocab\" lacks the \"unk_token\" {}, which the text needs; add it", name_,
          in_quotes(*unk_token_));
  }
  add_pending();
  return pieces;
}

/// Two neighbours that could be merged.
struct Bpe::Candidate {
  Merge merge;
  size_t left;
  /// Whether this one's turn comes later.
  bool operator<(const Candidate& other) const {
    return merge.rank != other.merge.rank ? merge.rank > other.merge.rank : left > other.left;
  }
};

std::vector<Bpe::Piece> Bpe::merge(const std::vector<Piece>& pieces) const {
  std::vector<Symbol> symbols;
  symbols.reserve(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto at = static_cast<ptrdiff_t>(i);
    symbols.push_back({.piece = pieces[i], .previous = at - 1, .next = i + 1 < pieces.size() ? at + 1 : -1});
  }
  const auto symbol = [&](ptrdiff_t at) -> Symbol& { return symbols[static_cast<size_t>(at)]; };
  std::priority_queue<Candidate> queue;
  const auto consider = [&](ptrdiff_t left, ptrdiff_t right) {
    if (left < 0 || right < 0) return;
    if (const Merge* found = merge_of(symbol(left).piece.id, symbol(right).piece.id))
      queue.push({*found, static_cast<size_t>(left)});
  };
  for (size_t i = 0; i + 1 < pieces.size(); ++i) consider(static_cast<ptrdiff_t>(i), static_cast<ptrdiff_t>(i + 1));

  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Symbol& left = symbols[top.left];
    if (left.removed || left.next < 0) continue;
    Symbol& right = symbol(left.next);
    // One of the two may have been merged since.
    const Merge* now = merge_of(left.piece.id, right.piece.id);
    if (now == nullptr || now->id != top.merge.id) continue;
    left.piece = {top.merge.id, {left.piece.range.begin, right.piece.range.end}};
    left.next = right.next;
    right.removed = true;
    if (right.next >= 0) symbol(right.next).previous = static_cast<ptrdiff_t>(top.left);
    consider(left.previous, static_cast<ptrdiff_t>(top.left));
    consider(static_cast<ptrdiff_t>(top.left), left.next);
  }

  std::vector<Piece> merged;
  for (const Symbol& s : symbols)
    if (!s.removed) merged.push_back(s.piece);
  return merged;
}

std::vector<Token> Bpe::tokenize(std::string_view word) const {
  if (word.empty()) return {};
  std::vector<Piece> pieces;
  const auto whole = ignore_merges_ ? table_.id_of(word) : std::nullopt;
  if (whole) {
    pieces = {{*whole, {0, word.size()}}};
  } else {
    pieces = merge(start(word));
  }
  std::vector<Token> tokens;
  tokens.reserve(pieces.size());
  for (const auto& [id, range] : pieces) tokens.push_back({id, std::string(*table_.token_of(id)), range});
  return tokens;
}

std::unique_ptr<TokenModel> make_bpe(const JsonObject& model) { return std::make_unique<Bpe>(model); }

}  // namespace vkformer
