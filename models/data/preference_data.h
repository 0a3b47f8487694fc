#pragma once
// Pairs of texts, of which one is preferred, as training data of a causal model.

#include <array>
#include <functional>

#include "models/data/learned_text.h"
#include "models/data/length_data.h"

namespace vkformer {

/// The preferred text and the other one. What both begin with has no loss: it would cancel out.
using TextPair = std::array<LearnedText, 2>;

class PreferenceData : public LengthData {
 public:
  struct Settings {
    int64_t positions = 4096;  ///< of a batch, both texts of each pair
    int64_t pairs = 8;         ///< most of a batch
    uint32_t seed = 0;
    Preference preference = {};
  };
  /// Log-likelihoods of each pair's texts.
  using Likelihoods = std::vector<std::array<float, 2>>;

  /// Of each pair something is learned. Batches of P pairs have 2 P rows, those of a pair next to each other: "ids" and
  /// "labels", what is learned behind each id, [2 P, T], "targets" [P], "reference" [2 P], zeros unless
  /// set_reference() was called or the loss has others, and what else build_loss_and_gradients() tells of the loss.
  /// Throws Error when there is no training pair.
  PreferenceData(std::vector<TextPair> training, std::vector<TextPair> validation, const Settings& settings);

  const std::vector<TextPair>& pairs(Split split) const { return pairs_.at(place(split)); }
  /// Each pair of a split once, those of like length together.
  void for_batches(Split split,
                   const std::function<void(const DataBatch& batch, std::span<const uint32_t> pairs)>& take) const;
  /// By the model that the training began with, of each pair of the split.
  void set_reference(Split split, Likelihoods likelihoods) { reference_.at(place(split)) = std::move(likelihoods); }
  const Likelihoods& reference(Split split) const { return reference_.at(place(split)); }
  /// Changes with any id, and with what is learned.
  uint64_t fingerprint() const;

 private:
  static size_t place(Split split) { return split == Split::training ? 0 : 1; }
  BatchShape shape_of(const LengthBatches::Bucket& bucket) const override;
  DataBatch assemble(const BatchShape& shape, Split split, std::span<const uint32_t> examples,
                     int64_t number) const override;

  std::array<std::vector<TextPair>, 2> pairs_;
  std::array<Likelihoods, 2> reference_;
  Preference preference_;
};

}  // namespace vkformer
