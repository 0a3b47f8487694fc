#include "tools/cli/text_tokens.h"

#include "models/data/lines.h"
#include "models/text/text_sections.h"
#include "runtime/check.h"
#include "tools/cli/train_job.h"

namespace vkformer {

std::vector<int32_t> ids_of_text(const Tokenizer& tokenizer, const RunFile& file) {
  split_lines(file.content, file.path);  // says where it is not UTF-8
  std::vector<int32_t> all;
  for (const std::string& section : text_sections(file.content)) {
    const std::vector<int32_t> ids = tokenizer.encode(section, false).ids;
    all.insert(all.end(), ids.begin(), ids.end());
  }
  return all;
}

TextSplit split_of_files(const Tokenizer& tokenizer, const TrainFlags& flags, const std::vector<RunFile>& files,
                         const std::string& role) {
  std::vector<int32_t> ids = ids_of_text(tokenizer, *find_file(files, role));
  const RunFile* validation = find_file(files, "valid " + role);
  if (!validation) return split_text(std::move(ids), flags.validation_fraction);
  TextSplit text{.training = std::move(ids), .validation = ids_of_text(tokenizer, *validation)};
  check(!text.validation.empty(), "{} has no tokens; leave out --valid or give it a text", validation->path);
  return text;
}

std::string describe(const TextSplit& text) {
  return fmt::format("{} tokens of text to train on, {} for validation", text.training.size(), text.validation.size());
}

TokenizerFiles tokenizer_of_text(const TrainFlags& flags, const std::filesystem::path& checkpoint, const RunFile& file,
                                 TokenizerTraining::Layout layout) {
  const std::filesystem::path folder = tokenizer_folder(flags, checkpoint);
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
