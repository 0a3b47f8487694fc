// `train --spans`: a text file becomes an encoder-decoder that fills gaps.

#include "models/data/spans.h"
#include "models/text/sentinels.h"
#include "runtime/check.h"
#include "tools/cli/job_kinds.h"
#include "tools/cli/text_tokens.h"
#include "tools/cli/train_job.h"

namespace vkformer {

TrainJob spans_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint) {
  const TokenizerFiles tokens =
      tokenizer_of_text(flags, checkpoint, *find_file(files, "spans"), TokenizerTraining::Layout::t5);
  const Tokenizer tokenizer = tokens.tokenizer();
  SpecialIds ids = special_ids(tokenizer, tokens.name());
  std::vector<int32_t> sentinels = sentinel_ids(tokenizer);
  check(!sentinels.empty(),
        "{} has no sentinels; --spans needs a tokenizer with <extra_id_0>, <extra_id_1> .., as T5's", tokens.name());
  TrainJob job =
      job_of_tokens(flags, checkpoint, {.count = tokenizer.size(), .ids = keys_of(ids), .write = tokens.writer()});
  const Model& model = *job.model;
  check_trained_by("--spans", model.has_encoder() && model.frame_columns == 0, model);
  ids = ids_in(*model.config, ids);
  set_window(flags, model);
  TextSplit text = split_of_files(tokens, tokenizer, flags, files, "spans");
  const SpanLengths lengths = SpanLengths::of_source(flags.context);
  job.summary = fmt::format("{}; of {} at a time {} are hidden, in {} gaps", describe(text), lengths.tokens,
                            lengths.noise, lengths.spans);
  job.data = std::make_unique<SpanText>(std::move(text), SpanTokens{std::move(sentinels), ids.end, ids.decoder_start},
                                        window_settings(flags));
  return job;
}

}  // namespace vkformer
