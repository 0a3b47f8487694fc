#include "models/text/tokenizer_training.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/text/byte_pieces.h"
#include "models/text/precompiled_charsmap.h"
#include "models/text/sentence_pieces.h"
#include "models/text/token_layouts.h"
#include "models/text/tokenizer_files.h"
#include "models/text/unicode.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

using nlohmann::json;
using Kind = TokenizerTraining::Kind;
using Layout = TokenizerTraining::Layout;

/// The trainer's own limit is on characters of a word, of which there can be a few times as many after normalization.
constexpr size_t longest_line = 4096;

void check_settings(std::span<const std::string> lines, const TokenizerTraining& training) {
  const bool bytes = training.kind == Kind::byte_bpe;
  check(bytes == (training.layout == Layout::plain || training.layout == Layout::speech),
        "the layouts plain and speech are for byte-bpe, and only for it; unigram and bpe have the others");
  const int64_t least = 256 + (bytes ? std::ssize(layout_of(training.layout).special) : 0);
  check(!bytes || training.size >= least,
        "a vocabulary of {} is too small for the 256 bytes and the special tokens; give {} or more", training.size,
        least);
  check(training.size > 0 && training.size <= int64_t{1} << 24, "a vocabulary can't have {} tokens; give 1 to {}",
        training.size, int64_t{1} << 24);
  check(training.coverage >= 0.98 && training.coverage <= 1, "a character coverage of {} is not from 0.98 to 1",
        training.coverage);
  check(training.threads > 0 && training.threads <= 128, "the trainer takes 1 to 128 threads, not {}",
        training.threads);
  bool empty = true;
  for (size_t i = 0; i < lines.size(); ++i) {
    for (size_t at = 0; at < lines[i].size();) {
      const Utf8Step step = read_utf8(lines[i], at);
      check(step.valid, "line {} is not UTF-8: its byte {} is 0x{:02X}; convert the text to UTF-8", i + 1, at,
            static_cast<uint8_t>(lines[i][at]));
      at += step.length;
    }
    empty = empty && lines[i].empty();
  }
  check(!empty, "there is no text to make a vocabulary of");
}

/// The lines as the tokenizer's model will see them, but for its normal form.
std::vector<std::string> prepared(std::span<const std::string> lines, const TokenizerTraining& training) {
  const TokenLayout& layout = layout_of(training.layout);
  std::vector<std::string> separators = layout.special_texts();
  for (const std::string& token : layout.last_texts()) separators.push_back(token);
  const bool bytes = training.kind == Kind::byte_bpe;
  if (!bytes) separators.emplace_back(reserved_character);
  std::vector<std::string> parts = training_parts(lines, separators, bytes ? SIZE_MAX : longest_line);
  if (training.lowercase)
    for (std::string& part : parts) {
      std::string lower;
      for_each_character(part, [&](char32_t c, size_t, size_t) { append_lower_case(lower, c); });
      part = std::move(lower);
    }
  return parts;
}

json bpe_model(const std::vector<std::string>& tokens, const std::vector<std::pair<std::string, std::string>>& merges) {
  json model = {{"type", "BPE"},
                {"dropout", nullptr},
                {"unk_token", nullptr},
                {"continuing_subword_prefix", nullptr},
                {"end_of_word_suffix", nullptr},
                {"fuse_unk", false},
                {"byte_fallback", false},
                {"ignore_merges", false},
                {"vocab", json::object()},
                {"merges", json::array()}};
  for (size_t id = 0; id < tokens.size(); ++id) model["vocab"][tokens[id]] = id;
  for (const auto& [left, right] : merges) model["merges"].push_back(left + ' ' + right);
  return model;
}

