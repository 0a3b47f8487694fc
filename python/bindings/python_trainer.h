#pragma once
// A model that is trained on the batches of a Python program.

#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/adapters/lora.h"
#include "models/training/trainer.h"
#include "python/bindings/loaded_model.h"
#include "runtime/files/checkpoint.h"

namespace vkformer::python {

/// An adapter that is trained in place of a model's weights.
struct LoraOptions {
  LoraConfig config;
  std::vector<std::string> targets;  ///< none: what is usual for the family
  std::string weights;               ///< type of the frozen ones; empty: that of products

  /// Takes "r", "alpha", "dropout", "rslora" and "targets". Throws Error for other names and types.
  void take(const nlohmann::json& given);
  nlohmann::json json() const;
};

/// What a trainer is made for. Each part is kept with its checkpoints, and may be changed when they are gone on from.
struct TrainerOptions {
  TrainSettings settings;
  int64_t batch_size = 12;   ///< rows of the batches that memory is planned for
  int64_t context = 0;       ///< and their positions; 0: the model's
  bool profile = false;      ///< with timestamps
  bool token_types = false;  ///< batches have token types, for which XLNet has parameters of its own
  /// Of the loss; below 0: what the config says.
  double label_smoothing = -1;
  std::optional<LoraOptions> lora = {};

  /// Takes settings by the names of TrainSettings and these, "schedule" and "precision" as text; "lora" as a dict, with
  /// "weights". Throws Error for other names and types.
  void take(const nlohmann::json& given);
  nlohmann::json json() const;
};

/// A batch with its integers.
struct OwnedBatch {
  IdBatch ids;
  std::vector<int32_t> targets;

  TrainingBatch view() const;
};

class PythonTrainer {
 public:
  /// Of a config, its parameters at their start values; `tokenizer`: a folder whose texts it will read, may be empty.
  PythonTrainer(const nlohmann::json& config, const std::filesystem::path& tokenizer, const std::string& device,
                const TrainerOptions& options);
  /// The same of a model folder, from its weights, or for an adapter beside them.
  PythonTrainer(const std::filesystem::path& folder, const std::string& device, const TrainerOptions& options);
  /// Goes on from a run's latest checkpoint, with other settings where `changes` has them.
  static std::unique_ptr<PythonTrainer> resume(const std::filesystem::path& run, const std::string& device,
                                               const nlohmann::json& changes);
  ~PythonTrainer();

  // These release the GIL, and have the device to themselves meanwhile.

  /// See Trainer::step() and evaluate(). Throws Error.
  double step(const std::vector<OwnedBatch>& batches);
  double evaluate(const OwnedBatch& batch);
  /// Writes a checkpoint that resume() and the command `vkformer` read, and removes the run's older ones. Throws Error
  /// for a folder that holds another run.
  void save(const std::filesystem::path& run);
  /// Of the last step's gradient.
  double gradient_norm();

  /// Of the programs of an iteration; none unless it profiles.
  std::vector<ProgramTimings> timings();
  /// Of the next step.
  double learning_rate() const { return learning_rate_at(options_.settings, iteration_ + 1); }
  int64_t iteration() const { return iteration_; }
  /// The parameters as they are trained.
  const std::shared_ptr<LoadedModel>& model() const { return view_; }

 private:
  PythonTrainer(Model model, const std::filesystem::path& folder, const std::string& device,
                const TrainerOptions& options);

  TrainerOptions options_;
  std::shared_ptr<const Model> model_;
  std::string base_;                               ///< folder of an adapter's model
  std::map<std::string, std::string> text_files_;  ///< of its tokenizer, by their names in a checkpoint
  std::filesystem::path run_;                      ///< the one that it writes; empty: none yet
  std::shared_ptr<Session> session_;
  std::unique_ptr<Trainer> trainer_;
  std::shared_ptr<LoadedModel> view_;
  std::atomic<int64_t> iteration_ = 0;
};

}  // namespace vkformer::python
