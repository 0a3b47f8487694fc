#pragma once
// What training will run and allocate, known before anything is allocated.

#include "models/training/training_batch.h"
#include "models/training/training_graph.h"

namespace vkformer {

struct TrainingPlan {
  struct Row {
    std::string what;
    int64_t bytes = 0;
  };
  struct PlannedProgram {
    std::string name;
    Graph graph;
    MemoryPlan memory;
  };
  /// The programs for batches of one shape, as indices into `programs`.
  struct PlannedBatch {
    BatchShape shape;
    int64_t classes = 0;                   ///< targets lie below
    std::optional<size_t> gradients = {};  ///< "step", with the update; with accumulation "micro-batch"; if it trains
    size_t evaluation = 0;                 ///< the loss without dropout
  };

  const Model* model = nullptr;
  TrainSettings settings;
  std::vector<ParameterBlock> blocks;
  StoreLayout layout;
  /// In the order in which they are compiled: "step", or "micro-batch" and "update"; "evaluation". Names of programs
  /// for further shapes end with those.
  std::vector<PlannedProgram> programs;
  std::vector<PlannedBatch> batches;

  /// What "update" has as its index, with accumulation.
  static constexpr size_t update = 1;

  /// What is allocated: parameters and state, inputs and outputs of the programs, the shared temporaries.
  std::vector<Row> rows() const;
  /// Temporaries of each program for the first shape; all programs share one workspace.
  std::vector<Row> temporaries() const;
  int64_t total_bytes() const;
  int64_t device_bytes() const;  ///< without what lies in host memory
  /// They come first among the blocks.
  size_t trained_blocks() const;
  /// They come first.
  size_t programs_of_first_shape() const {
    return batches.size() > 1 ? batches[1].gradients.value_or(batches[1].evaluation) : programs.size();
  }

  /// Plans the programs for batches of a further shape. Throws Error when such a batch trains other parameters than one
  /// of the first shape.
  void add_batch(const BatchShape& shape, const Backend& backend);
  /// The same for one that is never trained on.
  void add_evaluation(const BatchShape& shape, const Backend& backend);
};

/// For batches of these shapes, at least one, and of those that are only evaluated. `model` must outlive the plan.
/// Throws Error for settings that can't be.
TrainingPlan plan_training(const Model& model, const TrainSettings& settings, const std::vector<BatchShape>& shapes,
                           const Backend& backend, const std::vector<BatchShape>& evaluated = {});

/// For evaluations alone: of the parameters no gradients, moments or sums are kept, and they may be of any type that a
/// model's weights may be stored as. Nothing can be trained by it.
TrainingPlan plan_evaluation(const Model& model, const TrainSettings& settings, const std::vector<BatchShape>& shapes,
                             const Backend& backend);

/// Bytes that computing activations again saves in a plan that does so.
int64_t bytes_saved_by_recomputing(const TrainingPlan& plan, const Backend& backend);

}  // namespace vkformer
