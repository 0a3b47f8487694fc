// `vkformer tag`: a tag for each word of each line.

#include <nlohmann/json.hpp>

#include "models/classification/tagger.h"
#include "models/data/lines.h"
#include "models/families/config_keys.h"
#include "models/families/registry.h"
#include "models/model_files.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "tools/cli/commands.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/profile.h"
#include "tools/cli/progress.h"
#include "tools/cli/tokenizer_files.h"

namespace vkformer {

namespace {

void print_tags(const std::vector<std::string>& words, const std::vector<WordTag>& tags,
                const std::vector<std::string>& names, bool as_json) {
  if (as_json) return print("{}\n", tags_json(words, tags, names).dump());
  for (size_t i = 0; i < words.size(); ++i) print("{}\t{}\n", words[i], printable(names[tags[i].tag]));
  print("\n");
}

}  // namespace

void tag(const TextsFlags& flags) {
  const auto folder = resolve_model_folder(flags.model);
  Model model = load_model(folder);
  check(model.task == Task::tag, "{} is a {} model that gives no tags of words; train one with --tags", flags.model,
        model.family);
  const std::vector<std::string> names = classes_of(load_model_json(folder, "config.json"), 1);
  const Tokenizer tokenizer = TokenizerFiles::load(folder).tokenizer();
  const std::vector<std::string> lines =
      flags.text && *flags.text != "-" ? split_lines(*flags.text, "the text") : read_lines("-");
  const int64_t most = model.context > 0 ? model.context : usual_positions;
  std::vector<std::vector<std::string>> words;
  WordWindows windows;
  for (size_t i = 0; i < lines.size(); ++i) {
    words.push_back(words_of_line(lines[i]));
    windows.add(tokenizer, words.back(), most, fmt::format("line {}", i + 1));
  }
  const TextInputs inputs = text_inputs(model, windows.texts.largest_segment());
  store_weights_as(model, folder, flags.dtype);
  const Weights weights(model.parameters, folder);
  auto backend = open_backend(flags.common);
  Tagger tagger(*backend, model, load_store(*backend, model, weights, flags.common.quiet), backend->make_workspace());
  TextsProgress progress(std::ssize(windows.windows), "texts", flags.common.quiet);
  const auto tags = tag_words(tagger, windows, inputs, flags.batch_tokens, [&](size_t count) { progress.add(count); });
  progress.clear();
  for (size_t i = 0; i < lines.size(); ++i) print_tags(words[i], tags[i], names, flags.common.json);
  report_profile(*backend, flags.common, tagger.logits().programs());
  progress.end(lines.size(), "line",
               windows.split > 0 ? fmt::format("; {} in windows of {} tokens", windows.split, most) : "");
}

}  // namespace vkformer
