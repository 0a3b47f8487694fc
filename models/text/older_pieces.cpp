// Tokenizers whose vocabulary is one of SentencePiece's files.

#include <algorithm>

#include "models/text/language_codes.h"
#include "models/text/older_makers.h"
#include "models/text/older_tokens.h"
#include "models/text/older_vocabulary.h"
#include "models/text/precompiled_charsmap.h"
#include "models/text/sentinels.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using nlohmann::json;
using Type = SentencePieceFile::Type;

/// Pieces by the ids that the model's embeddings have, which need not be those of the file.
struct PieceList {
  std::vector<std::string> texts;
  std::vector<double> scores;
  size_t unknown = 0;

  void add(std::string text, double score) {
    texts.push_back(std::move(text));
    scores.push_back(score);
  }
  void add(const SentencePieceFile& file, size_t first) {
    for (size_t id = first; id < file.pieces.size(); ++id) add(file.pieces[id].text, file.pieces[id].score);
  }
};

SentencePieceFile load_pieces(const OlderFiles& files) {
  SentencePieceFile file = SentencePieceFile::load(files.folder / files.model);
  using Kind = SentencePieceFile::Kind;
  check(file.kind == Kind::unigram || file.kind == Kind::bpe,
        "{}: it is a model of {}; only SentencePiece's Unigram and BPE are supported", file.name,
        file.kind == Kind::word ? "words" : "characters");
  return file;
}

json model_of(const SentencePieceFile& file, const PieceList& list, bool byte_fallback) {
  if (file.kind == SentencePieceFile::Kind::unigram) {
    json vocabulary = json::array();
    for (size_t id = 0; id < list.texts.size(); ++id)
      vocabulary.push_back(json::array({list.texts[id], list.scores[id]}));
    return {{"type", "Unigram"}, {"unk_id", list.unknown}, {"byte_fallback", byte_fallback}, {"vocab", vocabulary}};
  }
  json vocabulary = json::object();
  for (size_t id = 0; id < list.texts.size(); ++id) vocabulary[list.texts[id]] = id;
  return bpe_model(file, std::move(vocabulary), merges_in(file), byte_fallback);
}

/// The tokens of the file that stand for themselves.
std::vector<OlderToken> sought_in(const SentencePieceFile& file) {
  std::vector<OlderToken> tokens;
  for (const SentencePieceFile::Piece& piece : file.pieces)
    if (piece.type == Type::control || piece.type == Type::user_defined)
      tokens.push_back({.content = piece.text, .special = piece.type == Type::control, .normalized = false});
  return tokens;
}

OlderTokens tokens_of(const OlderFiles& files, const PieceList& list, const std::vector<OlderRole>& of_class,
                      const std::vector<OlderToken>& of_model) {
  return {files.settings, of_class, static_cast<int64_t>(list.texts.size()), finder_of(list.texts), of_model};
}

json metaspace(const std::string& prepend, bool split = true) {
  return {{"type", "Metaspace"}, {"replacement", blank_sign}, {"prepend_scheme", prepend}, {"split", split}};
}

/// Whether a blank goes before a text: before the first part alone where special tokens cut it, unless "legacy".
std::string prepend_scheme(const OlderFiles& files) {
  if (!files.settings.flag("add_prefix_space", true)) return "never";
  return files.settings.flag("legacy", true) ? "always" : "first";
}

void add_charsmap(json& steps, const SentencePieceFile& file) {
  if (!file.charsmap.empty())
    steps.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", to_base64(file.charsmap)}});
}

json replace(const json& pattern, const char* content) {
  return {{"type", "Replace"}, {"pattern", pattern}, {"content", content}};
}

json sequence_of(json steps) { return {{"type", "Sequence"}, {"normalizers", std::move(steps)}}; }

/// What most of them do to a text first.
json usual_normalizer(const SentencePieceFile& file) {
  json steps = json::array();
  add_charsmap(steps, file);
  steps.push_back({{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}});
  steps.push_back(replace({{"Regex", " {2,}"}}, blank_sign));
  return sequence_of(steps);
}

json usual_tokenizer(const SentencePieceFile& file, const PieceList& list, const OlderTokens& tokens,
                     const std::string& prepend) {
  return {{"added_tokens", tokens.added()},      {"normalizer", usual_normalizer(file)},
          {"pre_tokenizer", metaspace(prepend)}, {"post_processor", nullptr},
          {"decoder", metaspace(prepend)},       {"model", model_of(file, list, false)}};
}

/// Of fairseq's models.
const std::vector<OlderRole> roberta_roles = {{"bos_token", {"<s>"}},
                                              {"eos_token", {"</s>"}},
                                              {"sep_token", {"</s>"}},
                                              {"cls_token", {"<s>"}},
                                              {"unk_token", {"<unk>"}},
                                              {"pad_token", {"<pad>"}},
                                              {"mask_token", {.content = "<mask>", .lstrip = true}}};

