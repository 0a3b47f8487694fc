// `train --masked`: lines of text become a model of masked words.

#include <algorithm>

#include "models/data/lines.h"
#include "models/data/masked.h"
#include "models/score/unigram_baseline.h"
#include "runtime/check.h"
#include "tools/cli/encoder_job.h"
#include "tools/cli/output.h"
#include "tools/cli/word_score.h"

namespace vkformer {

namespace {

Masking masking_of(const TrainFlags& flags, const Tokenizer& tokenizer, int32_t padding, int32_t mask) {
  return {.share = flags.mask_share,
          .mask = mask,
          .ordinary = ordinary_ids(tokenizer, {padding, mask}),
          .seed = flags.settings.seed};
}

/// Lines without a word to mask are left out.
TokenTexts encode_masked_lines(const std::vector<std::string>& lines, const std::string& name,
                               const Tokenizer& tokenizer, const Masking& masking, int64_t most) {
  TokenTexts texts;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find_first_not_of(" \t") == std::string::npos) continue;
    texts.add(tokenizer, lines[i], {}, most, fmt::format("{}:{}", name, i + 1));
    if (masking.applies_to(texts.ids.back())) continue;
    texts.ids.pop_back();
    texts.segments.pop_back();
  }
  check(!texts.ids.empty(), "{} has no line with a word to mask", name);
  return texts;
}

/// What a model learns first, and whether the text lets it learn more.
std::string unigram_text(const TokenTexts& texts, const Masking& masking) {
  std::vector<int64_t> counts(static_cast<size_t>(masking.ordinary.back()) + 1, 0);
  for (const auto& text : texts.ids)
    for (int32_t id : text)
      if (masking.is_ordinary(id)) ++counts[static_cast<size_t>(id)];
  const UnigramBaseline baseline = unigram_baseline(counts);
  return fmt::format(
      "\na loss that stays near {:.2f} (the entropy of single tokens, in nats) has learned word frequencies only; the "
      "most frequent token is {:.1f} %",
      baseline.entropy, 100 * baseline.accuracy);
}

std::string repeated_warning(const TokenTexts& texts) {
  const double percent = 100 * static_cast<double>(texts.repeated()) / static_cast<double>(texts.ids.size());
  if (percent <= 1) return "";
  return fmt::format("\nwarning: {:.1f} % of the lines repeat earlier ones and may be learned by heart; leave them out",
                     percent);
}

}  // namespace

TrainJob masked_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint) {
  const RunFile& file = *find_file(files, "masked");
  const RunFile* validated = find_file(files, "valid masked");
  const std::vector<std::string> lines = split_lines(file.content, file.path);
  const std::filesystem::path folder = tokenizer_folder(flags, checkpoint);
  const EncoderText text(folder.empty() ? make_tokenizer(flags, TokenizerTraining::Layout::bert, lines)
                                        : TokenizerFiles::load(folder));
  const Tokenizer& tokenizer = text.tokenizer;
  const Masking masking = masking_of(flags, tokenizer, text.padding, mask_id(tokenizer, text.files.name()));
  TrainJob job =
      encoder_job(flags, checkpoint, text,
                  {.architecture = "MaskedLM",
                   .classes = {},
                   .own = {},
                   .shared = {"cls.predictions", "lm_head", "vocab_", "generator_predictions", "head.", "decoder."},
                   .rows = flags.batch_tokens});  // no limit: each row has a position or more
  const Model& model = *job.model;
  job.perplexity = true;

  TokenTexts trained = encode_masked_lines(lines, file.path, tokenizer, masking, flags.context), valid;
  if (validated)
    valid = encode_masked_lines(split_lines(validated->content, validated->path), validated->path, tokenizer, masking,
                                flags.context);
  const auto count = std::ssize(trained.ids);
  job.summary = fmt::format("{} of {:.1f} tokens, {} of them repeat earlier ones", counted(count, "line"),
                            static_cast<double>(trained.tokens()) / static_cast<double>(count), trained.repeated());
  if (validated) job.summary += fmt::format(", {} for validation", counted(std::ssize(valid.ids), "line"));
  if (const int64_t empty = std::ssize(lines) - count; empty > 0)
    job.summary += fmt::format("; {} without words left out", empty);
  if (const int64_t cut = trained.cut + valid.cut; cut > 0)
    job.summary += fmt::format("; {} cut at {} tokens (--context)", cut, flags.context);
  job.summary += repeated_warning(trained) + unigram_text(trained, masking);
  const TextInputs inputs = text_inputs(model, std::max(trained.largest_segment(), valid.largest_segment()));
  auto data = std::make_unique<MaskedData>(
      std::move(trained), std::move(valid),
      MaskedData::Settings{
          .batches = {.positions = flags.batch_tokens, .most_rows = flags.batch, .seed = flags.settings.seed},
          .inputs = inputs,
          .masking = masking});
  job.summary += '\n' + data->describe("lines");
  if (validated) job.scorer = std::make_unique<WordScorer>(model, *data, flags.evaluation_batches);
  job.data = std::move(data);
  return job;
}

}  // namespace vkformer
