#include "models/gguf/gguf_tokenizer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "models/gguf/word_splitters.h"
#include "models/text/precompiled_charsmap.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

using nlohmann::json;

/// What all tokenizers of GGUF files have.
class Tokens {
 public:
  explicit Tokens(const GgufMetadata& metadata) : metadata_(metadata), texts_(metadata.texts("tokenizer.ggml.tokens")) {
    check(!texts_.empty() && texts_.size() <= INT32_MAX, "{}: key tokenizer.ggml.tokens has {} tokens", metadata.file(),
          texts_.size());
    kinds_.assign(texts_.size(), TokenKind::normal);
    if (metadata.has("tokenizer.ggml.token_type")) {
      const auto kinds = metadata.integers("tokenizer.ggml.token_type", 0, 6);
      check_size("tokenizer.ggml.token_type", kinds.size());
      std::ranges::transform(kinds, kinds_.begin(), [](int64_t kind) { return static_cast<TokenKind>(kind); });
    }
    for (size_t id = 0; id < texts_.size(); ++id) {
      ids_.emplace(texts_[id], static_cast<int32_t>(id));
      if (ends_a_turn(texts_[id])) kinds_[id] = TokenKind::control;
    }
  }

  const GgufMetadata& metadata() const { return metadata_; }
  size_t size() const { return texts_.size(); }
  std::string_view text(size_t id) const { return texts_[id]; }
  TokenKind kind(size_t id) const { return kinds_[id]; }
  bool is_special(size_t id) const { return kinds_[id] == TokenKind::control || kinds_[id] == TokenKind::unknown; }
  std::optional<int32_t> find(std::string_view text) const {
    const auto found = ids_.find(text);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }

  std::vector<double> scores() const {
    const auto scores = metadata_.numbers("tokenizer.ggml.scores", -1e30, 1e30);
    check_size("tokenizer.ggml.scores", scores.size());
    return scores;
  }

  /// The id of a special token, by the middle of its key ("bos").
  std::optional<size_t> special(std::string_view which) const {
    const std::string key = fmt::format("tokenizer.ggml.{}_token_id", which);
    if (!metadata_.has(key)) return std::nullopt;
    return static_cast<size_t>(metadata_.integer(key, 0, std::ssize(texts_) - 1));
  }
  /// The token that stands for what is unknown.
  std::optional<size_t> unknown() const {
    if (const auto id = special("unknown")) return id;
    const auto found = std::ranges::find(kinds_, TokenKind::unknown);
    return found == kinds_.end() ? std::nullopt : std::optional(static_cast<size_t>(found - kinds_.begin()));
  }
  bool flag(std::string_view which, bool otherwise) const {
    return metadata_.boolean_or(fmt::format("tokenizer.ggml.{}", which), otherwise);
  }

  json added() const {
    json added = json::array();
    const bool strips = strips_blanks();
    for (size_t id = 0; id < size(); ++id)
      if (is_special(id) || kind(id) == TokenKind::user_defined)
        added.push_back({{"id", id},
                         {"content", text(id)},
                         {"single_word", false},
                         {"lstrip", false},
                         {"rstrip", strips && text(id) != "<unk>" && text(id) != "<s>" && text(id) != "<|endoftext|>"},
                         {"normalized", false},
                         {"special", is_special(id)}});
    return added;
  }

  /// {"token": id}; of equal tokens the first.
  json vocabulary(const std::function<std::string(size_t)>& name) const {
    json vocabulary = json::object();
    for (size_t id = 0; id < size(); ++id) vocabulary.emplace(name(id), id);
    return vocabulary;
  }

 private:
  /// Whether special tokens take the blanks behind them along: Phi-3's do, as its name alone tells, here as in
  /// llama.cpp.
  bool strips_blanks() const {
    if (!metadata_.has("general.name")) return false;
    std::string name(metadata_.text("general.name"));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return name.find("phi-3") != name.npos || name.find("phi3") != name.npos;
  }
  void check_size(const char* key, size_t count) const {
    check(count == texts_.size(), "{}: key {} has {} values for {} tokens", metadata_.file(), key, count,
          texts_.size());
  }

