#include "models/text/tokenizer_training.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/text/byte_pieces.h"
#include "models/text/precompiled_charsmap.h"
#include "models/text/sentence_pieces.h"
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

struct SpecialToken {
  std::string token;
  std::vector<std::string> roles;  ///< keys of tokenizer_config.json
};

/// In the order of their ids.
std::vector<SpecialToken> special_tokens(Layout layout) {
  switch (layout) {
    case Layout::translation: return {{"<pad>", {"pad_token"}}, {"</s>", {"eos_token"}}, {"<unk>", {"unk_token"}}};
    case Layout::bert:
      return {{"[PAD]", {"pad_token"}},
              {"[UNK]", {"unk_token"}},
              {"[CLS]", {"cls_token"}},
              {"[SEP]", {"sep_token"}},
              {"[MASK]", {"mask_token"}}};
    case Layout::plain: break;
  }
  return {{"<|endoftext|>", {"bos_token", "eos_token"}}};
}

std::vector<std::string> special_texts(Layout layout) {
  std::vector<std::string> texts;
  for (const SpecialToken& special : special_tokens(layout)) texts.push_back(special.token);
  return texts;
}

/// Places among special_tokens().
SentencePieceOptions special_options(Layout layout) {
  if (layout == Layout::translation) return {{"pad_id", "0"}, {"eos_id", "1"}, {"unk_id", "2"}, {"bos_id", "-1"}};
  return {{"pad_id", "0"},        {"pad_piece", "[PAD]"}, {"unk_id", "1"},
          {"unk_piece", "[UNK]"}, {"bos_id", "2"},        {"bos_piece", "[CLS]"},
          {"eos_id", "3"},        {"eos_piece", "[SEP]"}, {"control_symbols", "[MASK]"}};
}

void check_settings(std::span<const std::string> lines, const TokenizerTraining& training) {
  const bool bytes = training.kind == Kind::byte_bpe;
  check(bytes == (training.layout == Layout::plain),
        "the layout plain is for byte-bpe, and only for it; unigram and bpe have translation or bert");
  check(!bytes || training.size >= 257,
        "a vocabulary of {} is too small for the 256 bytes and <|endoftext|>; give 257 or more", training.size);
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
  std::vector<std::string> separators = special_texts(training.layout);
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

json added_tokens(Layout layout, size_t first_id) {
  json added = json::array();
  for (const std::string& token : special_texts(layout))
    added.push_back({{"id", first_id + added.size()},
                     {"content", token},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  return added;
}

/// TemplateProcessing; every special token has its place in special_tokens() for id.
json post_processor(Layout layout) {
  const auto text = [](const char* id, int type) { return json{{"Sequence", {{"id", id}, {"type_id", type}}}}; };
  const auto special = [](const char* token, int type) {
    return json{{"SpecialToken", {{"id", token}, {"type_id", type}}}};
  };
  json single, pair, used = json::object();
  std::vector<std::string> around;
  if (layout == Layout::translation) {
    around = {"</s>"};
    single = json::array({text("A", 0), special("</s>", 0)});
    pair = json::array({text("A", 0), special("</s>", 0), text("B", 0), special("</s>", 0)});
  } else {
    around = {"[CLS]", "[SEP]"};
    single = json::array({special("[CLS]", 0), text("A", 0), special("[SEP]", 0)});
    pair = single;
    pair.insert(pair.end(), {text("B", 1), special("[SEP]", 1)});
  }
  const auto all = special_texts(layout);
  for (size_t id = 0; id < all.size(); ++id)
    if (std::find(around.begin(), around.end(), all[id]) != around.end())
      used[all[id]] = {{"id", all[id]}, {"ids", json::array({id})}, {"tokens", json::array({all[id]})}};
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", used}};
}

json of_bytes(std::span<const std::string> lines, const TokenizerTraining& training) {
  check_settings(lines, training);
  const BytePieces pieces = train_byte_pieces(prepared(lines, training), training.size - 1);
  const auto byte_level = [](bool regex) {
    return json{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", regex}};
  };
  std::vector<std::string> tokens = pieces.tokens;
  tokens.push_back(special_texts(training.layout)[0]);
  return {{"added_tokens", added_tokens(training.layout, tokens.size() - 1)},
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
  const std::vector<SpecialToken> special = special_tokens(training.layout);
  const auto unknown = std::find_if(special.begin(), special.end(),
                                    [](const SpecialToken& token) { return token.roles[0] == "unk_token"; });
  json model;
  if (training.kind == Kind::unigram) {
    json vocab = json::array();
    for (size_t id = 0; id < pieces.pieces.size(); ++id)
      vocab.push_back(json::array({pieces.pieces[id], pieces.scores[id]}));
    model = {{"type", "Unigram"}, {"unk_id", unknown - special.begin()}, {"byte_fallback", false}, {"vocab", vocab}};
  } else {
    model = bpe_model(pieces.pieces, merges_of(pieces));
    model["unk_token"] = unknown->token;
    model["fuse_unk"] = true;
  }
  return {{"added_tokens", added_tokens(training.layout, 0)},
          {"normalizer", {{"type", "Sequence"}, {"normalizers", steps}}},
          {"pre_tokenizer", metaspace},
          {"post_processor", post_processor(training.layout)},
          {"decoder", metaspace},
          {"model", model}};
}

}  // namespace

SentencePieces train_pieces(std::span<const std::string> lines, const TokenizerTraining& training) {
  check_settings(lines, training);
  check(training.kind != Kind::byte_bpe, "sentencepiece has no models of kind byte-bpe");
  SentencePieceOptions options = special_options(training.layout);
  options["model_type"] = training.kind == Kind::unigram ? "unigram" : "bpe";
  options["vocab_size"] = std::to_string(training.size);
  options["character_coverage"] = fmt::format("{}", training.coverage);
  options["num_threads"] = std::to_string(training.threads);
  options["normalization_rule_name"] = "nmt_nfkc";
  return train_sentence_pieces(prepared(lines, training), std::move(options));
}

json train_tokenizer(std::span<const std::string> lines, const TokenizerTraining& training) {
  json tokenizer =
      training.kind == Kind::byte_bpe ? of_bytes(lines, training) : of_pieces(train_pieces(lines, training), training);
  tokenizer.update({{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}});
  return tokenizer;
}

void save_tokenizer(const json& tokenizer, Layout layout, const std::filesystem::path& folder) {
  nlohmann::ordered_json settings = nlohmann::ordered_json::object();
  for (const SpecialToken& special : special_tokens(layout))
    for (const std::string& role : special.roles) settings[role] = special.token;
  // Only BERT's models take the types of tokens, which transformers would hand to every one.
  if (layout != Layout::bert) settings["model_input_names"] = {"input_ids", "attention_mask"};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  check(!error, "cannot create the folder {}: {}; choose another place", printable(folder.string()), error.message());
  write_tokenizer_files(folder, tokenizer.dump(2) + '\n', settings);
}

}  // namespace vkformer
