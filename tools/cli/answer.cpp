// `vkformer answer`: for each question its answer in a text.

#include <nlohmann/json.hpp>

#include "models/classification/answerer.h"
#include "models/data/lines.h"
#include "runtime/check.h"
#include "runtime/files/mapped_file.h"
#include "tools/cli/commands.h"
#include "tools/cli/line_pieces.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/profile.h"
#include "tools/cli/progress.h"
#include "tools/cli/tokenizer_files.h"

namespace vkformer {

namespace {

struct Asked {
  std::string question, context;
};

struct AnswerPiece {
  std::vector<Asked> asked;
  AskedQuestions windows;
  const TokenTexts& texts() const { return windows.texts; }
  size_t count() const { return asked.size(); }
};

/// A text in UTF-8, as `name` has it.
std::string checked_text(std::string text, const std::string& name) {
  split_lines(text, name);
  return text;
}

/// What all questions are about; nothing where each line is an object with its own.
std::optional<std::string> common_context(const AnswerFlags& flags) {
  if (flags.context) return checked_text(*flags.context, "the text of -c");
  if (flags.context_file.empty()) return {};
  return checked_text(std::string(MappedFile(flags.context_file).text()), flags.context_file);
}

/// A line as a question; nothing for an empty one between objects.
std::optional<Asked> asked_in(const std::string& line, const std::optional<std::string>& context,
                              const std::string& place) {
  if (context) return Asked{line, *context};
  if (line.find_first_not_of(" \t") == std::string::npos) return {};
  const JsonObject object = JsonObject::parse(line, place);
  return Asked{require_string(object, "question"), require_string(object, "context")};
}

void print_answer(const Asked& asked, const FoundAnswer& answer, bool as_json) {
  print("{}\n",
        as_json ? answer_json(asked.question, asked.context, answer).dump() : answer_text(asked.context, answer));
}

}  // namespace

void answer(const AnswerFlags& flags) {
  if (flags.question && flags.context_file.empty() && !flags.context)
    throw UsageError("-p needs the text that answers it: --context FILE or -c TEXT");
  const auto folder = resolve_model_folder(flags.model);
  const auto adapter = open_adapter(flags.adapter, folder);
  const Model model = model_to_generate(folder, flags.dtype, adapter.get());
  check(model.task == Task::answer, "{} is a {} model that finds no answers; train one with --answers", flags.model,
        model.family);
  const Tokenizer tokenizer = TokenizerFiles::load(tokenizer_folder(folder, adapter.get())).tokenizer();
  const int64_t most = model.context > 0 ? model.context : usual_positions;
  QuestionEncoder encoder(tokenizer, {.positions = most, .stride = stride_of(flags.stride, most)});
  const std::optional<std::string> context = common_context(flags);
  std::optional<std::vector<std::string>> given;
  if (flags.question && *flags.question != "-") given = {checked_text(*flags.question, "the question")};
  const auto add = [&](AnswerPiece& piece, const std::string& line, const std::string& place) {
    const std::optional<Asked> asked = asked_in(line, context, place);
    if (!asked) return;
    piece.windows.add(encoder.encode(asked->question, asked->context, {}, place));
    piece.asked.push_back(*asked);
  };
  LinePieces<AnswerPiece> pieces(LineInput(std::move(given)), flags.batch_tokens, add);
  const Weights weights(model.parameters, folder);
  auto backend = open_backend(flags.common);
  Answerer answerer(*backend, model, load_store(*backend, model, weights, flags.common.quiet, adapter.get()),
                    backend->make_workspace());
  TextsProgress progress("windows", flags.common.quiet);
  pieces.answer_each(progress, "question", [&](const AnswerPiece& piece) {
    const auto answers = answerer.answer(piece.windows, pieces.inputs(model), flags.batch_tokens, [&](size_t count) {
      progress.add(count);
      interrupt_if_asked();
    });
    progress.clear();
    for (size_t i = 0; i < answers.size(); ++i) print_answer(piece.asked[i], answers[i], flags.common.json);
  });
  report_profile(*backend, flags.common, answerer.logits().programs());
  std::string note;
  if (encoder.split() > 0) note += fmt::format("; {} with texts in windows of {} tokens", encoder.split(), most);
  if (encoder.cut() > 0) note += fmt::format("; {} cut at half of {} tokens", encoder.cut(), most);
  progress.end(pieces.written(), "question", note);
}

}  // namespace vkformer
