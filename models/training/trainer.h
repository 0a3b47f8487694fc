#pragma once
// Training a model of any family: one recorded program does forward, backward, clipping and AdamW; with gradient
// accumulation one program is replayed for each micro-batch and another updates. Programs for batches of several shapes
// share one Store and one Workspace. Several processes share the micro-batches of an update: each adds up its own, then
// they add up their sums, and each updates the parameters by itself.

#include <filesystem>
#include <functional>

#include "models/training/process_group.h"
#include "models/training/training_plan.h"
#include "models/training/tree_sum.h"

namespace vkformer {

/// `backend`, the plan's model and the group must outlive it.
class Trainer {
 public:
  /// Allocates and records what was planned. Parameters are zero until initialize() or load(). Each process of the
  /// group has the same plan, and all take each step together. Throws Error for more processes than gradient_parts.
  Trainer(Backend& backend, TrainingPlan plan, ProcessGroup& group = ProcessGroup::alone());
  Trainer(Backend& backend, const Model& model, const TrainSettings& settings, const BatchShape& shape)
      : Trainer(backend, plan_training(model, settings, {shape}, backend)) {}

  /// Micro-batch 0, 1, ... of an iteration, valid until the next one is asked for; each may be asked for twice.
  using BatchSource = std::function<TrainingBatch(int64_t micro)>;

  /// One iteration (1, 2, ...) on `accumulate` micro-batches: the gradient is that of the mean loss over all their
  /// targets, however those are spread. Gives that loss, before the update. A shape that was not planned is compiled
  /// when it comes first. Throws Error for targets that can't be. When `batches` throws, nothing was trained. Every
  /// process of a group is asked for the same micro-batches, and hears when another one's `batches` threw: see
  /// ProcessGroup::together().
  double step(int64_t iteration, const BatchSource& batches);
  double step(int64_t iteration, std::span<const TrainingBatch> batches);
  /// The same with micro-batches of the first planned shape: in `feed` lie each tensor's one after another.
  double step(int64_t iteration, const Feed& feed);
  double step(int64_t iteration, std::span<const int32_t> ids, std::span<const int32_t> targets) {
    return step(iteration, {{"ids", ids}, {"targets", targets}});
  }
  /// Norm of the last step's gradient before clipping (0 without clipping).
  double gradient_norm() const { return norm_; }
  /// Whether values of the last step left the range of f16 whatever the loss scale, as a batch's own may: where its
  /// gradient's norm is not finite either, nothing was trained. False unless products are f16.
  bool overflowed() const { return overflowed_; }
  /// What the loss of the next iteration is scaled by: 1 unless products are f16.
  double loss_scale() const { return scale_; }

  /// Loss of one batch, without dropout and label smoothing.
  MeanLoss evaluate(const TrainingBatch& batch);
  /// Its mean, for a batch of the first planned shape.
  double evaluate(const Feed& feed) { return evaluate({plan_.batches[0].shape, feed}).value(); }
  double evaluate(std::span<const int32_t> ids, std::span<const int32_t> targets) {
    return evaluate({{"ids", ids}, {"targets", targets}});
  }

  Store& store() { return *store_; }
  /// For further programs on these parameters, which never run while one of the trainer's does.
  std::shared_ptr<Store> shared_store() const { return store_; }
  std::shared_ptr<Workspace> workspace() const { return workspace_; }
  /// Of the processes that train with this one.
  ProcessGroup& group() const { return group_; }
  const TrainSettings& settings() const { return plan_.settings; }
  const TrainingPlan& plan() const { return plan_; }
  /// What is trained and the optimiser's state to and from a folder: model.safetensors or an adapter's files, and
  /// optimizer.safetensors. Bit for bit.
  void save(const std::filesystem::path& folder) const;
  void load(const std::filesystem::path& folder);
  /// The trained parameters become their moving average. Throws Error where none is kept.
  void use_moving_average();
  /// The programs whose replays make up an iteration: "step", or "micro-batch" and "update"; for each shape.
  std::vector<std::pair<std::string, const Program*>> programs() const;

 private:
  void compile_planned();
  const TrainingPlan::PlannedBatch& planned(const BatchShape& shape);
  Program& gradients_of(const BatchShape& shape);
  int64_t targets_of(const TrainingBatch& batch) { return count_targets(batch, planned(batch.shape).classes); }
  double run_batches(int64_t iteration, const BatchSource& batches);
  int64_t count_all_targets(const BatchSource& batches);
  MeanLoss run_part(int64_t iteration, int64_t part, const BatchSource& batches, int64_t all_targets);
  void write_update(Program& program, int64_t iteration) const;
  void update(int64_t iteration);
  void read_norm(Program& updated);

  Backend& backend_;
  TrainingPlan plan_;
  ProcessGroup& group_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<Workspace> workspace_;
  std::vector<std::unique_ptr<Program>> programs_;  ///< those of the plan, in its order
  std::vector<TreeSum> gradients_;                  ///< of each trained block, where there are several parts
  double norm_ = 0;
  double scale_ = 1;
  bool overflowed_ = false;
};

}  // namespace vkformer
