// `train --answers`: questions, texts and where these answer them become a model that finds answers.

#include <algorithm>

#include "models/classification/answerer.h"
#include "models/data/questions.h"
#include "tools/cli/answer_score.h"
#include "tools/cli/encoder_job.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

/// The windows of a file's questions, and where they answer them; the windows themselves go to `take`.
TextData::Split encode_questions(const Questions& questions, QuestionEncoder& encoder,
                                 const std::function<void(std::vector<AnswerWindow>)>& take) {
  TextData::Split split;
  for (const Question& question : questions.questions) {
    std::vector<AnswerWindow> windows =
        encoder.encode(question.question, question.context, question.answer, question.place);
    for (const AnswerWindow& window : windows) {
      split.texts.ids.push_back(window.ids);
      split.texts.segments.push_back(window.segments);
      split.targets.emplace_back(window.ends.begin(), window.ends.end());
    }
    take(std::move(windows));
  }
  return split;
}

}  // namespace

TrainJob answers_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint) {
  const auto questions_of = [](const RunFile& file) { return read_questions(file.content, file.path); };
  const Questions training = questions_of(*find_file(files, "answers"));
  const RunFile* validated = find_file(files, "valid answers");
  Questions validation = validated ? questions_of(*validated) : Questions();
  const EncoderText text = EncoderText::load(flags, checkpoint, "--answers");
  TrainJob job = encoder_job(flags, checkpoint, text,
                             {.architecture = "QuestionAnswering",
                              .classes = {"LABEL_0", "LABEL_1"},
                              .own = {"qa_outputs", "classifier"},
                              .shared = {"head."}});
  flags.stride = stride_of(flags.stride, flags.context);
  QuestionEncoder encoder(text.tokenizer, {.positions = flags.context, .stride = flags.stride});
  TextData::Split trained = encode_questions(training, encoder, [](std::vector<AnswerWindow>) {});
  std::vector<std::vector<AnswerWindow>> asked;
  TextData::Split valid = encode_questions(
      validation, encoder, [&](std::vector<AnswerWindow> windows) { asked.push_back(std::move(windows)); });

  const auto unanswered =
      std::ranges::count_if(training.questions, [](const Question& q) { return q.answers.empty(); });
  job.summary =
      fmt::format("{} ({} without an answer), {} of {:.1f} tokens", counted(std::ssize(training.questions), "question"),
                  unanswered, counted(std::ssize(trained.targets), "window"),
                  static_cast<double>(trained.texts.tokens()) / static_cast<double>(trained.targets.size()));
  if (validated)
    job.summary += fmt::format(", {} for validation", counted(std::ssize(validation.questions), "question"));
  if (encoder.split() > 0)
    job.summary += fmt::format("; {} in windows that share {} tokens (--stride)", encoder.split(), flags.stride);
  if (encoder.cut() > 0)
    job.summary += fmt::format("; {} cut at half a window (--context)", counted(encoder.cut(), "question"));
  auto data = encoder_data(flags, *job.model, std::move(trained), std::move(valid), 2);
  job.summary += '\n' + data->describe("windows");
  if (validated && flags.score_lines > 0)
    job.scorer =
        std::make_unique<AnswerScorer>(*job.model, std::move(validation), std::move(asked),
                                       AnswerScorer::Settings{.inputs = data->inputs(),
                                                              .positions = flags.batch_tokens,
                                                              .questions = static_cast<size_t>(flags.score_lines)});
  job.data = std::move(data);
  return job;
}

}  // namespace vkformer