/// Fairseq has a vocabulary of its own before SentencePiece's, and behind it languages and <mask>.
json make_fairseq(const OlderFiles& files, const SentencePieceFile& file, PieceList list, size_t first,
                  std::span<const std::string_view> languages, const std::string& single, const std::string& pair) {
  list.add(file, first);
  std::vector<OlderToken> sought = sought_in(file);
  for (std::string_view language : languages) {
    list.add(std::string(language), 0);
    sought.push_back({list.texts.back()});
  }
  list.add("<mask>", 0);
  list.unknown = 3;
  std::vector<OlderRole> roles = roberta_roles;
  if (!languages.empty()) {
    const std::string source = files.settings.text("src_lang", "en_XX");
    check(std::ranges::find(languages, source) != languages.end(),
          "'{}': src_lang {} in tokenizer_config.json is none of its {} languages", files.settings.folder(),
          in_quotes(source), languages.size());
    roles.push_back({"language", {source}});
  }
  const OlderTokens tokens = tokens_of(files, list, roles, sought);
  json tokenizer = usual_tokenizer(file, list, tokens, "always");
  tokenizer["post_processor"] = tokens.surround(single, pair);
  return tokenizer;
}

constexpr const char *roberta_single = "cls_token A sep_token",
                     *roberta_pair = "cls_token A sep_token sep_token B sep_token";

/// XLM-RoBERTa's and mBART's.
PieceList fairseq_tokens() {
  PieceList list;
  for (const char* token : {"<s>", "<pad>", "</s>", "<unk>"}) list.add(token, 0);
  return list;
}

bool ends_in_number_and_comma(const std::string& piece) {
  return piece.size() >= 2 && piece.back() == ',' && piece[piece.size() - 2] >= '0' && piece[piece.size() - 2] <= '9';
}

}  // namespace

json make_older_t5(const OlderFiles& files) {
  const SentencePieceFile file = load_pieces(files);
  PieceList list{.unknown = static_cast<size_t>(file.unknown)};
  list.add(file, 0);
  std::vector<OlderToken> sought = sought_in(file);
  constexpr int64_t usual_sentinels = 100, most_sentinels = 10'000;
  for (int64_t i = files.settings.integer("extra_ids", usual_sentinels, most_sentinels) - 1; i >= 0; --i) {
    list.add(sentinel(static_cast<size_t>(i)), 0);
    sought.push_back({list.texts.back()});
  }
  const OlderTokens tokens =
      tokens_of(files, list, {{"eos_token", {"</s>"}}, {"unk_token", {"<unk>"}}, {"pad_token", {"<pad>"}}}, sought);
  json tokenizer = usual_tokenizer(file, list, tokens, prepend_scheme(files));
  tokenizer["post_processor"] = tokens.surround("A eos_token", "A eos_token B eos_token");
  return tokenizer;
}

json make_older_xlm_roberta(const OlderFiles& files) {
  return make_fairseq(files, load_pieces(files), fairseq_tokens(), 3, {}, roberta_single, roberta_pair);
}

json make_older_mbart(const OlderFiles& files) {
  return make_fairseq(files, load_pieces(files), fairseq_tokens(), 3, std::span(mbart_languages).first(mbart_25),
                      "A eos_token language", "A B eos_token language");
}

json make_older_mbart_50(const OlderFiles& files) {
  return make_fairseq(files, load_pieces(files), fairseq_tokens(), 3, mbart_languages, "language A eos_token",
                      "language A B eos_token");
}