  const GgufMetadata& metadata_;
  std::vector<std::string_view> texts_;
  std::vector<TokenKind> kinds_;
  std::unordered_map<std::string_view, int32_t> ids_;
};

/// Special tokens before and behind each text.
json surround(const Tokens& tokens, std::optional<size_t> before, std::optional<size_t> behind, int second_type) {
  json single = json::array(), pair = json::array(), specials = json::object();
  const auto add = [&](json& to, std::optional<size_t> id, int type) {
    if (!id) return;
    const std::string name(tokens.text(*id));
    to.push_back({{"SpecialToken", {{"id", name}, {"type_id", type}}}});
    specials[name] = {{"id", name}, {"ids", {*id}}, {"tokens", {name}}};
  };
  const auto add_text = [&](json& to, const char* text, int type) {
    to.push_back({{"Sequence", {{"id", text}, {"type_id", type}}}});
  };
  add(single, before, 0);
  add_text(single, "A", 0);
  add(single, behind, 0);
  pair = single;
  if (second_type == 0) add(pair, before, 0);
  add_text(pair, "B", second_type);
  add(pair, behind, second_type);
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", specials}};
}

/// Those that a file lists.
json filed_merges(const Tokens& tokens) {
  json merges = json::array();
  for (const std::string_view merge : tokens.metadata().texts("tokenizer.ggml.merges")) merges.push_back(merge);
  return merges;
}

/// Byte-level BPE.
json byte_level(const Tokens& tokens) {
  const GgufMetadata& metadata = tokens.metadata();
  const std::string_view pre = metadata.has("tokenizer.ggml.pre") ? metadata.text("tokenizer.ggml.pre") : "default";
  const WordSplitter* splitter = nullptr;
  for (const WordSplitter& known : word_splitters())
    if (std::ranges::find(known.names, pre) != known.names.end()) splitter = &known;
  std::string names;
  for (const WordSplitter& known : word_splitters())
    for (const std::string_view name : known.names) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  check(splitter != nullptr, "{}: key tokenizer.ggml.pre is {}, which is not known; known are {}", metadata.file(),
        in_quotes(pre), names);
  json words = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  if (!splitter->expressions.empty()) {
    json steps = json::array();
    for (const std::string_view expression : splitter->expressions)
      steps.push_back(
          {{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}, {"invert", false}});
    words["use_regex"] = false;
    steps.push_back(words);
    words = {{"type", "Sequence"}, {"pretokenizers", steps}};
  }
  return {{"normalizer", splitter->nfc ? json{{"type", "NFC"}} : json()},
          {"pre_tokenizer", words},
          {"post_processor",
           surround(tokens, tokens.flag("add_bos_token", splitter->add_bos) ? tokens.special("bos") : std::nullopt,
                    tokens.flag("add_eos_token", false) ? tokens.special("eos") : std::nullopt, 0)},
          {"decoder", {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}}},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", splitter->ignore_merges},
            {"vocab", tokens.vocabulary([&](size_t id) { return std::string(tokens.text(id)); })},
            {"merges", filed_merges(tokens)}}}};
}

