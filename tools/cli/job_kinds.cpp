#include "tools/cli/job_kinds.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "models/classification/classifier.h"
#include "models/families/encoder_head.h"
#include "runtime/check.h"

namespace vkformer {

std::span<const JobKind> job_kinds() {
  static const std::array kinds{
      JobKind{.option = "--data",
              .type_name = "FILE",
              .help = "text file, or token file of encode --out, for a language model",
              .roles = {"text"},
              .options = {"--bytes", "--batch", "--validation-fraction"},
              .verb = "generate",
              .behind = "-p TEXT",
              .make = text_job},
      JobKind{.option = "--pairs",
              .type_name = "SOURCE TARGET",
              .help =
                  "two files: line i of the second is the translation of line i of the first; or one: .tsv (source, "
                  "tab, target) or .jsonl (source and target, or translation with two languages)",
              .roles = {"source", "target"},
              .one_role = "pairs",
              .options = {"--batch-tokens", "--skip-long", "--tokenizer-kind", "--vocabulary", "--apart",
                          "--target-tokenizer", "--source-lang", "--target-lang", "--score-lines"},
              .verb = "translate",
              .behind = "< LINES",
              .make = pairs_job},
      JobKind{.option = "--prompts",
              .type_name = "FILE",
              .help = "rows for fine-tuning, .jsonl: prompt and completion, which alone is learned; or messages, of "
                      "which the assistant's are; or text",
              .roles = {"prompts"},
              .options = {"--batch", "--batch-tokens"},
              .verb = "generate",
              .behind = "-p PROMPT",
              .make = prompts_job},
      JobKind{.option = "--preferences",
              .type_name = "FILE",
              .help = "pairs of texts, .jsonl: prompt, chosen and rejected, texts or messages; with --from: the model "
                      "learns to prefer what is chosen (DPO; default learning rate 1e-6, with --lora 1e-5)",
              .roles = {"preferences"},
              .options = {"--batch", "--batch-tokens", "--beta", "--preference-loss", "--preference-margin"},
              .verb = "generate",
              .behind = "-p PROMPT",
              .make = preferences_job},
      JobKind{.option = "--similar",
              .type_name = "FILE",
              .help =
                  "texts that are to be near each other, .jsonl: query (or anchor), positive and, in all rows or none, "
                  "negative, a text or a list; each text of a batch is compared with each query of it",
              .roles = {"similar"},
              .options = {"--batch", "--batch-tokens", "--pooling", "--similarity-scale"},
              .verb = "embed",
              .behind = "< LINES",
              .make = similar_job},
      JobKind{.option = "--labels",
              .type_name = "FILE",
              .help =
                  "rows to tell apart, .jsonl, .csv or .tsv: text (or sentence, or sentence1 and sentence2), label: a "
                  "class, a number, or in .jsonl a list of classes",
              .roles = {"labels"},
              .options = {"--batch", "--batch-tokens", "--label-kind"},
              .verb = "classify",
              .behind = "< LINES",
              .make = labels_job},
      JobKind{.option = "--masked",
              .type_name = "FILE",
              .help = "text file whose lines an encoder reads with masked words, which it learns to guess",
              .roles = {"masked"},
              .options = {"--batch", "--batch-tokens", "--mask-share", "--tokenizer-kind", "--vocabulary"},
              .verb = "fill",
              .behind = "-p \"a text with [MASK]\"",
              .make = masked_job},
      JobKind{.option = "--tags",
              .type_name = "FILE",
              .help = "words to tag: .conll, .txt or .tsv, a word and its tag a line, an empty line between texts; or "
                      ".jsonl with tokens and tags",
              .roles = {"tags"},
              .options = {"--batch", "--batch-tokens", "--score-lines"},
              .verb = "tag",
              .behind = "< LINES",
              .make = tags_job},
      JobKind{.option = "--answers",
              .type_name = "FILE",
              .help = "questions with their answers in a text, .jsonl: question, context, answers {text [..], "
                      "answer_start [..]}; or SQuAD's .json",
              .roles = {"answers"},
              .options = {"--batch", "--batch-tokens", "--stride", "--score-lines"},
              .verb = "answer",
              .behind = "--context FILE < QUESTIONS",
              .make = answers_job},
      JobKind{.option = "--permuted",
              .type_name = "FILE",
              .help = "text file, to pre-train XLNet: words are predicted in a random order",
              .roles = {"permuted"},
              .options = {"--batch", "--tokenizer-kind", "--vocabulary", "--validation-fraction"},
              .verb = "train --from",
              .behind = "--labels ROWS --out NEW",
              .make = permuted_job},
      JobKind{.option = "--speech",
              .type_name = "FILE",
              .help = "recordings and what is said in them, for Whisper: .tsv (audio file, tab, text) or .jsonl (audio "
                      "and text, with or without language)",
              .roles = {"speech"},
              .options = {"--batch-tokens", "--skip-long", "--vocabulary", "--source-lang", "--score-lines"},
              .verb = "transcribe",
              .behind = "FILE",
              .make = speech_job},
      JobKind{.option = "--pictures",
              .type_name = "FILE",
              .help = "pictures to tell apart, for a model that sees: .jsonl, .csv or .tsv with image (or file, "
                      "file_name, path) and label",
              .roles = {"pictures"},
              .options = {"--batch"},
              .verb = "classify",
              .behind = "FILES",
              .make = pictures_job},
      JobKind{.option = "--spans",
              .type_name = "FILE",
              .help = "text file, to pre-train T5 or another encoder-decoder: gaps are filled",
              .roles = {"spans"},
              .options = {"--batch", "--tokenizer-kind", "--vocabulary", "--validation-fraction"},
              .verb = "generate",
              .behind = "-p \"a text with <extra_id_0>\"",
              .make = spans_job},
  };
  return kinds;
}

std::vector<std::string> JobKind::roles_of(size_t count) const {
  if (count == roles.size()) return roles;
  return count == 1 && !one_role.empty() ? std::vector{one_role} : std::vector<std::string>();
}

const JobKind& kind_of_files(const std::vector<RunFile>& files) {
  const auto found = std::ranges::find_if(job_kinds(), [&](const JobKind& kind) {
    return find_file(files, kind.roles.front()) || find_file(files, kind.one_role);
  });
  check(found != job_kinds().end(), "the run's state.json names no files that this version trains on");
  return *found;
}

const JobKind* kind_of_flags(const TrainFlags& flags) {
  const JobKind* found = nullptr;
  for (const JobKind& kind : job_kinds()) {
    if (!flags.files.contains(kind.option)) continue;
    if (found != nullptr) throw UsageError(fmt::format("{} and {} exclude each other", found->option, kind.option));
    found = &kind;
  }
  return found;
}

void check_trained_by(const char* option, bool trains, const Model& model) {
  const bool encoder =
      std::ranges::any_of(encoder_classes, [&](const auto& known) { return known.first == model.family; });
  const char* others = model.frame_columns > 0                                   ? "--speech does"
                       : model.task == Task::vector || model.task == Task::match ? "nothing here trains its vectors"
                       : model.sees()                                            ? "--pictures does"
                       : model.has_encoder()                                     ? "--pairs and --spans do"
                       : !encoder && (classifies(model) || gives_numbers(model)) && model.family != "xlnet"
                           ? "as its architectures has it, --labels does"
                       : model.task == Task::causal ? "--data and --prompts do"
                       : model.family == "xlnet"    ? "--permuted and --labels do"
                                                    : "--masked, --labels, --tags and --answers do";
  check(trains, "{} does not train a model of type {}; {}", option, model.family, others);
}

std::vector<std::string> kinds_with(const std::string& option) {
  std::vector<std::string> having;
  for (const JobKind& kind : job_kinds())
    if (kind.options.contains(option)) having.emplace_back(kind.option);
  return having;
}

bool takes(const JobKind& kind, const std::string& option) {
  return kind.options.contains(option) || kinds_with(option).empty();
}

void check_options(const JobKind& kind, const std::set<std::string>& given) {
  for (const std::string& option : given) {
    if (!takes(kind, option))
      throw UsageError(
          fmt::format("{} is for {}, not for {}", option, fmt::join(kinds_with(option), ", "), kind.option));
  }
}

}  // namespace vkformer
