// `vkformer tag`: a tag for each word of each line.

#include <nlohmann/json.hpp>

#include "models/classification/tagger.h"
#include "models/data/lines.h"
#include "models/families/config_keys.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "tools/cli/commands.h"
#include "tools/cli/line_pieces.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/profile.h"
#include "tools/cli/progress.h"
#include "tools/cli/tokenizer_files.h"

namespace vkformer {

namespace {

struct TagPiece {
  std::vector<std::vector<std::string>> words;
  WordWindows windows;
  const TokenTexts& texts() const { return windows.texts; }
  size_t count() const { return words.size(); }
};

void print_tags(const std::vector<std::string>& words, const std::vector<WordTag>& tags,
                const std::vector<std::string>& names, bool as_json) {
  if (as_json) return print("{}\n", tags_json(words, tags, names).dump());
  for (size_t i = 0; i < words.size(); ++i) print("{}\t{}\n", words[i], printable(names[tags[i].tag]));
  print("\n");
}

}  // namespace

void tag(const TextsFlags& flags) {
  const auto folder = resolve_model_folder(flags.model);
  const auto adapter = open_adapter(flags.adapter, folder);
  const Model model = model_to_generate(folder, flags.dtype, adapter.get());
  check(model.task == Task::tag, "{} is a {} model that gives no tags of words; train one with --tags", flags.model,
        model.family);
  const std::vector<std::string> names = classes_of(JsonObject::make(*model.config, flags.model), 1);
  const Tokenizer tokenizer = TokenizerFiles::load(tokenizer_folder(folder, adapter.get())).tokenizer();
  const int64_t most = model.context > 0 ? model.context : usual_positions;
  std::optional<std::vector<std::string>> given;
  if (flags.text && *flags.text != "-") given = split_lines(*flags.text, "the text");
  const auto add = [&](TagPiece& piece, const std::string& line, const std::string& place) {
    piece.words.push_back(words_of_line(line));
    piece.windows.add(tokenizer, piece.words.back(), most, place);
  };
  LinePieces<TagPiece> pieces(LineInput(std::move(given)), flags.batch_tokens, add);
  const Weights weights(model.parameters, folder);
  auto backend = open_backend(flags.common);
  Tagger tagger(*backend, model, load_store(*backend, model, weights, flags.common.quiet, adapter.get()),
                backend->make_workspace());
  TextsProgress progress("texts", flags.common.quiet);
  int64_t split = 0;
  pieces.answer_each(progress, "line", [&](const TagPiece& piece) {
    const auto tags = tag_words(tagger, piece.windows, pieces.inputs(model), flags.batch_tokens, [&](size_t count) {
      progress.add(count);
      interrupt_if_asked();
    });
    progress.clear();
    for (size_t i = 0; i < tags.size(); ++i) print_tags(piece.words[i], tags[i], names, flags.common.json);
    split += piece.windows.split;
  });
  report_profile(*backend, flags.common, tagger.logits().programs());
  progress.end(pieces.written(), "line", split > 0 ? fmt::format("; {} in windows of {} tokens", split, most) : "");
}

}  // namespace vkformer
