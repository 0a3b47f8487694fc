#pragma once
// Who guesses tokens for a model that writes a text: a smaller model (--draft-model), or the text (--draft-lookup).

#include "models/generation/speculation.h"
#include "models/text/prompt_text.h"
#include "models/weights.h"
#include "tools/cli/generate_flags.h"

namespace vkformer {

class DraftSetup {
 public:
  /// Nobody, where the flags name none. Throws Error for a `model` that can't check guesses, and for one to guess whose
  /// tokens are not `tokenizer`'s.
  DraftSetup(const GenerateFlags& flags, const Model& model, const PromptText& tokenizer);

  /// Bytes of the smaller model's weights and caches, for a Generator of that shape; 0: there is none.
  int64_t bytes(const GeneratorShape& shape, const DeviceFacts& facts) const;
  /// For texts that the generator writes, once; loads what it takes.
  void make(Backend& backend, const Generator& generator, bool quiet);
  /// What is given must outlive it, as this object must.
  Speculation speculation(Generator& generator, GenerationSession& session) const {
    return {generator, session, drafter_.get(), most_};
  }

 private:
  GeneratorShape own_shape(const GeneratorShape& shape) const;

  size_t most_;
  bool lookup_;
  std::optional<DType> cache_type_;
  std::optional<Model> model_;
  std::optional<Weights> weights_;
  std::unique_ptr<Drafter> drafter_;
};

/// Throws UsageError where the flags ask for guesses, of what is searched in another way.
void refuse_drafts(const GenerateFlags& flags);

/// "; 41 of 60 guessed tokens held", "" where nobody guessed.
std::string guesses_text(const Speculation& speculation);

}  // namespace vkformer
