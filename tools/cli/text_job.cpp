// `train --data`: a text file becomes a language model.

#include "models/data/text_windows.h"
#include "models/model_files.h"
#include "models/text/vocabulary.h"
#include "runtime/files/utf8.h"
#include "tools/cli/job_kinds.h"
#include "tools/cli/text_tokens.h"
#include "tools/cli/train_job.h"

namespace vkformer {

namespace {

struct EncodedText {
  TokenSequence ids;
  JobTokens tokens;
  std::function<std::string(std::span<const int32_t>)> decode;
};

/// No token begins, ends or pads a text of characters or bytes. Without the keys, readers would take the family's usual
/// ids, which are characters there or lie outside the vocabulary.
nlohmann::json no_special_ids() {
  return {{"bos_token_id", nullptr}, {"eos_token_id", nullptr}, {"pad_token_id", nullptr}};
}

/// One id a character or byte.
EncodedText encode_symbols(const RunFile& file, const Vocabulary& vocabulary) {
  const bool bytes = vocabulary.kind() == Vocabulary::Kind::bytes;
  return {.ids = vocabulary.encode(bytes ? file.content : without_byte_order_mark(file.content), file.path),
          .tokens = {.count = vocabulary.size(),
                     .ids = no_special_ids(),
                     .write = [vocabulary](const std::filesystem::path& folder) { vocabulary.save(folder); }},
          .decode = [vocabulary](std::span<const int32_t> ids) { return vocabulary.decode(ids); }};
}

EncodedText encode_pieces(const RunFile& file, const TokenizerFiles& files, bool of_symbols) {
  const auto tokenizer = std::make_shared<const Tokenizer>(files.tokenizer());
  EncodedText encoded{.ids = tokens_of_file(files, *tokenizer, file),
                      .tokens = {.count = tokenizer->size(),
                                 .ids = of_symbols ? no_special_ids() : nlohmann::json::object(),
                                 .write = files.writer()},
                      .decode = [tokenizer](std::span<const int32_t> ids) { return tokenizer->decode(ids, false); }};
  if (const auto end = tokenizer->id_of("<|endoftext|>"))
    encoded.tokens.ids = {{"bos_token_id", *end}, {"eos_token_id", *end}, {"pad_token_id", nullptr}};
  return encoded;
}

EncodedText encode_text(const TrainFlags& flags, const RunFile& file, const std::filesystem::path& checkpoint) {
  const std::filesystem::path folder = tokenizer_folder(flags, checkpoint);
  check_tokenizer(folder, file);
  if (folder.empty())
    return encode_symbols(file, flags.bytes ? Vocabulary::bytes()
                                            : Vocabulary::characters(without_byte_order_mark(file.content), file.path));
  const JsonObject tokenizer = load_model_json(folder, "tokenizer.json");
  const bool of_symbols = Vocabulary::is_one(tokenizer);
  if (!TokenSequence::is_name(file.path) && of_symbols) return encode_symbols(file, Vocabulary::from(tokenizer));
  return encode_pieces(file, TokenizerFiles::load(folder), of_symbols);
}

/// Tokens of a text for each of its bytes; 0: it has none.
double tokens_per_byte(const EncodedText& encoded, const TokenSequence& text) {
  size_t bytes = 0;
  text.in_parts([&](std::span<const int32_t> ids) { bytes += encoded.decode(ids).size(); });
  return bytes > 0 ? static_cast<double>(text.size()) / static_cast<double>(bytes) : 0;
}

}  // namespace

TrainJob text_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint) {
  const RunFile& file = *find_file(files, "text");
  const EncodedText encoded = encode_text(flags, file, checkpoint);
  TrainJob job = job_of_tokens(flags, checkpoint, encoded.tokens);
  check_trained_by("--data", job.model->task == Task::causal, *job.model);
  flags.context = causal_batch(*job.model, flags.batch, flags.context).positions;
  TextSplit text = split_text(encoded.ids, flags.validation_fraction);
  job.tokens_per_byte = tokens_per_byte(encoded, text.validation);
  auto windows = std::make_unique<TextWindows>(std::move(text), window_settings(flags));
  job.summary = fmt::format("{} tokens of text", windows->size());
  job.data = std::move(windows);
  return job;
}

}  // namespace vkformer
