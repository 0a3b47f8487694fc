// `train --data`: a text file becomes a language model.

#include "models/data/text_windows.h"
#include "models/text/vocabulary.h"
#include "runtime/check.h"
#include "tools/cli/tokenizer_files.h"
#include "tools/cli/train_job.h"

namespace vkformer {

namespace {

/// Text as ids, what a checkpoint needs to know of that, and the number of ids there are.
struct EncodedText {
  TokenSequence ids;
  int64_t text_bytes = 0;  ///< 0: unknown
  int64_t size = 0;
  nlohmann::json config;  ///< keys
  std::function<void(const std::filesystem::path&)> write;
};

/// One id a character or byte.
EncodedText encode_symbols(std::string_view text, const Vocabulary& vocabulary) {
  return {.ids = vocabulary.encode(text),
          .text_bytes = std::ssize(text),
          .size = vocabulary.size(),
          // No token begins, ends or pads such a text. Without the keys, readers would take the family's usual ids,
          // which are characters here or lie outside the vocabulary.
          .config = {{"bos_token_id", nullptr}, {"eos_token_id", nullptr}, {"pad_token_id", nullptr}},
          .write = [vocabulary](const std::filesystem::path& folder) { vocabulary.save(folder); }};
}

/// With the keys of a tokenizer that marks where texts end.
EncodedText encoded_by(const Tokenizer& tokenizer, const TokenizerFiles& files, TokenSequence ids, int64_t text_bytes) {
  EncodedText encoded{.ids = std::move(ids),
                      .text_bytes = text_bytes,
                      .size = tokenizer.size(),
                      .config = nlohmann::json::object(),
                      .write = [files](const auto& folder) { files.write(folder); }};
  if (const auto end = tokenizer.id_of("<|endoftext|>"))
    encoded.config = {{"bos_token_id", *end}, {"eos_token_id", *end}, {"pad_token_id", nullptr}};
  return encoded;
}

/// Of a token file, whose ids must be this tokenizer's.
EncodedText read_tokens(const RunFile& file, const TokenizerFiles& files) {
  TokenSequence ids(file.mapped, file.path);
  check(ids.tokenizer().empty() || ids.tokenizer() == files.print(), "{} has the ids of another tokenizer than {}",
        file.path, files.name());
  const Tokenizer tokenizer = files.tokenizer();
  const int64_t size = ids.largest_size(), bytes = ids.text_bytes();
  check(size <= tokenizer.size(), "{} has the id {}, {} only {} tokens; they don't belong together", file.path,
        size - 1, files.name(), tokenizer.size());
  return encoded_by(tokenizer, files, std::move(ids), bytes);
}

EncodedText encode_text(const TrainFlags& flags, const RunFile& file, const std::filesystem::path& checkpoint) {
  const std::string_view text = file.content;
  const std::filesystem::path folder = tokenizer_folder(flags, checkpoint);
  if (TokenSequence::is_name(file.path)) {
    if (folder.empty()) throw UsageError("a token file needs the --tokenizer FOLDER that made it");
    return read_tokens(file, TokenizerFiles::load(folder));
  }
  if (folder.empty()) return encode_symbols(text, flags.bytes ? Vocabulary::bytes() : Vocabulary::characters(text));
  const JsonObject tokenizer = JsonObject::load(folder / "tokenizer.json");
  if (Vocabulary::is_one(tokenizer)) return encode_symbols(text, Vocabulary::from(tokenizer));
  const TokenizerFiles files = TokenizerFiles::load(folder);
  const Tokenizer pieces = files.tokenizer();
  return encoded_by(pieces, files, encode_sections(pieces, text, file.path), std::ssize(text));
}

}  // namespace

TrainJob text_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint) {
  const RunFile& file = *find_file(files, "text");
  EncodedText encoded = encode_text(flags, file, checkpoint);
  const bool own = flags.from.empty() && checkpoint.empty();  // other configs say what theirs are
  TrainJob job;
  nlohmann::json changes = own ? encoded.config : nlohmann::json::object();
  if (own) changes["vocab_size"] = encoded.size;
  job.model = std::make_unique<Model>(model_of_job(flags, checkpoint, changes));
  job.write_text = encoded.write;
  if (own) job.ids = encoded.config;
  check_vocabulary(encoded.size, *job.model);
  flags.context = causal_batch(*job.model, flags.batch, flags.context).positions;
  if (encoded.text_bytes > 0)
    job.tokens_per_byte = static_cast<double>(encoded.ids.size()) / static_cast<double>(encoded.text_bytes);
  auto windows = std::make_unique<TextWindows>(std::move(encoded.ids),
                                               TextWindows::Settings{.validation_fraction = flags.validation_fraction,
                                                                     .context = flags.context,
                                                                     .rows = flags.batch,
                                                                     .accumulate = flags.settings.accumulate,
                                                                     .seed = flags.settings.seed});
  job.summary = fmt::format("{} tokens of text", windows->size());
  job.data = std::move(windows);
  return job;
}

}  // namespace vkformer
