// `train --pairs`: two files of lines become a translator.

#include "models/data/pairs.h"
#include "models/text/tokenizer.h"
#include "runtime/check.h"
#include "tools/cli/pair_score.h"
#include "tools/cli/pair_text.h"
#include "tools/cli/tokenizer_files.h"
#include "tools/cli/train_job.h"

namespace vkformer {

namespace {

std::string count_text(const TokenPairs& pairs) {
  int64_t sources = 0, targets = 0;
  for (const auto& ids : pairs.sources) sources += std::ssize(ids);
  for (const auto& ids : pairs.targets) targets += std::ssize(ids);
  const auto count = static_cast<double>(std::max<size_t>(pairs.sources.size(), 1));
  return fmt::format("{} pairs of {:.1f} and {:.1f} tokens", pairs.sources.size(), static_cast<double>(sources) / count,
                     static_cast<double>(targets) / count);
}

/// Of both sides' lines.
TokenizerFiles make_joint_tokenizer(const TrainFlags& flags, const TextPairs& pairs) {
  std::vector<std::string> lines = pairs.sources;
  lines.insert(lines.end(), pairs.targets.begin(), pairs.targets.end());
  return make_tokenizer(flags, TokenizerTraining::Layout::translation, lines);
}

}  // namespace

TrainJob pairs_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint) {
  TextPairs training(*find_file(files, "source"), *find_file(files, "target"));
  const RunFile* validated = find_file(files, "valid source");
  TextPairs validation = validated ? TextPairs(*validated, *find_file(files, "valid target")) : TextPairs();

  const std::filesystem::path folder = tokenizer_folder(flags, checkpoint);
  const TokenizerFiles text = folder.empty() ? make_joint_tokenizer(flags, training) : TokenizerFiles::load(folder);
  Tokenizer tokenizer = text.tokenizer();
  SpecialIds ids = special_ids(tokenizer, text.name());
  TrainJob job;
  nlohmann::json changes = nlohmann::json::object();
  if (flags.from.empty() && checkpoint.empty()) {
    job.ids = changes = keys_of(ids);
    changes.update({{"vocab_size", tokenizer.size()}, {"decoder_vocab_size", tokenizer.size()}});
  }
  job.model = std::make_unique<Model>(model_of_job(flags, checkpoint, changes));
  job.write_text = [text](const std::filesystem::path& out) { text.write(out); };
  const Model& model = *job.model;
  ids = ids_in(*model.config, ids);
  check(model.has_encoder(), "--pairs trains an encoder-decoder, {} is none", model.family);
  check_vocabulary(tokenizer.size(), model);
  set_context(flags, model);
  const PairEncoder encoder{tokenizer, ids.end, flags.context, flags.skip_long};
  const size_t given = training.size() + validation.size();
  TokenPairs trained = encoder.encode(training), valid = encoder.encode(validation);
  const size_t skipped = given - training.size() - validation.size();
  job.summary = count_text(trained) + (validated ? fmt::format(", {} for validation", valid.sources.size()) : "");
  if (skipped > 0) job.summary += fmt::format("; {} left out as empty or too long", skipped);
  auto data = std::make_unique<PairData>(
      std::move(trained), std::move(valid),
      PairData::Settings{.batches = {.positions = flags.batch_tokens, .seed = flags.settings.seed},
                         .padding = ids.padding,
                         .decoder_start = ids.decoder_start});
  job.summary += '\n' + data->describe("pairs");
  job.data = std::move(data);
  if (validated && flags.score_lines > 0)
    job.scorer = std::make_unique<PairScorer>(model, std::move(tokenizer), std::move(validation), ids.decoder_start,
                                              ids.end, static_cast<size_t>(flags.score_lines));
  return job;
}

}  // namespace vkformer
