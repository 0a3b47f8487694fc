#pragma once
// Several sequences over the same weights, each with a cache of its own: what a server writes at a time. A sequence
// goes on by itself, or several do by a token each in one run, which reads the weights once for all of them.

#include <deque>

#include "models/generation/session.h"

namespace vkformer {

class SessionGroup {
 public:
  /// `shape`: of which `rows` is the number of sequences. `model` must outlive it. Of several sequences the capacity is
  /// a multiple of 8.
  SessionGroup(Backend& backend, const Model& model, const std::shared_ptr<Store>& weights, GeneratorShape shape);

  size_t size() const { return members_.size(); }
  /// Of one sequence.
  const GeneratorShape& shape() const { return members_.front().generator.shape(); }
  GenerationSession& session(size_t i) { return members_[i].session; }
  Generator& generator(size_t i) { return members_[i].generator; }
  /// Whether the model has positions for no longer ones, but for the few that a multiple of 8 leaves.
  bool is_longest() const { return model_.context > 0 && shape().capacity + 8 > model_.context; }
  int64_t cache_bytes() const { return cache_bytes_; }  ///< of all
  /// Compiles what decodes.
  void prepare();

  /// Whether so many sessions go on faster in one run, which computes all rows. A GPU waits for the weights; a CPU
  /// device computes as long as it loads, and most rows must be in use.
  bool together_pays(size_t count) const;
  struct Next {
    size_t session = 0;
    int32_t token = 0;
  };
  /// Appends to each of these sessions its token in one run, and gives the logits after each, row after row, or what
  /// the shape says of choices, unless `all_logits`. Throws Error where one is full.
  std::vector<float> append(std::span<const Next> next, bool all_logits);
  /// Of the last append(), row after row; empty where logits are of all.
  std::span<const int32_t> choices() const { return choices_; }

 private:
  struct Member {
    Member(Backend& backend, const Model& model, std::shared_ptr<Store> store, const GeneratorShape& shape,
           std::shared_ptr<Workspace> workspace)
        : generator(backend, model, std::move(store), shape, std::move(workspace)), session(generator) {}
    Generator generator;
    GenerationSession session;
  };
  Program& program(bool all_logits);

  Backend& backend_;
  const Model& model_;
  GeneratorShape shape_;  ///< of all
  int64_t cache_bytes_ = 0;
  std::shared_ptr<Store> store_;
  std::shared_ptr<Workspace> workspace_;
  std::deque<Member> members_;            ///< which stay where they are
  std::unique_ptr<Program> programs_[2];  ///< of choices, of all logits
  std::vector<int32_t> choices_;
};

}  // namespace vkformer
