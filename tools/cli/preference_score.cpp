#include "tools/cli/preference_score.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/score/preferences.h"
#include "models/training/log_likelihoods.h"
#include "tools/cli/end_signals.h"

namespace vkformer {

JobScores PreferenceScorer::score(Backend& backend, Trainer& trainer, bool whole_split) const {
  LogLikelihoods likelihoods(backend, trainer);
  const int64_t all = data_.validation_batches(), used = whole_split ? all : std::min(all, batches_);
  PreferenceData::Likelihoods now, before;
  for (int64_t i = 0; i < used; ++i) {
    interrupt_if_asked();
    const DataBatch batch = data_.validation_batch(i, used);
    const std::vector<int32_t>& targets = batch.values("targets");
    const std::vector<float> rows = likelihoods.of(batch);
    const std::vector<float>& reference = batch.numbers("reference");
    const auto of_row = [&](size_t row, float likelihood) {
      return preference_.per_token() ? batch.numbers("per_token")[row] * likelihood : likelihood;
    };
    for (size_t pair = 0; pair < targets.size(); ++pair) {
      if (targets[pair] == ignored_target) continue;
      const size_t chosen = 2 * pair, rejected = chosen + 1;
      now.push_back({of_row(chosen, rows[chosen]), of_row(rejected, rows[rejected])});
      before.emplace_back();
      if (preference_.compares())
        before.back() = {of_row(chosen, reference[chosen]), of_row(rejected, reference[rejected])};
    }
  }
  const PreferenceScores s = score_preferences(now, before, preference_.beta);
  return {.values = {{"accuracy", s.accuracy},
                     {"margin", s.margin},
                     {"chosen_reward", s.chosen},
                     {"rejected_reward", s.rejected}},
          .notes = {{"pairs", s.pairs}},
          .text = fmt::format(
              "  prefers the chosen text in {:.2f} % of {} pairs, margin {:.4f} (rewards {:.4f} and {:.4f})\n",
              100 * s.accuracy, s.pairs, s.margin, s.chosen, s.rejected)};
}

}  // namespace vkformer
