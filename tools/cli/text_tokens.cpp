#include "tools/cli/text_tokens.h"

#include "models/data/lines.h"
#include "runtime/check.h"
#include "tools/cli/train_job.h"

namespace vkformer {

TokenSequence tokens_of_file(const TokenizerFiles& files, const Tokenizer& tokenizer, const RunFile& file) {
  if (!TokenSequence::is_name(file.path)) return encode_sections(tokenizer, file.content, file.path);
  TokenSequence ids(file.mapped, file.path);
  check(ids.tokenizer().empty() || ids.tokenizer() == files.print(), "{} has the ids of another tokenizer than {}",
        file.path, files.name());
  const int64_t size = ids.largest_size();
  check(size <= tokenizer.size(), "{} has the id {}, {} only {} tokens; they don't belong together", file.path,
        size - 1, files.name(), tokenizer.size());
  return ids;
}

void check_tokenizer(const std::filesystem::path& folder, const RunFile& file) {
  if (folder.empty() && TokenSequence::is_name(file.path))
    throw UsageError("a token file needs the --tokenizer FOLDER that made it");
}

TextSplit split_of_files(const std::function<TokenSequence(const RunFile&)>& tokens_of, const TrainFlags& flags,
                         const std::vector<RunFile>& files, const std::string& role) {
  const TokenSequence ids = tokens_of(*find_file(files, role));
  const RunFile* validation = find_file(files, "valid " + role);
  if (!validation) return split_text(ids, flags.validation_fraction);
  TextSplit text{.training = ids, .validation = tokens_of(*validation)};
  check(text.validation.size() > 0, "{} has no tokens; leave out --valid or give it a text", validation->path);
  return text;
}

TextSplit split_of_files(const TokenizerFiles& tokens, const Tokenizer& tokenizer, const TrainFlags& flags,
                         const std::vector<RunFile>& files, const std::string& role) {
  return split_of_files([&](const RunFile& file) { return tokens_of_file(tokens, tokenizer, file); }, flags, files,
                        role);
}

std::string describe(const TextSplit& text) {
  return fmt::format("{} tokens of text to train on, {} for validation", text.training.size(), text.validation.size());
}

TokenizerFiles tokenizer_of_text(const TrainFlags& flags, const std::filesystem::path& checkpoint, const RunFile& file,
                                 TokenizerTraining::Layout layout) {
  const std::filesystem::path folder = tokenizer_folder(flags, checkpoint);
  check_tokenizer(folder, file);
  return folder.empty() ? make_tokenizer(flags, layout, split_lines(file.content, file.path))
                        : TokenizerFiles::load(folder);
}

void set_window(TrainFlags& flags, const Model& model) {
  if (flags.context == 0 && model.context > usual_positions) flags.context = usual_positions;
  set_context(flags, model);
}

WindowData::Settings window_settings(const TrainFlags& flags) {
  return {.context = flags.context,
          .rows = flags.batch,
          .accumulate = flags.settings.accumulate,
          .seed = flags.settings.seed};
}

}  // namespace vkformer
