// `train --data`: a text file becomes a language model.

#include <algorithm>

#include "models/data/text_windows.h"
#include "models/model_files.h"
#include "models/text/vocabulary.h"
#include "runtime/files/utf8.h"
#include "tools/cli/job_kinds.h"
#include "tools/cli/text_tokens.h"
#include "tools/cli/train_job.h"

namespace vkformer {

namespace {

/// How texts become ids.
struct TextCoding {
  JobTokens tokens;
  std::function<TokenSequence(const RunFile&)> encode;
  std::function<std::string(std::span<const int32_t>)> decode;
};

/// No token begins, ends or pads a text of characters or bytes. Without the keys, readers would take the family's usual
/// ids, which are characters there or lie outside the vocabulary.
nlohmann::json no_special_ids() {
  return {{"bos_token_id", nullptr}, {"eos_token_id", nullptr}, {"pad_token_id", nullptr}};
}

/// One id a character or byte.
TextCoding symbol_coding(const Vocabulary& vocabulary) {
  return {.tokens = {.count = vocabulary.size(),
                     .ids = no_special_ids(),
                     .write = [vocabulary](const std::filesystem::path& folder) { vocabulary.save(folder); }},
          .encode =
              [vocabulary](const RunFile& file) {
                const bool bytes = vocabulary.kind() == Vocabulary::Kind::bytes;
                return TokenSequence(
                    vocabulary.encode(bytes ? file.content : without_byte_order_mark(file.content), file.path));
              },
          .decode = [vocabulary](std::span<const int32_t> ids) { return vocabulary.decode(ids); }};
}

TextCoding piece_coding(const TokenizerFiles& files, bool of_symbols) {
  const auto tokenizer = std::make_shared<const Tokenizer>(files.tokenizer());
  TextCoding coding{
      .tokens = {.count = tokenizer->size(),
                 .ids = of_symbols ? no_special_ids() : nlohmann::json::object(),
                 .write = files.writer()},
      .encode = [files, tokenizer](const RunFile& file) { return tokens_of_file(files, *tokenizer, file); },
      .decode = [tokenizer](std::span<const int32_t> ids) { return tokenizer->decode(ids, false); }};
  if (const auto end = tokenizer->id_of("<|endoftext|>"))
    coding.tokens.ids = {{"bos_token_id", *end}, {"eos_token_id", *end}, {"pad_token_id", nullptr}};
  return coding;
}

/// The characters of all files.
Vocabulary characters_of(const std::vector<RunFile>& files) {
  std::string all;
  for (const RunFile& file : files) {
    const Vocabulary own = Vocabulary::characters(without_byte_order_mark(file.content), file.path);
    for (int32_t id = 0; id < own.size(); ++id) all += own.piece(id);
  }
  return Vocabulary::characters(all);
}

TextCoding coding_of(const TrainFlags& flags, const std::vector<RunFile>& files,
                     const std::filesystem::path& checkpoint) {
  const std::filesystem::path folder = tokenizer_folder(flags, checkpoint);
  for (const RunFile& file : files) check_tokenizer(folder, file);
  if (folder.empty()) return symbol_coding(flags.bytes ? Vocabulary::bytes() : characters_of(files));
  const JsonObject tokenizer = load_model_json(folder, "tokenizer.json");
  const bool of_symbols = Vocabulary::is_one(tokenizer);
  const auto is_of_tokens = [](const RunFile& file) { return TokenSequence::is_name(file.path); };
  if (of_symbols && std::ranges::none_of(files, is_of_tokens)) return symbol_coding(Vocabulary::from(tokenizer));
  return piece_coding(TokenizerFiles::load(folder), of_symbols);
}

/// Tokens of a text for each of its bytes; 0: it has none.
double tokens_per_byte(const TextCoding& coding, const TokenSequence& text) {
  size_t bytes = 0;
  text.in_parts([&](std::span<const int32_t> ids) { bytes += coding.decode(ids).size(); });
  return bytes > 0 ? static_cast<double>(text.size()) / static_cast<double>(bytes) : 0;
}

}  // namespace

TrainJob text_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint) {
  const TextCoding coding = coding_of(flags, files, checkpoint);
  TrainJob job = job_of_tokens(flags, checkpoint, coding.tokens);
  check_trained_by("--data", job.model->task == Task::causal, *job.model);
  set_context(flags, *job.model);
  TextSplit text = split_of_files(coding.encode, flags, files, "text");
  job.tokens_per_byte = tokens_per_byte(coding, text.validation);
  job.summary = describe(text);
  job.data = std::make_unique<TextWindows>(std::move(text), window_settings(flags));
  return job;
}

}  // namespace vkformer
