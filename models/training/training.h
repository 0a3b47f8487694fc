#pragma once
// Training a model of any family: one recorded program does forward, backward, clipping and AdamW; with gradient
// accumulation one program is replayed for each micro-batch and another updates. All share the parameters of one Store.

#include <map>
#include <optional>

#include "models/model.h"
#include "models/parameters.h"

namespace vkformer {

struct TrainSettings {
  int64_t batch = 12;      ///< B, sequences of one micro-batch
  int64_t context = 0;     ///< T, positions of one sequence; 0: the model's
  int64_t accumulate = 1;  ///< micro-batches of one iteration
  int64_t iterations = 2000;
  double learning_rate = 1e-3;
  double min_learning_rate = 1e-4;  ///< at the end of the cosine
  int64_t warmup = 100;             ///< iterations of linear warm-up
  double beta1 = 0.9, beta2 = 0.99, epsilon = 1e-8;
  double weight_decay = 0.1;
  double clip = 1.0;  ///< of the global gradient norm; 0: off
  uint32_t seed = 1337;
  /// Activations inside layers are computed again in the backward pass instead of kept. Results have the same bits.
  bool checkpoint_activations = false;
  /// f16 or bf16: operands of matrix products are rounded to it (mixed precision); parameters, sums, gradients and
  /// AdamW stay f32.
  DType products = DType::f32;
  /// With f16 products the loss is scaled so that small gradients do not vanish. It starts with this scale, doubles
  /// every 2000 iterations, and halves when a gradient overflows; that iteration is then repeated.
  double loss_scale = 65536;

  bool operator==(const TrainSettings&) const = default;
};

/// Linear warm-up, then cosine from learning_rate to min_learning_rate at `iterations` (nanoGPT's schedule).
double learning_rate_at(const TrainSettings& settings, int64_t iteration);

/// A batch of a causal language model, as the settings ask for it. Throws Error for other models.
BatchShape causal_batch(const Model& model, const TrainSettings& settings);
/// The same for any model: padded sequences unless it is causal, sources as long as targets.
BatchShape usual_batch(const Model& model, const TrainSettings& settings);

/// A model's loss graph with everything training needs of it.
struct TrainingGraph {
  Graph graph;
  Value loss;        ///< output "loss" [1]: mean cross-entropy of the batch, targets of -100 ignored
  Values gradients;  ///< of the model's parameters, in their order; absent where the loss does not reach one
  std::map<std::string, Value> joint;  ///< gradients of joint tensors, of which those of their parts are copies
};
/// Inputs: those of add_inputs(), "targets" i32 (the logits' shape without its last dimension), "seed" i32 [2],
/// "loss_gradient" [1] (1 / micro-batches).
TrainingGraph build_loss_and_gradients(const Model& model, const BatchShape& shape, bool checkpoint_activations = false,
                                       DType products = DType::f32);
/// Blocks of the parameters that have a gradient, then of those that rest.
std::vector<ParameterBlock> training_blocks(const Model& model, const Values& gradients, uint64_t max_allocation);
/// The gradients joined like the trained blocks.
Values join_gradients(TrainingGraph& training, const Model& model, const std::vector<ParameterBlock>& blocks);
/// Appends clipping (output "norm" [1]) and AdamW (input "schedule" [3]) on the joined gradients of the trained blocks.
void append_update(Graph& graph, const std::vector<ParameterBlock>& blocks, const Values& gradients,
                   const TrainSettings& settings);

/// What training will allocate, known before anything is.
struct TrainingPlan {
  struct Row {
    std::string what;
    int64_t bytes = 0;
  };
  std::vector<ParameterBlock> blocks;
  StoreLayout layout;
  std::vector<std::pair<std::string, Graph>> programs;  ///< "step" or "micro-batch" and "update"; "evaluation"
  std::vector<Row> rows;
  std::vector<Row> temporaries;        ///< of each program; they share one workspace
  std::vector<PlannedItem> biggest;    ///< temporaries of the first program
  int64_t live_set_bytes = 0;          ///< of the first program: what no plan can go below
  std::optional<int64_t> saved_bytes;  ///< by computing activations again, if they are
  int64_t total_bytes() const;
};
/// `model` must outlive the plan. Throws Error for settings that can't be.
TrainingPlan plan_training(const Model& model, const TrainSettings& settings, const BatchShape& shape,
                           const Backend& backend);

class Trainer {
 public:
  /// Plans, allocates and records. Parameters are zero until initialize() or load().
  Trainer(Backend& backend, const Model& model, const TrainSettings& settings, const BatchShape& shape);
  /// Of a causal language model.
  Trainer(Backend& backend, const Model& model, const TrainSettings& settings)
      : Trainer(backend, model, settings, causal_batch(model, settings)) {}

  /// One iteration (1, 2, ...) on `accumulate` batches, each tensor's one after another: the inputs of add_inputs() and
  /// "targets". Gives the mean loss before the update.
  double step(int64_t iteration, const Feed& feed);
  double step(int64_t iteration, std::span<const int32_t> ids, std::span<const int32_t> targets) {
    return step(iteration, {{"ids", ids}, {"targets", targets}});
  }
  /// Norm of the last step's gradient before clipping (0 without clipping).
  double gradient_norm() const { return norm_; }
  /// What the loss of the next iteration is scaled by: 1 unless products are f16.
  double loss_scale() const { return scale_; }
  /// Mean loss of one batch, without dropout.
  double evaluate(const Feed& feed);
  double evaluate(std::span<const int32_t> ids, std::span<const int32_t> targets) {
    return evaluate({{"ids", ids}, {"targets", targets}});
  }

  Store& store() { return *store_; }
  const TrainSettings& settings() const { return settings_; }
  /// Parameters and optimiser state to and from a folder: model.safetensors, optimizer.safetensors. Bit for bit.
  void save(const std::filesystem::path& folder) const;
  void load(const std::filesystem::path& folder);
  const TrainingPlan& plan() const { return plan_; }
  /// The programs whose replays make up an iteration: "step", or "micro-batch" and "update".
  std::vector<std::pair<std::string, const Program*>> programs() const;

 private:
  Model model_;
  TrainSettings settings_;
  TrainingPlan plan_;
  std::shared_ptr<Store> store_;
  std::unique_ptr<Program> step_, update_, evaluation_;
  double run_batches(int64_t iteration, const Feed& feed);
  double norm_ = 0;
  double scale_ = 1;
};

}  // namespace vkformer
