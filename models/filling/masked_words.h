#pragma once
// What a masked language model makes of the places where words are hidden.

#include <functional>

#include "models/data/token_texts.h"

namespace vkformer {

class MaskedWords {
 public:
  /// Programs over the parameters in `store`, their temporaries in `workspace`. `backend` and `model` must outlive it.
  /// Throws Error for a model that predicts no masked words.
  MaskedWords(Backend& backend, const Model& model, std::shared_ptr<Store> store, std::shared_ptr<Workspace> workspace);

  /// The logits [places, V] of some places of a batch, each row * T + position. Only theirs are computed. A program is
  /// recorded for each shape and each power of two of places. "targets" of the batch are ignored. Throws Error for ids
  /// the model has not.
  std::vector<float> logits(const DataBatch& batch, std::span<const int32_t> places);
  /// The same places' likeliest ids: of a large vocabulary far less to read back. On a tie the lower one.
  std::vector<int32_t> likeliest(const DataBatch& batch, std::span<const int32_t> places);

  /// What was recorded so far, by the batches that it takes.
  std::vector<std::pair<std::string, const Program*>> programs() const;

 private:
  struct Recorded {
    BatchShape shape;
    int64_t places = 0;
    bool likeliest = false;  ///< instead of logits
    std::unique_ptr<Program> program;
  };
  Program& program(const BatchShape& shape, int64_t places, bool likeliest);
  Program& run(const DataBatch& batch, std::span<const int32_t> places, bool likeliest);

  Backend& backend_;
  const Model& model_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<Workspace> workspace_;
  std::vector<Recorded> programs_;
};

struct WordCandidate {
  int32_t id = 0;
  double probability = 0;
};

/// The `most` likeliest ids, best first; of equally likely ones the smaller first. Throws Error for logits that are no
/// numbers.
std::vector<WordCandidate> likeliest_words(std::span<const float> logits, size_t most);

/// For each place in a text with the id `mask`, in their order, the `most` likeliest ids. Each is what the model
/// expects while the other masks stay.
using MaskCandidates = std::vector<std::vector<WordCandidate>>;
/// Any number of texts, those of like length together, in batches of at most `positions`: gives the candidates of each,
/// in whatever order.
void fill_by_length(MaskedWords& words, const TokenTexts& texts, const TextInputs& inputs, int64_t positions,
                    int32_t mask, size_t most,
                    const std::function<void(size_t text, const MaskCandidates& candidates)>& take);

}  // namespace vkformer
