// `train --pairs`: two files of lines become a translator.

#include "models/data/pairs.h"
#include "models/model_files.h"
#include "models/text/tokenizer.h"
#include "runtime/check.h"
#include "tools/cli/job_kinds.h"
#include "tools/cli/output.h"
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
  return fmt::format("{} of {:.1f} and {:.1f} tokens", counted(std::ssize(pairs.sources), "pair"),
                     static_cast<double>(sources) / count, static_cast<double>(targets) / count);
}

/// Of both sides, which share the source's where there is no other.
struct PairTokenizers {
  TokenizerFiles source;
  std::optional<TokenizerFiles> target;

  const TokenizerFiles& of_target() const { return target ? *target : source; }
};

PairTokenizers make_tokenizers(const TrainFlags& flags, const TextPairs& pairs) {
  constexpr auto layout = TokenizerTraining::Layout::translation;
  if (flags.apart) return {make_tokenizer(flags, layout, pairs.sources), make_tokenizer(flags, layout, pairs.targets)};
  std::vector<std::string> lines = pairs.sources;
  lines.insert(lines.end(), pairs.targets.begin(), pairs.targets.end());
  return {make_tokenizer(flags, layout, lines), std::nullopt};
}

/// A tokenizer of many languages is one of the source's and one of the target's. A run has both.
PairTokenizers in_languages(PairTokenizers files, const TrainFlags& flags) {
  const std::string &source = flags.source_language, &target = flags.target_language;
  const Languages languages = files.of_target().languages();
  const bool named = !source.empty() || !target.empty();
  const bool own = files.target && flags.target_tokenizer.empty();
  if (!named && (own || !languages.of_texts())) return files;
  if (named && !flags.target_tokenizer.empty())
    throw UsageError("--target-tokenizer goes without --source-lang and --target-lang, which are of one tokenizer");
  if (!languages.empty() && (source.empty() || target.empty()))
    throw UsageError(
        fmt::format("{} has many languages; name both sides' by --source-lang and --target-lang", files.source.name()));
  const std::string family = require_string(first_config(flags), "model_type");
  check(languages.place() != Languages::Place::behind || languages.start_decoders_of(family),
        "{}: it puts languages behind texts (legacy_behaviour), so a {} model would not learn to begin with them; set "
        "that to false in tokenizer_config.json",
        files.source.name(), family);
  return {files.source.of_languages(source, target), files.source.of_languages(target, source)};
}

PairTokenizers tokenizers_of(const TrainFlags& flags, const std::filesystem::path& checkpoint, const TextPairs& pairs) {
  const std::filesystem::path folder = tokenizer_folder(flags, checkpoint);
  if (folder.empty() && !flags.target_tokenizer.empty())
    throw UsageError("--target-tokenizer needs the source's --tokenizer FOLDER");
  if (folder.empty() && !(flags.source_language + flags.target_language).empty())
    throw UsageError("--source-lang and --target-lang need a tokenizer that has them; name its folder by --tokenizer");
  if (folder.empty()) return make_tokenizers(flags, pairs);
  if (flags.apart) throw UsageError("--apart is for vocabularies that are made; name the other by --target-tokenizer");
  PairTokenizers files{TokenizerFiles::load(folder), TokenizerFiles::load_target(folder)};
  if (!flags.target_tokenizer.empty())
    files.target = TokenizerFiles::load(resolve_tokenizer_folder(flags.target_tokenizer));
  return checkpoint.empty() ? in_languages(std::move(files), flags) : files;
}

/// The ids that both sides are filled up and ended with. Throws Error when these differ.
SpecialIds common_ids(const PairTokenizers& files, const Tokenizer& source, const Tokenizer& target) {
  const SpecialIds ids = special_ids(target, files.of_target().name()),
                   others = special_ids(source, files.source.name());
  check(ids.padding == others.padding && ids.end == others.end,
        "{} and {} have other ids for padding or the end of a text; both sides need the same", files.source.name(),
        files.of_target().name());
  return ids;
}

/// Whether the tokenizers only cut texts in other ways, as Marian's do, and their ids stand for the same tokens.
bool share_tokens(const Tokenizer& source, const Tokenizer& target) {
  if (source.size() != target.size()) return false;
  for (int64_t id = 0; id < source.size(); ++id)
    if (source.token_of(static_cast<int32_t>(id)) != target.token_of(static_cast<int32_t>(id))) return false;
  return true;
}

