#include "models/training/log_likelihoods.h"

#include <cmath>

#include "runtime/check.h"

namespace vkformer {

Program& LogLikelihoods::program(const BatchShape& shape) {
  for (const auto& [known, program] : programs_)
    if (known == shape) return *program;
  const TrainingPlan& plan = trainer_.plan();
  Graph graph = build_log_likelihoods(*plan.model, shape, plan.settings.precision(backend_.facts()));
  programs_.emplace_back(shape, backend_.compile(std::move(graph), trainer_.shared_store(), {}, trainer_.workspace()));
  return *programs_.back().second;
}

std::vector<float> LogLikelihoods::of(const DataBatch& batch) {
  const TrainingBatch view = batch.view();
  check_feed(*trainer_.plan().model, batch.shape, view.feed);
  Program& chosen = program(batch.shape);
  Feed feed;
  for (const auto& input : view.feed)
    if (input.first == "ids" || input.first == "labels") feed.push_back(input);
  write_feed(chosen, feed);
  chosen.run();
  return chosen.read("log_likelihoods");
}

void measure_reference(PreferenceData& data, Backend& backend, Trainer& trainer,
                       const std::function<void(int64_t pairs)>& tell) {
  LogLikelihoods likelihoods(backend, trainer);
  int64_t done = 0;
  for (const auto split : {LengthData::Split::training, LengthData::Split::validation}) {
    PreferenceData::Likelihoods all(data.pairs(split).size());
    data.for_batches(split, [&](const DataBatch& batch, std::span<const uint32_t> pairs) {
      const std::vector<float> rows = likelihoods.of(batch);
      for (size_t i = 0; i < pairs.size(); ++i) {
        all[pairs[i]] = {rows[2 * i], rows[2 * i + 1]};
        check(
            std::isfinite(rows[2 * i]) && std::isfinite(rows[2 * i + 1]),
            "the log-likelihood of a text is no number before anything was learned: weights are damaged, or too large "
            "for this --precision");
      }
      tell(done += std::ssize(pairs));
    });
    data.set_reference(split, std::move(all));
  }
}

}  // namespace vkformer
