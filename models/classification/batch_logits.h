#pragma once
// The logits of batches, by programs over parameters that lie elsewhere (a trainer's).

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/data/training_data.h"

namespace vkformer {

/// "12 texts of 64 tokens"
std::string batch_text(const BatchShape& shape);

/// What a program without a loss reads of a batch. Throws Error for ids the model has not.
Feed inputs_of(const Model& model, const DataBatch& batch);

class BatchLogits {
 public:
  /// Programs over the parameters in `store`, their temporaries in `workspace`. `backend` and `model` must outlive it.
  BatchLogits(Backend& backend, const Model& model, std::shared_ptr<Store> store, std::shared_ptr<Workspace> workspace)
      : backend_(backend), model_(model), store_(std::move(store)), workspace_(std::move(workspace)) {}

  /// Those of a batch, rows that are padding included: [B, classes] of a classifier, [B, P, V] of predictions. A
  /// program is recorded for each shape. "targets" are not read. Throws Error for ids the model has not.
  std::vector<float> of(const DataBatch& batch);
  /// The likeliest class of each row, or id of each prediction: of a large vocabulary far less to read back. On a tie
  /// the lower one.
  std::vector<int32_t> likeliest(const DataBatch& batch);

  /// What was recorded so far, by the batches that it takes.
  std::vector<std::pair<std::string, const Program*>> programs() const;

 private:
  struct Recorded {
    BatchShape shape;
    bool likeliest = false;  ///< instead of logits
    std::unique_ptr<Program> program;
  };
  Program& program(const BatchShape& shape, bool likeliest);
  Program& run(const DataBatch& batch, bool likeliest);

  Backend& backend_;
  const Model& model_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<Workspace> workspace_;
  std::vector<Recorded> programs_;
};

/// Marks logits as the output, or with `likeliest` what read_likeliest() reads of them.
void mark_results(Graph& graph, Value logits, bool likeliest);
/// The place of the largest of each row. Throws Error where it is no finite number.
std::vector<int32_t> read_likeliest(const Program& program);

/// exp(logits) as shares of their sum.
std::vector<double> softmax_of(std::span<const float> logits);
/// 1 / (1 + exp(-logit)) of each.
std::vector<double> sigmoids_of(std::span<const float> logits);

}  // namespace vkformer
