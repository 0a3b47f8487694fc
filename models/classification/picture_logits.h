#pragma once
// What a model that sees makes of pictures.

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/model.h"

namespace vkformer {

class PictureLogits {
 public:
  /// Programs over the parameters in `store`, their temporaries in `workspace`. `backend` and `model` must outlive it.
  PictureLogits(Backend& backend, const Model& model, std::shared_ptr<Store> store,
                std::shared_ptr<Workspace> workspace)
      : backend_(backend), model_(model), store_(std::move(store)), workspace_(std::move(workspace)) {}

  /// Of each picture, given as patches_of(): the logits of its classes, a tower's vector or, of hidden states (see
  /// without_head()), that of its class token. All pictures are one batch; a program is recorded for each number of
  /// them. Throws Error for results that are no finite numbers.
  std::vector<std::vector<float>> of(std::span<const std::vector<float>> pictures);

  /// What was recorded so far, by the batches that it takes.
  std::vector<std::pair<std::string, const Program*>> programs() const;

 private:
  struct Recorded {
    int64_t pictures = 0;
    std::unique_ptr<Program> program;
  };
  Program& program(int64_t pictures);

  Backend& backend_;
  const Model& model_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<Workspace> workspace_;
  std::vector<Recorded> programs_;
};

}  // namespace vkformer
