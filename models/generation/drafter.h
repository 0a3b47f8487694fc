#pragma once
// Guesses of what comes next in a text, for a model that checks several in one run (see Speculation).

#include "models/generation/session.h"

namespace vkformer {

class Drafter {
 public:
  virtual ~Drafter() = default;
  /// At most `most` tokens that may follow `text`, which is not empty; none where no guess is likely to hold.
  virtual std::vector<int32_t> draft(std::span<const int32_t> text, size_t most) = 0;
};

/// What followed the text's last tokens where they were before: of the longest match, up to `most_compared` tokens, the
/// last one. Prompt lookup decoding (Saxena 2023): answers often repeat what they are about.
class LookupDrafter final : public Drafter {
 public:
  std::vector<int32_t> draft(std::span<const int32_t> text, size_t most) override;

  static constexpr size_t least_compared = 2, most_compared = 4;
};

/// What a smaller model of the same tokens finds the likeliest (Leviathan et al. 2023, of which the draws here are the
/// larger model's own), while it is sure enough.
class ModelDrafter final : public Drafter {
 public:
  /// What a Generator of drafts is made of. `usable`: tokens that the larger model knows.
  static GeneratorShape shape(int64_t capacity, int64_t usable, std::optional<DType> cache_type);

  /// All must outlive it. `weights` has the smaller model's. Throws Error for a model with states, which can't go back
  /// to where a guess failed.
  ModelDrafter(Backend& backend, const Model& model, std::shared_ptr<Store> weights, const GeneratorShape& shape);
  /// Nothing where the text is longer than the model's positions, or has tokens that it does not know.
  std::vector<int32_t> draft(std::span<const int32_t> text, size_t most) override;
  void prepare() { generator_.prepare(1); }

  /// Tokens that are less likely end a draft: as transformers' assistant_confidence_threshold.
  static constexpr double least_probability = 0.4;

 private:
  Generator generator_;
  GenerationSession session_;
  int64_t vocabulary_;
};

}  // namespace vkformer
