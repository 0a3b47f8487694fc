#include "tools/cli/shared_training.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace vkformer {

namespace {

// What process 0 says.
constexpr const char *to_step = "step", *to_validate = "validate", *to_score = "score", *to_end = "end";

void tell(ProcessGroup& group, const char* what, int64_t number = 0) {
  group.tell(nlohmann::json{what, number}.dump());
}

MeanLoss validation_loss(Trainer& trainer, const TrainingData& data, int64_t batches,
                         const std::function<void(int64_t)>& show) {
  ProcessGroup& group = trainer.group();
  std::vector<double> sums(static_cast<size_t>(batches)), targets(sums);  // of other processes: 0
  group.together([&] {
    for (int64_t i = group.rank(); i < batches; i += group.size()) {
      const MeanLoss loss = trainer.evaluate(data.validation_batch(i, batches).view());
      sums[static_cast<size_t>(i)] = loss.sum;
      targets[static_cast<size_t>(i)] = static_cast<double>(loss.targets);
      show(std::min(i + group.size(), batches));
    }
  });
  group.add(sums);
  group.add(targets);
  MeanLoss loss;
  for (size_t i = 0; i < sums.size(); ++i) loss.add({sums[i], static_cast<int64_t>(targets[i])});
  return loss;
}

}  // namespace

double step_of_all(Trainer& trainer, int64_t iteration, const Trainer::BatchSource& batches) {
  tell(trainer.group(), to_step, iteration);
  return trainer.step(iteration, batches);
}

MeanLoss validate_with_all(Trainer& trainer, const TrainingData& data, int64_t batches,
                           const std::function<void(int64_t)>& show) {
  tell(trainer.group(), to_validate, batches);
  return validation_loss(trainer, data, batches, show);
}

JobScores score_with_all(const JobScorer& scorer, Backend& backend, Trainer& trainer, bool whole_split) {
  if (scorer.is_shared()) tell(trainer.group(), to_score, whole_split);
  return scorer.score(backend, trainer, whole_split);
}

Lead::~Lead() { tell(group_, to_end); }

void follow(const TrainJob& job, Backend& backend, Trainer& trainer) {
  for (;;) {
    const nlohmann::json told = nlohmann::json::parse(trainer.group().tell({}));
    const auto number = told[1].get<int64_t>();
    try {
      if (told[0] == to_end) return;
      if (told[0] == to_validate) validation_loss(trainer, *job.data, number, [](int64_t) {});
      if (told[0] == to_score) job.scorer->score(backend, trainer, number != 0);
      if (told[0] != to_step) continue;
      DataBatch batch;
      trainer.step(number, [&](int64_t micro) {
        batch = job.data->training_batch((number - 1) * trainer.settings().accumulate + micro);
        return batch.view();
      });
    } catch (const std::exception&) {
      // The leading process has heard of it, and lets the others go, or goes on where it was itself interrupted.
    }
  }
}

}  // namespace vkformer
