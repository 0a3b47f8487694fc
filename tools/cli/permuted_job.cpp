// `train --permuted`: a text file becomes a model of words in any order.

#include "models/data/permuted.h"
#include "runtime/check.h"
#include "tools/cli/text_tokens.h"
#include "tools/cli/train_job.h"
#include "tools/cli/word_score.h"

namespace vkformer {

namespace {

/// Keys of a new model's config; a token that the tokenizer has not is none.
nlohmann::json ids_of_ends(const Tokenizer& tokenizer) {
  nlohmann::json keys;
  for (const auto& [key, token] :
       {std::pair("bos_token_id", "<s>"), {"eos_token_id", "</s>"}, {"pad_token_id", "<pad>"}}) {
    const auto id = tokenizer.id_of(token);
    keys[key] = id ? nlohmann::json(*id) : nlohmann::json();
  }
  return keys;
}

}  // namespace

TrainJob permuted_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint) {
  const TokenizerFiles tokens =
      tokenizer_of_text(flags, checkpoint, *find_file(files, "permuted"), TokenizerTraining::Layout::xlnet);
  const Tokenizer tokenizer = tokens.tokenizer();
  TrainJob job = job_of_tokens(flags, checkpoint,
                               {.count = tokenizer.size(), .ids = ids_of_ends(tokenizer), .write = tokens.writer()});
  const Model& model = *job.model;
  check(model.query_stream, "--permuted trains XLNet's language model, not this {} model", model.family);
  set_window(flags, model);
  TextSplit text = split_of_files(tokens, tokenizer, flags, files, "permuted");
  job.summary = fmt::format("{}; of {} at most {} are predicted", describe(text), flags.context,
                            PermutedText::most_predictions(flags.context));
  job.data = std::make_unique<PermutedText>(std::move(text), window_settings(flags));
  if (job.data->validation_batches() > 0)
    job.scorer = std::make_unique<WordScorer>(model, *job.data, flags.evaluation_batches);
  return job;
}

}  // namespace vkformer