/// SentencePiece joins the two neighbours whose joined token has the highest score; merges say so by their order.
json merges_of_scores(const Tokens& tokens) {
  struct Merge {
    size_t token, left, right;
  };
  const std::vector<double> scores = tokens.scores();
  std::vector<Merge> merges;
  for (size_t id = 0; id < tokens.size(); ++id) {
    const std::string_view text = tokens.text(id);
    if (tokens.kind(id) != TokenKind::normal && tokens.kind(id) != TokenKind::user_defined) continue;
    const size_t first = merges.size();
    for (size_t at = 0; at < text.size();) {
      at += read_utf8(text, at).length;
      if (at >= text.size()) break;
      const auto left = tokens.find(text.substr(0, at)), right = tokens.find(text.substr(at));
      if (left && right) merges.push_back({id, static_cast<size_t>(*left), static_cast<size_t>(*right)});
    }
    std::sort(merges.begin() + static_cast<ptrdiff_t>(first), merges.end(),
              [](const Merge& a, const Merge& b) { return std::pair(a.left, a.right) < std::pair(b.left, b.right); });
  }
  std::stable_sort(merges.begin(), merges.end(),
                   [&](const Merge& a, const Merge& b) { return scores[a.token] > scores[b.token]; });
  json list = json::array();
  for (const Merge& merge : merges) list.push_back({tokens.text(merge.left), tokens.text(merge.right)});
  return list;
}

/// SentencePiece's BPE, with merges by scores or with those of the file.
json sentence_piece(const Tokens& tokens, const json& merges) {
  const auto unknown = tokens.unknown();
  const bool prefix = tokens.flag("add_space_prefix", true);
  json normalizers = json::array(), decoders = json::array();
  if (prefix) normalizers.push_back({{"type", "Prepend"}, {"prepend", space_sign}});
  normalizers.push_back({{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", space_sign}});
  decoders.push_back({{"type", "Replace"}, {"pattern", {{"String", space_sign}}}, {"content", " "}});
  decoders.push_back({{"type", "ByteFallback"}});
  decoders.push_back({{"type", "Fuse"}});
  if (prefix) decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return {{"normalizer", {{"type", "Sequence"}, {"normalizers", normalizers}}},
          {"pre_tokenizer", nullptr},
          {"post_processor", surround(tokens, tokens.flag("add_bos_token", true) ? tokens.special("bos") : std::nullopt,
                                      tokens.flag("add_eos_token", false) ? tokens.special("eos") : std::nullopt, 0)},
          {"decoder", {{"type", "Sequence"}, {"decoders", decoders}}},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", unknown ? json(tokens.text(*unknown)) : json()},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", true},
            {"byte_fallback", true},
            {"ignore_merges", false},
            {"vocab", tokens.vocabulary([&](size_t id) { return std::string(tokens.text(id)); })},
            {"merges", merges}}}};
}
json sentence_piece(const Tokens& tokens) { return sentence_piece(tokens, merges_of_scores(tokens)); }
/// Gemma 4's.
json merged_pieces(const Tokens& tokens) { return sentence_piece(tokens, filed_merges(tokens)); }

/// Files mark the starts of words, Hugging Face their continuations.
json word_piece(const Tokens& tokens) {
  const auto unknown = tokens.unknown();
  check(unknown.has_value() || tokens.find("[UNK]").has_value(),
        "{}: key tokenizer.ggml.unknown_token_id is missing, and there is no [UNK]", tokens.metadata().file());
  const bool lower = tokens.flag("normalizer.lowercase", true);
  const auto name = [&](size_t id) {
    const std::string_view text = tokens.text(id);
    if (tokens.is_special(id) || id == unknown) return std::string(text);
    return text.starts_with(space_sign) ? std::string(text.substr(space_sign.size())) : "##" + std::string(text);
  };
  auto before = tokens.special("cls"), behind = tokens.special("seperator");  // sic
  if (!before) before = tokens.special("bos");
  if (!behind) behind = tokens.special("eos");
  return {{"normalizer",
           {{"type", "BertNormalizer"},
            {"clean_text", true},
            {"handle_chinese_chars", true},
            {"strip_accents", tokens.flag("normalizer.strip_accents", lower)},
            {"lowercase", lower}}},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"post_processor", surround(tokens, before, behind, 1)},
          {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", unknown ? tokens.text(*unknown) : "[UNK]"},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", 100},
            {"vocab", tokens.vocabulary(name)}}}};
}

