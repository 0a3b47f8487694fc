#pragma once
// One vector for each text, near those of texts that mean the same.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/data/token_texts.h"
#include "models/embedding/dense_layer.h"
#include "models/embedding/recipe.h"

namespace vkformer {

/// Without its head: its logits are the hidden states [B, T, C] after the last norm, and it has no parameters that only
/// the head reads. Throws Error for an encoder-decoder.
Model without_head(Model model);

class Embedder {
 public:
  /// `model`: without_head(), or one whose logits are vectors of texts (Task::vector), which `pooling` does not change.
  /// Programs over the parameters in `store`, their temporaries in `workspace`; `backend` and
  /// `model` must outlive it.
  Embedder(Backend& backend, const Model& model, std::shared_ptr<Store> store, std::shared_ptr<Workspace> workspace,
           Pooling pooling, std::vector<DenseLayer> dense = {});

  /// For each of the first `rows` rows of a batch (see text_batch()) numbers of length 1: C, or what the last of the
  /// dense layers gives.
  std::vector<std::vector<float>> embeddings(const DataBatch& batch, size_t rows);
  /// What was recorded so far, by the batches that it takes.
  std::vector<std::pair<std::string, const Program*>> programs() const;

 private:
  struct Recorded {
    BatchShape shape;
    std::unique_ptr<Program> program;
  };
  Program& program(const BatchShape& shape);

  Backend& backend_;
  const Model& model_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<Workspace> workspace_;
  Pooling pooling_;
  std::vector<DenseLayer> dense_;
  std::vector<Recorded> programs_;
};

/// Any number of texts, those of like length together, in batches of at most `positions`: gives the embedding of each,
/// in whatever order.
void embed_by_length(Embedder& embedder, const TokenTexts& texts, const TextInputs& inputs, int64_t positions,
                     const std::function<void(size_t text, std::vector<float> embedding)>& take);

/// The same direction.
std::vector<float> of_length_one(std::span<const float> vector);

/// The cosine of two embeddings.
double similarity(std::span<const float> a, std::span<const float> b);

}  // namespace vkformer