/// Whether the encoder has a vocabulary of its own. Two that were asked for may be equal by chance.
bool are_apart(const TrainFlags& flags, const std::filesystem::path& checkpoint, const Tokenizer& source,
               const Tokenizer& target) {
  const JsonObject config = config_of_job(flags, checkpoint);
  return flags.apart || !flags.target_tokenizer.empty() ||
         !boolean_or(config, "share_encoder_decoder_embeddings", true) || !share_tokens(source, target);
}

/// Has decoders begin a text as one of the language that it is trained to write: in `ids` and in what the checkpoints
/// say. Returns the token that is forced on them.
std::optional<int32_t> begin_with_language(TrainJob& job, SpecialIds& ids, const Languages& languages) {
  if (!languages.of_texts()) return std::nullopt;
  const auto language = static_cast<int32_t>(languages.own().id);
  const bool forced = languages.place() == Languages::Place::before;
  if (!forced) ids.decoder_start = language;
  const nlohmann::json keys = {{"decoder_start_token_id", ids.decoder_start},
                               {"forced_bos_token_id", forced ? nlohmann::json(language) : nlohmann::json()}};
  job.ids.update(keys);
  if (!job.generation.empty()) {
    nlohmann::json generation = JsonObject::parse(job.generation, generation_file).value();
    generation.update(keys);
    job.generation = generation.dump(2) + '\n';
  }
  return forced ? std::optional(language) : std::nullopt;
}

}  // namespace

TrainJob pairs_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint) {
  TextPairs training = TextPairs::of(files, ""), validation = TextPairs::of(files, "valid ");
  const bool validated = validation.size() > 0;

  const PairTokenizers text = tokenizers_of(flags, checkpoint, training);
  const Languages read = text.source.languages(), written = text.of_target().languages();
  if (read.of_texts())
    for (TextPairs* pairs : {&training, &validation}) pairs->order_by(read.own().text);
  Tokenizer source = text.source.tokenizer(), target = text.of_target().tokenizer();
  SpecialIds ids = common_ids(text, source, target);
  TrainJob job =
      job_of_tokens(flags, checkpoint,
                    {.count = target.size(),
                     .source_count = text.target && are_apart(flags, checkpoint, source, target) ? source.size() : 0,
                     .ids = keys_of(ids),
                     .write = [text](const std::filesystem::path& folder) {
                       text.source.write(folder);
                       if (text.target) text.target->write_target(folder);
                     }});
  const Model& model = *job.model;
  ids = ids_in(*model.config, ids);
  check_trained_by("--pairs", model.has_encoder() && model.frame_columns == 0, model);
  const auto first = begin_with_language(job, ids, written);
  set_context(flags, model);
  job.perplexity = true;
  const PairEncoder encoder{source, target, ids.end, flags.context, flags.skip_long};
  const size_t given = training.size() + validation.size();
  TokenPairs trained = encoder.encode(training), valid = encoder.encode(validation);
  const size_t skipped = given - training.size() - validation.size();
  job.summary = count_text(trained) + (validated ? fmt::format(", {} for validation", valid.sources.size()) : "");
  if (read.of_texts() && written.of_texts())
    job.summary += fmt::format(", from {} to {}", read.own().text, written.own().text);
  if (skipped > 0) job.summary += fmt::format("; {} left out as empty or too long", skipped);
  auto data = std::make_unique<PairData>(
      std::move(trained), std::move(valid),
      PairData::Settings{.batches = {.positions = flags.batch_tokens, .seed = flags.settings.seed},
                         .padding = ids.padding,
                         .decoder_start = ids.decoder_start});
  job.summary += '\n' + data->describe("pairs");
  job.data = std::move(data);
  if (validated && flags.score_lines > 0)
    job.scorer = std::make_unique<PairScorer>(model, std::move(source), std::move(target), std::move(validation),
                                              PairScorer::Ids{ids.decoder_start, first, ids.end},
                                              static_cast<size_t>(flags.score_lines));
  return job;
}

}  // namespace vkformer
