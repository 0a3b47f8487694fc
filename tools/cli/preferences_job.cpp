// `train --preferences`: a language model learns which of two texts is preferred (direct preference optimisation).

#include <algorithm>

#include "models/data/preference_rows.h"
#include "models/training/log_likelihoods.h"
#include "runtime/check.h"
#include "runtime/files/safetensors.h"
#include "tools/cli/output.h"
#include "tools/cli/preference_score.h"
#include "tools/cli/progress.h"
#include "tools/cli/prompt_encoder.h"

namespace vkformer {

namespace {

using Split = LengthData::Split;

constexpr const char* reference_file = "reference.safetensors";
constexpr std::array splits{std::pair{Split::training, "training"}, std::pair{Split::validation, "validation"}};

/// What both texts begin with is not learned: its gradients would cancel out.
void leave_out_common(TextPair& pair) {
  const auto common = std::ranges::mismatch(pair[0].ids, pair[1].ids).in1 - pair[0].ids.begin();
  for (LearnedText& text : pair) std::fill_n(text.learned.begin(), common, uint8_t{0});
}

std::vector<TextPair> pairs_of(const RunFile& file, const PromptEncoder& encoder, PromptCuts& cuts) {
  std::vector<TextPair> pairs;
  for (const PreferenceRow& row : read_preference_rows(file.content, file.path).rows) {
    const std::string place = fmt::format("{}:{}", file.path, row.chosen.line);
    TextPair pair{encoder.encode(row.chosen, place, cuts), encoder.encode(row.rejected, place, cuts)};
    leave_out_common(pair);
    if (pair[0].learns() && pair[1].learns())
      pairs.push_back(std::move(pair));
    else
      ++cuts.left_out;
  }
  return pairs;
}

std::string describe(const std::vector<TextPair>& pairs) {
  double tokens = 0;
  int64_t learned = 0;
  for (const TextPair& pair : pairs)
    for (const LearnedText& text : pair) {
      tokens += static_cast<double>(text.ids.size());
      learned += learned_tokens(text);
    }
  return fmt::format("{} of texts of {:.1f} tokens, {} of them learned", counted(std::ssize(pairs), "pair"),
                     tokens / static_cast<double>(2 * pairs.size()), learned);
}

std::string print_of(const PreferenceData& data) { return fmt::format("{:016x}", data.fingerprint()); }

void write_reference(const PreferenceData& data, const std::filesystem::path& folder) {
  std::vector<TensorSource> tensors;
  for (const auto& [split, name] : splits) {
    const PreferenceData::Likelihoods& all = data.reference(split);
    const auto values = all.empty() ? std::span<const float>() : std::span(all.front().data(), 2 * all.size());
    tensors.push_back(TensorSource::of(name, {std::ssize(all), 2}, values));
  }
  write_safetensors(folder / reference_file, std::move(tensors), {{"texts", print_of(data)}});
}

void read_reference(PreferenceData& data, const std::filesystem::path& folder) {
  const SafetensorsFile file(folder / reference_file);
  const auto texts = file.metadata().find("texts");
  check(texts != file.metadata().end() && texts->second == print_of(data),
        "{} was made of other texts, as another --context cuts them; begin a new run for these", file.name());
  for (const auto& [split, name] : splits) {
    std::vector<float> values(2 * data.pairs(split).size());
    file.read_floats(file.require(name), values);
    PreferenceData::Likelihoods all(data.pairs(split).size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = {values[2 * i], values[2 * i + 1]};
    data.set_reference(split, std::move(all));
  }
}

Preference preference_of(TrainFlags& flags) {
  using Loss = Preference::Loss;
  const Loss loss = flags.preference_loss == "simpo" ? Loss::simpo
                    : flags.preference_loss == "ipo" ? Loss::ipo
                                                     : Loss::dpo;
  constexpr double usual_simpo_beta = 2;  // the paper's, of likelihoods a token
  if (loss == Loss::simpo && !flags.resume && !flags.given.contains("--beta")) flags.beta = usual_simpo_beta;
  if (loss != Loss::simpo && flags.given.contains("--preference-margin"))
    throw UsageError("--preference-margin is for --preference-loss simpo");
  if (flags.label_smoothing > 0.5)
    throw UsageError("--label-smoothing of preferences is the chance that a label is wrong: 0.5 at most");
  if (loss == Loss::ipo && flags.label_smoothing > 0)
    throw UsageError("--label-smoothing is no part of --preference-loss ipo; leave it out");
  return {.loss = loss, .beta = flags.beta, .margin = flags.preference_margin};
}

}  // namespace

TrainJob preferences_job(TrainFlags& flags, const std::vector<RunFile>& files,
                         const std::filesystem::path& checkpoint) {
  if (flags.from.empty() && checkpoint.empty())
    throw UsageError(
        "--preferences needs --from FOLDER: a model that writes such texts already learns which are better");
  const std::filesystem::path folder = prompt_folder(flags, checkpoint, "--preferences");
  const PromptText tokenizer(folder);
  // The model is compared with itself as it was, so chance has no place in either, unless it is asked for.
  if (flags.dropout < 0) flags.dropout = 0;
  TrainJob job = prompt_job(flags, checkpoint, folder, tokenizer, "--preferences");
  const Preference preference = preference_of(flags);
  job.model->preference = preference;
  // Of two classes half of what is smoothed goes to the other one (conservative DPO has it all there).
  job.model->label_smoothing = std::max(0.0, 2 * flags.label_smoothing);
  const PromptEncoder encoder(tokenizer, folder, *job.model, flags.context);
  PromptCuts cuts;
  std::vector<TextPair> training = pairs_of(*find_file(files, "preferences"), encoder, cuts), validation;
  if (const RunFile* validated = find_file(files, "valid preferences"))
    validation = pairs_of(*validated, encoder, cuts);
  check(!training.empty(), "no pair of the training file has anything to learn within {} tokens", flags.context);
  job.summary = describe(training);
  const bool validates = !validation.empty();
  if (validates) job.summary += fmt::format(", {} for validation", counted(std::ssize(validation), "pair"));
  job.summary += cuts.text(flags.context);
  for (const auto& [side, what] : {std::pair{0u, "chosen"}, {1u, "rejected"}})
    job.summary +=
        fmt::format("\nthe first {}, what is learned in brackets:{}", what, shown(training[0][side], tokenizer));
  constexpr int64_t usual_pairs = 8;  // TRL's
  if (!flags.resume && !flags.given.contains("--batch")) flags.batch = usual_pairs;
  auto data = std::make_unique<PreferenceData>(std::move(training), std::move(validation),
                                               PreferenceData::Settings{.positions = flags.batch_tokens,
                                                                        .pairs = flags.batch,
                                                                        .seed = flags.settings.seed,
                                                                        .preference = preference});
  job.summary += '\n' + data->describe("pairs");
  if (validates) job.scorer = std::make_unique<PreferenceScorer>(*data, preference, flags.evaluation_batches);
  job.data = std::move(data);
  if (!preference.compares()) return job;
  const auto own = static_cast<PreferenceData*>(job.data.get());
  job.begin = [own, quiet = flags.common.quiet](Backend& backend, Trainer& trainer) {
    Progress progress(std::ssize(own->pairs(Split::training)) + std::ssize(own->pairs(Split::validation)), quiet);
    measure_reference(*own, backend, trainer,
                      [&](int64_t pairs) { progress.show(pairs, "pairs, as the model is before it learns"); });
  };
  job.write_state = [own](const std::filesystem::path& out) { write_reference(*own, out); };
  job.read_state = [own](const std::filesystem::path& from) { read_reference(*own, from); };
  return job;
}

}  // namespace vkformer