/// SentencePiece's Unigram.
json unigram(const Tokens& tokens) {
  const auto unknown = tokens.unknown();
  const bool prefix = tokens.flag("add_space_prefix", true);
  const std::vector<double> scores = tokens.scores();
  json vocabulary = json::array();
  for (size_t id = 0; id < tokens.size(); ++id) vocabulary.push_back({tokens.text(id), scores[id]});
  json normalizers = json::array();
  if (tokens.metadata().array_size("tokenizer.ggml.precompiled_charsmap").value_or(0) > 0)
    normalizers.push_back(
        {{"type", "Precompiled"},
         {"precompiled_charsmap", to_base64(tokens.metadata().bytes("tokenizer.ggml.precompiled_charsmap"))}});
  if (tokens.flag("remove_extra_whitespaces", false)) {
    normalizers.push_back({{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}});
    normalizers.push_back({{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", space_sign}});
  }
  const json spaces = {{"type", "Metaspace"},
                       {"replacement", space_sign},
                       {"prepend_scheme", prefix ? "always" : "never"},
                       {"split", true}};
  return {
      {"normalizer", normalizers.empty() ? json() : json{{"type", "Sequence"}, {"normalizers", normalizers}}},
      {"pre_tokenizer", spaces},
      {"post_processor", surround(tokens, tokens.flag("add_bos_token", false) ? tokens.special("bos") : std::nullopt,
                                  tokens.flag("add_eos_token", true) ? tokens.special("eos") : std::nullopt, 0)},
      {"decoder", spaces},
      {"model",
       {{"type", "Unigram"},
        {"unk_id", unknown ? json(*unknown) : json()},
        {"byte_fallback", false},
        {"vocab", vocabulary}}}};
}

struct TokenizerMaker {
  std::string_view name;
  json (*make)(const Tokens&);
};
constexpr TokenizerMaker makers[] = {
    {"gpt2", byte_level}, {"llama", sentence_piece}, {"gemma4", merged_pieces}, {"bert", word_piece}, {"t5", unigram}};

}  // namespace

bool ends_a_turn(std::string_view token) {
  constexpr std::string_view ends[] = {"<|eot_id|>",    "<|eom_id|>",    "<|im_end|>",      "<|end|>",
                                       "<end_of_turn>", "<|endoftext|>", "<EOT>",           "<|return|>",
                                       "<|call|>",      "<turn|>",       "<|tool_response>"};
  return std::ranges::find(ends, token) != std::end(ends);
}

bool has_gguf_tokenizer(const GgufMetadata& metadata) { return metadata.has("tokenizer.ggml.tokens"); }

json gguf_tokenizer(const GgufMetadata& metadata) {
  const std::string_view name = metadata.text("tokenizer.ggml.model");
  for (const TokenizerMaker& maker : makers) {
    if (maker.name != name) continue;
    const Tokens tokens(metadata);
    json tokenizer = maker.make(tokens);
    tokenizer["version"] = "1.0";
    tokenizer["truncation"] = tokenizer["padding"] = nullptr;
    tokenizer["added_tokens"] = tokens.added();
    return tokenizer;
  }
  fail("{}: key tokenizer.ggml.model is {}; known are gpt2, llama, gemma4, bert and t5", metadata.file(),
       in_quotes(name));
}

json gguf_tokenizer_config(const GgufMetadata& metadata) {
  json config = json::object();
  const Tokens tokens(metadata);
  for (const auto& [which, key] : {std::pair{"bos", "bos_token"},
                                   {"eos", "eos_token"},
                                   {"unknown", "unk_token"},
                                   {"padding", "pad_token"},
                                   {"cls", "cls_token"},
                                   {"seperator", "sep_token"},
                                   {"mask", "mask_token"}})
    if (const auto id = tokens.special(which)) config[key] = tokens.text(*id);
  if (metadata.has("tokenizer.chat_template")) config["chat_template"] = metadata.text("tokenizer.chat_template");
  return config;
}

}  // namespace vkformer
