// Tokenizers whose vocabulary is a file of words: vocab.txt, or vocab.json beside merges.txt.

#include <algorithm>

#include "models/text/older_makers.h"
#include "models/text/older_tokens.h"
#include "runtime/check.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using nlohmann::json;

/// The lines of a file: those of Python, which end with a line feed, a carriage return or both. `use`: of each and its
/// number, from 0 on.
template <class Use>
void each_line(const std::filesystem::path& path, const Use& use) {
  const MappedFile file(path);
  const std::string name = printable(path.generic_string());
  check(file.bytes().size() <= json_size_limit, "{}: {} bytes are too many for a vocabulary; check the path", name,
        file.bytes().size());
  std::string_view text = file.text();
  for (uint64_t number = 0; !text.empty(); ++number) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    const std::string_view line = text.substr(0, end);
    check(is_utf8(line), "{}:{}: the line is not UTF-8; download the file again", name, number + 1);
    text.remove_prefix(end);
    text.remove_prefix(text.starts_with("\r\n") ? 2 : std::min<size_t>(text.size(), 1));
    use(line, number);
  }
}

/// What tells the id of a token in {"token": id}.
OlderTokens::Find finder(const json& vocabulary) {
  return [&vocabulary](const std::string& token) -> std::optional<int64_t> {
    const auto id = vocabulary.find(token);
    return id == vocabulary.end() ? std::nullopt : std::optional(id->get<int64_t>());
  };
}

int64_t size_of_vocabulary(const json& vocabulary) {
  int64_t size = 0;
  for (const auto& id : vocabulary) size = std::max(size, id.get<int64_t>() + 1);
  return size;
}

json read_vocabulary(const std::filesystem::path& path) {
  const JsonObject file = JsonObject::load(path);
  for (const auto& [token, id] : file.value().items())
    check(id.is_number_unsigned() && id.get<uint64_t>() < uint64_t{INT32_MAX},
          "{}: the id of {} is {}, not an integer from 0 to {}; the file is damaged", file.name(), in_quotes(token),
          printable(id.dump(), 40), INT32_MAX - 1);
  return file.value();
}

json read_merges(const std::filesystem::path& path) {
  json merges = json::array();
  each_line(path, [&](std::string_view line, uint64_t number) {
    if (line.empty() || (number == 0 && line.starts_with("#version"))) return;
    const size_t blank = line.find(' ');
    const bool two =
        blank != line.npos && blank > 0 && blank + 1 < line.size() && line.find(' ', blank + 1) == line.npos;
    check(two, "{}:{}: {} is not a merge of two tokens; the file is damaged", printable(path.generic_string()),
          number + 1, in_quotes(line));
    merges.push_back({line.substr(0, blank), line.substr(blank + 1)});
  });
  return merges;
}

/// BPE of bytes.
json byte_bpe(const OlderFiles& files, json vocabulary, bool add_prefix_space) {
  const auto byte_level = [&](bool prefix) {
    return json{{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", true}, {"use_regex", true}};
  };
  return {{"normalizer", nullptr},
          {"pre_tokenizer", byte_level(add_prefix_space)},
          {"decoder", byte_level(true)},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", ""},
            {"end_of_word_suffix", ""},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", false},
            {"vocab", std::move(vocabulary)},
            {"merges", read_merges(files.folder / "merges.txt")}}}};
}

}  // namespace

json make_older_bert(const OlderFiles& files) {
  json vocabulary = json::object();
  each_line(files.folder / "vocab.txt",
            [&](std::string_view line, uint64_t number) { vocabulary[std::string(line)] = number; });
  const OlderTokens tokens(files.settings,
                           {{"unk_token", {"[UNK]"}},
                            {"sep_token", {"[SEP]"}},
                            {"pad_token", {"[PAD]"}},
                            {"cls_token", {"[CLS]"}},
                            {"mask_token", {"[MASK]"}}},
                           size_of_vocabulary(vocabulary), finder(vocabulary));
  const bool basic = files.settings.flag("do_basic_tokenize", true);
  const std::optional<bool> strip_accents = basic ? files.settings.flag("strip_accents") : false;
  tokens.id("unk_token");  // says so here rather than at the first text that needs it
  return {{"added_tokens", tokens.added()},
          {"normalizer",
           {{"type", "BertNormalizer"},
            {"clean_text", true},
            {"handle_chinese_chars", basic && files.settings.flag("tokenize_chinese_chars", true)},
            {"strip_accents", strip_accents ? json(*strip_accents) : json()},
            {"lowercase", basic && files.settings.flag("do_lower_case", true)}}},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"post_processor", tokens.surround("cls_token A sep_token", "cls_token A sep_token B:1 sep_token:1")},
          {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", tokens.text("unk_token")},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", 100},
            {"vocab", vocabulary}}}};
}

json make_older_gpt2(const OlderFiles& files) {
  json vocabulary = read_vocabulary(files.folder / "vocab.json");
  const OlderToken end{"<|endoftext|>"};
  const OlderTokens tokens(files.settings, {{"bos_token", end}, {"eos_token", end}, {"unk_token", end}},
                           size_of_vocabulary(vocabulary), finder(vocabulary));
  json tokenizer = byte_bpe(files, vocabulary, files.settings.flag("add_prefix_space", false));
  tokenizer["added_tokens"] = tokens.added();
  if (files.settings.flag("add_bos_token", false))
    tokenizer["post_processor"] = tokens.surround("bos_token A", "bos_token A B:1");
  else
    tokenizer["post_processor"] = {
        {"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", false}, {"use_regex", true}};
  return tokenizer;
}

json make_older_roberta(const OlderFiles& files) {
  json vocabulary = read_vocabulary(files.folder / "vocab.json");
  const OlderTokens tokens(files.settings,
                           {{"bos_token", {"<s>"}},
                            {"eos_token", {"</s>"}},
                            {"sep_token", {"</s>"}},
                            {"cls_token", {"<s>"}},
                            {"unk_token", {"<unk>"}},
                            {"pad_token", {"<pad>"}},
                            {"mask_token", {.content = "<mask>", .lstrip = true}}},
                           size_of_vocabulary(vocabulary), finder(vocabulary));
  const bool prefix = files.settings.flag("add_prefix_space", false);
  json tokenizer = byte_bpe(files, vocabulary, prefix);
  tokenizer["added_tokens"] = tokens.added();
  tokenizer["post_processor"] = {{"type", "RobertaProcessing"},
                                 {"sep", tokens.named("sep_token")},
                                 {"cls", tokens.named("cls_token")},
                                 {"trim_offsets", true},
                                 {"add_prefix_space", prefix}};
  return tokenizer;
}

}  // namespace vkformer