json make_older_pegasus(const OlderFiles& files) {
  const SentencePieceFile file = load_pieces(files);
  PieceList list;
  list.add("<pad>", 0);
  list.add("</s>", 0);
  // Tokens of its pretraining stand before the file's own, but for the first two.
  const int64_t offset = files.settings.integer("offset", 103, 10'000);
  std::vector<OlderToken> sought = sought_in(file);
  if (offset > 0) {
    list.add("<mask_1>", 0);
    list.add("<mask_2>", 0);
    for (int64_t i = 2; i < offset; ++i) list.add(fmt::format("<unk_{}>", i), -100);
    for (size_t id = 2; id < list.texts.size(); ++id) sought.push_back({list.texts[id]});
  }
  list.add(file, 2);
  list.unknown = static_cast<size_t>(file.unknown + offset);
  const OlderTokens tokens = tokens_of(
      files, list,
      {{"eos_token", {"</s>"}}, {"unk_token", {"<unk>"}}, {"pad_token", {"<pad>"}}, {"mask_token", {"<mask_2>"}}},
      sought);
  json tokenizer = usual_tokenizer(file, list, tokens, "always");
  tokenizer["pre_tokenizer"] = {{"type", "Sequence"},
                                {"pretokenizers", {{{"type", "WhitespaceSplit"}}, metaspace("always")}}};
  tokenizer["post_processor"] = tokens.surround("A eos_token", "A B eos_token");
  return tokenizer;
}

json make_older_camembert(const OlderFiles& files) {
  PieceList list;
  for (const char* token : {"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>"}) list.add(token, 0);
  list.add("<unk>NOTUSED", -100);
  return make_fairseq(files, load_pieces(files), std::move(list), 1, {}, roberta_single, roberta_pair);
}

json make_older_deberta(const OlderFiles& files) {
  const SentencePieceFile file = load_pieces(files);
  PieceList list{.unknown = static_cast<size_t>(file.unknown)};
  list.add(file, 0);
  constexpr const char* mask = "[MASK]";
  if (std::ranges::find(list.texts, mask) == list.texts.end()) list.add(mask, 0);
  const std::vector<OlderRole> roles = {{"bos_token", {"[CLS]"}}, {"eos_token", {"[SEP]"}}, {"unk_token", {"[UNK]"}},
                                        {"sep_token", {"[SEP]"}}, {"pad_token", {"[PAD]"}}, {"cls_token", {"[CLS]"}},
                                        {"mask_token", {mask}}};
  const OlderTokens tokens = tokens_of(files, list, roles, sought_in(file));
  json steps = json::array(), cuts = json::array();
  if (files.settings.flag("do_lower_case", false)) steps.push_back({{"type", "Lowercase"}});
  steps.push_back({{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
  add_charsmap(steps, file);
  steps.push_back(replace({{"Regex", " {2,}"}}, " "));
  if (files.settings.flag("split_by_punct", false)) cuts.push_back({{"type", "Punctuation"}, {"behavior", "Isolated"}});
  cuts.push_back(metaspace("always"));
  json tokenizer = usual_tokenizer(file, list, tokens, "always");
  tokenizer["normalizer"] = sequence_of(steps);
  tokenizer["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", cuts}};
  tokenizer["post_processor"] = tokens.surround("cls_token A sep_token", "cls_token A sep_token B:1 sep_token:1");
  return tokenizer;
}

json make_older_xlnet(const OlderFiles& files) {
  const SentencePieceFile file = load_pieces(files);
  PieceList list{.unknown = static_cast<size_t>(file.unknown)};
  list.add(file, 0);
  // The slow tokenizer parts a comma from a number; here those pieces are too dear to be taken.
  for (size_t id = 0; id < list.texts.size(); ++id)
    if (ends_in_number_and_comma(list.texts[id])) list.scores[id] -= 100;
  const std::vector<OlderRole> roles = {{"bos_token", {"<s>"}},
                                        {"eos_token", {"</s>"}},
                                        {"unk_token", {"<unk>"}},
                                        {"sep_token", {"<sep>"}},
                                        {"pad_token", {"<pad>"}},
                                        {"cls_token", {"<cls>"}},
                                        {"mask_token", {.content = "<mask>", .lstrip = true}}};
  const OlderTokens tokens = tokens_of(files, list, roles, sought_in(file));
  json steps = json::array({replace({{"String", "``"}}, "\""), replace({{"String", "''"}}, "\"")});
  if (!files.settings.flag("keep_accents", false)) {
    steps.push_back({{"type", "NFKD"}});
    steps.push_back({{"type", "StripAccents"}});
  }
  if (files.settings.flag("do_lower_case", false)) steps.push_back({{"type", "Lowercase"}});
  add_charsmap(steps, file);
  steps.push_back(replace({{"Regex", " {2,}"}}, " "));
  json tokenizer = usual_tokenizer(file, list, tokens, "always");
  tokenizer["normalizer"] = sequence_of(steps);
  tokenizer["post_processor"] = tokens.surround("A sep_token cls_token:2", "A sep_token B:1 sep_token:1 cls_token:2");
  return tokenizer;
}

json make_older_llama(const OlderFiles& files) {
  const SentencePieceFile file = load_pieces(files);
  PieceList list{.unknown = static_cast<size_t>(file.unknown)};
  list.add(file, 0);
  const OlderTokens tokens = tokens_of(
      files, list, {{"unk_token", {"<unk>"}}, {"bos_token", {"<s>"}}, {"eos_token", {"</s>"}}}, sought_in(file));
  const bool prefix = files.settings.flag("add_prefix_space", true), legacy = files.settings.flag("legacy", true);
  json normalizers = json::array(),
       decoders = json::array({replace({{"String", blank_sign}}, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}});
  if (prefix) {
    normalizers.push_back({{"type", "Prepend"}, {"prepend", blank_sign}});
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  normalizers.push_back(replace({{"String", " "}}, blank_sign));
  const std::string before = files.settings.flag("add_bos_token", true) ? "bos_token" : "",
                    behind = files.settings.flag("add_eos_token", false) ? "eos_token" : "";
  const auto of_type = [](const std::string& role) { return role.empty() ? role : role + ":1"; };
  const std::string single = before + " A " + behind;
  return {{"added_tokens", tokens.added()},
          {"normalizer", legacy ? sequence_of(normalizers) : json()},
          {"pre_tokenizer", legacy ? json() : metaspace(prepend_scheme(files), false)},
          {"post_processor", tokens.surround(single, single + ' ' + of_type(before) + " B:1 " + of_type(behind))},
          {"decoder", {{"type", "Sequence"}, {"decoders", decoders}}},
          {"model", model_of(file, list, true)}};
}

}  // namespace vkformer