/// All of them are special; `texts` have the ids from `first_id` on.
void add_special(json& added, const std::vector<std::string>& texts, size_t first_id) {
  for (const std::string& token : texts)
    added.push_back({{"id", first_id++},
                     {"content", token},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
}

json of_bytes(std::span<const std::string> lines, const TokenizerTraining& training) {
  check_settings(lines, training);
  const std::vector<std::string> special = layout_of(training.layout).special_texts();
  const BytePieces pieces = train_byte_pieces(prepared(lines, training), training.size - std::ssize(special));
  const auto byte_level = [](bool regex) {
    return json{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", regex}};
  };
  std::vector<std::string> tokens = pieces.tokens;
  json added = json::array();
  add_special(added, special, tokens.size());
  tokens.insert(tokens.end(), special.begin(), special.end());
  return {{"added_tokens", added},
          {"normalizer", training.lowercase ? json{{"type", "Lowercase"}} : json()},
          {"pre_tokenizer", byte_level(true)},
          {"post_processor", byte_level(true)},
          {"decoder", byte_level(true)},
          {"model", bpe_model(tokens, pieces.merges)}};
}

json of_pieces(const SentencePieces& pieces, const TokenizerTraining& training) {
  // What sentencepiece does to a text before it cuts it: lower case is ours, blanks are only replaced by its rules.
  json steps = json::array();
  if (training.lowercase) steps.push_back({{"type", "Lowercase"}});
  steps.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", to_base64(pieces.charsmap)}});
  steps.push_back({{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
  steps.push_back({{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}});
  const json metaspace = {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "always"}, {"split", true}};
  const TokenLayout& layout = layout_of(training.layout);
  const auto special = layout.special_texts(), last = layout.last_texts();
  json added = json::array();
  add_special(added, special, 0);
  add_special(added, last, pieces.pieces.size());
  const auto unknown = std::ranges::find(layout.special, std::vector<std::string>{"unk_token"}, &SpecialToken::roles);
  json model;
  if (training.kind == Kind::unigram) {
    json vocab = json::array();
    for (size_t id = 0; id < pieces.pieces.size(); ++id)
      vocab.push_back(json::array({pieces.pieces[id], pieces.scores[id]}));
    for (const std::string& token : last) vocab.push_back(json::array({token, 0.0}));  // as transformers has T5's
    model = {
        {"type", "Unigram"}, {"unk_id", unknown - layout.special.begin()}, {"byte_fallback", false}, {"vocab", vocab}};
  } else {
    std::vector<std::string> tokens = pieces.pieces;
    tokens.insert(tokens.end(), last.begin(), last.end());
    model = bpe_model(tokens, merges_of(pieces));
    model["unk_token"] = unknown->token;
    model["fuse_unk"] = true;
  }
  return {{"added_tokens", added},      {"normalizer", {{"type", "Sequence"}, {"normalizers", steps}}},
          {"pre_tokenizer", metaspace}, {"post_processor", layout.post_processor()},
          {"decoder", metaspace},       {"model", model}};
}

}  // namespace

SentencePieces train_pieces(std::span<const std::string> lines, const TokenizerTraining& training) {
  check_settings(lines, training);
  check(training.kind != Kind::byte_bpe, "sentencepiece has no models of kind byte-bpe");
  const TokenLayout& layout = layout_of(training.layout);
  SentencePieceOptions options = layout.options;
  options["model_type"] = training.kind == Kind::unigram ? "unigram" : "bpe";
  options["vocab_size"] = std::to_string(training.size);
  options["character_coverage"] = fmt::format("{}", training.coverage);
  options["num_threads"] = std::to_string(training.threads);
  options["normalization_rule_name"] = "nmt_nfkc";
  return train_sentence_pieces(prepared(lines, training), std::move(options), static_cast<int64_t>(layout.sentinels));
}

json train_tokenizer(std::span<const std::string> lines, const TokenizerTraining& training) {
  json tokenizer =
      training.kind == Kind::byte_bpe ? of_bytes(lines, training) : of_pieces(train_pieces(lines, training), training);
  tokenizer.update({{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}});
  return tokenizer;
}

void save_tokenizer(const json& tokenizer, Layout layout, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  check(!error, "cannot create the folder {}: {}; choose another place", printable(folder.generic_string()),
        error.message());
  write_tokenizer_files(folder, tokenizer.dump(2) + '\n', layout_of(layout).settings());
}

}  // namespace vkformer
