#include "tools/cli/evaluation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tools/cli/busy_watch.h"
#include "tools/cli/end_signals.h"
#include "tools/cli/progress.h"
#include "tools/cli/shared_training.h"

namespace vkformer {

Evaluation evaluate(const TrainJob& job, Backend& backend, Trainer& trainer, bool whole_split, int64_t batches,
                    bool quiet) {
  Evaluation evaluation;
  const int64_t all = job.data->validation_batches(), used = whole_split ? all : std::min(all, batches);
  if (used > 0) {
    Progress bar(used, quiet, 1);
    const MeanLoss loss = validate_with_all(trainer, *job.data, used, [&](int64_t done) {
      bar.show(done, "batches of validation");
      interrupt_if_asked();
    });
    bar.clear();
    evaluation.loss = loss.value();
    if (!std::isfinite(evaluation.loss)) return evaluation;
    evaluation.row["validation_loss"] = evaluation.loss;
    evaluation.brief = fmt::format("  validation loss {:.4f}{}", evaluation.loss, whole_split ? " (whole split)" : "");
    if (job.perplexity) {
      evaluation.row["perplexity"] = std::exp(evaluation.loss);
      evaluation.brief += fmt::format(", perplexity {:.2f}", std::exp(evaluation.loss));
    }
    if (job.tokens_per_byte > 0) {
      // Comparable whatever the tokens are.
      const double bits = evaluation.loss * job.tokens_per_byte / std::numbers::ln2;
      evaluation.row["bits_per_byte"] = bits;
      evaluation.brief += fmt::format(", {:.3f} bits a byte", bits);
    }
  }
  if (job.scorer) {
    const BusyWatch watch("scoring what the model makes of the validation files", quiet);
    const JobScores scores = score_with_all(*job.scorer, backend, trainer, whole_split);
    evaluation.row.update(scores.values);
    if (!scores.notes.is_null()) evaluation.row.update(scores.notes);
    evaluation.text = scores.text;
  }
  return evaluation;
}

}  // namespace vkformer
