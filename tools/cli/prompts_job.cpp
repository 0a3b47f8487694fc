// `train --prompts`: a language model learns completions of prompts, texts, or what an assistant says.

#include <algorithm>

#include "models/data/packed_texts.h"
#include "runtime/check.h"
#include "tools/cli/output.h"
#include "tools/cli/prompt_encoder.h"

namespace vkformer {

namespace {

std::vector<LearnedText> texts_of(const RunFile& file, const PromptEncoder& encoder, PromptCuts& cuts) {
  std::vector<LearnedText> texts;
  for (const PromptRow& row : read_prompt_rows(file.content, file.path).rows) {
    LearnedText text = encoder.encode(row, fmt::format("{}:{}", file.path, row.line), cuts);
    if (text.learns())
      texts.push_back(std::move(text));
    else
      ++cuts.left_out;
  }
  return texts;
}

int64_t all_learned(const std::vector<LearnedText>& texts) {
  int64_t count = 0;
  for (const LearnedText& text : texts) count += learned_tokens(text);
  return count;
}

int64_t all_positions(const std::vector<LearnedText>& texts) {
  int64_t count = 0;
  for (const LearnedText& text : texts) count += std::ssize(text.ids) - 1;
  return count;
}

}  // namespace

TrainJob prompts_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint) {
  const std::filesystem::path folder = prompt_folder(flags, checkpoint, "--prompts");
  const PromptText tokenizer(folder);
  TrainJob job = prompt_job(flags, checkpoint, folder, tokenizer, "--prompts");
  const PromptEncoder encoder(tokenizer, folder, *job.model, flags.context);
  PromptCuts cuts;
  std::vector<LearnedText> training = texts_of(*find_file(files, "prompts"), encoder, cuts), validation;
  if (const RunFile* validated = find_file(files, "valid prompts")) validation = texts_of(*validated, encoder, cuts);
  check(!training.empty(), "no row of the training file has anything to learn within {} tokens", flags.context);
  job.summary = fmt::format("{} of {:.1f} tokens, {} of them learned", counted(std::ssize(training), "text"),
                            static_cast<double>(all_positions(training)) / static_cast<double>(training.size()) + 1,
                            all_learned(training));
  if (!validation.empty()) job.summary += fmt::format(", {} for validation", counted(std::ssize(validation), "text"));
  job.summary += cuts.text(flags.context);
  if (!encoder.end()) job.summary += "\nthe config has no eos_token_id: only conversations learn where an answer ends";
  job.summary += fmt::format("\nthe first, what is learned in brackets:{}", shown(training.front(), tokenizer));
  const int64_t positions = std::min(flags.context, std::max(all_positions(training), all_positions(validation)));
  if ((!flags.resume || flags.given.contains("--batch-tokens")) && !flags.given.contains("--batch"))
    flags.batch = std::max<int64_t>(1, std::min(flags.batch_tokens, all_positions(training)) / positions);
  auto data = std::make_unique<PackedTexts>(
      std::move(training), std::move(validation),
      PackedTexts::Settings{.rows = flags.batch, .positions = positions, .seed = flags.settings.seed});
  job.summary += '\n' + data->describe();
  job.perplexity = true;
  job.data = std::move(data);
  return job;
}

}  // namespace vkformer
