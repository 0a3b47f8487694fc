// `vkformer answer`: for each question its answer in a text.

#include <nlohmann/json.hpp>

#include "models/classification/answerer.h"
#include "models/data/lines.h"
#include "models/families/registry.h"
#include "runtime/check.h"
#include "runtime/files/mapped_file.h"
#include "tools/cli/commands.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/profile.h"
#include "tools/cli/progress.h"
#include "tools/cli/tokenizer_files.h"

namespace vkformer {

namespace {

struct Asked {
  std::string question, context, place;
};

/// A text in UTF-8, as `name` has it.
std::string checked_text(std::string text, const std::string& name) {
  split_lines(text, name);
  return text;
}

/// The questions of the command line, or of standard input: lines, or objects with their contexts.
std::vector<Asked> asked_questions(const AnswerFlags& flags) {
  const bool objects = flags.context_file.empty() && !flags.context;
  std::string context;
  if (!flags.context_file.empty())
    context = checked_text(std::string(MappedFile(flags.context_file).text()), flags.context_file);
  if (flags.context) context = checked_text(*flags.context, "the text of -c");
  const std::vector<std::string> lines = flags.question && *flags.question != "-"
                                             ? std::vector{checked_text(*flags.question, "the question")}
                                             : read_lines("-");
  std::vector<Asked> asked;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string place = fmt::format("line {}", i + 1);
    if (objects && lines[i].find_first_not_of(" \t") == std::string::npos) continue;
    if (objects) {
      const JsonObject object = JsonObject::parse(lines[i], place);
      asked.push_back({require_string(object, "question"), require_string(object, "context"), place});
    } else {
      asked.push_back({lines[i], context, place});
    }
  }
  return asked;
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
  Model model = load_model(folder);
  check(model.task == Task::answer, "{} is a {} model that finds no answers; train one with --answers", flags.model,
        model.family);
  const Tokenizer tokenizer = TokenizerFiles::load(folder).tokenizer();
  const int64_t most = model.context > 0 ? model.context : usual_positions;
  QuestionEncoder encoder(tokenizer, {.positions = most, .stride = stride_of(flags.stride, most)});
  const std::vector<Asked> asked = asked_questions(flags);
  AskedQuestions windows;
  for (const Asked& one : asked) windows.add(encoder.encode(one.question, one.context, {}, one.place));
  const TextInputs inputs = text_inputs(model, windows.texts.largest_segment());
  store_weights_as(model, folder, flags.dtype);
  const Weights weights(model.parameters, folder);
  auto backend = open_backend(flags.common);
  Answerer answerer(*backend, model, load_store(*backend, model, weights, flags.common.quiet),
                    backend->make_workspace());
  TextsProgress progress(std::ssize(windows.windows), "windows", flags.common.quiet);
  const auto answers = answerer.answer(windows, inputs, flags.batch_tokens, [&](size_t count) { progress.add(count); });
  progress.clear();
  for (size_t i = 0; i < asked.size(); ++i) print_answer(asked[i], answers[i], flags.common.json);
  report_profile(*backend, flags.common, answerer.logits().programs());
  std::string note;
  if (encoder.split() > 0) note += fmt::format("; {} with texts in windows of {} tokens", encoder.split(), most);
  if (encoder.cut() > 0) note += fmt::format("; {} cut at half of {} tokens", encoder.cut(), most);
  progress.end(asked.size(), "question", note);
}

}  // namespace vkformer
