#pragma once
// Texts of one prompt, one after the other, which `vkformer generate` writes.

#include <functional>

#include "models/generation/generation_config.h"
#include "models/generation/text_end.h"
#include "tools/cli/draft_setup.h"

namespace vkformer {

/// A text behind its prompt.
struct WrittenText {
  std::string completion;
  TextEnd end;
  int64_t tokens = 0;
  double first_seconds = 0, rest_seconds = 0;  ///< to the first token, and from there on
  std::string note = {};                       ///< on its way beyond the context

  double speed() const { return tokens > 1 ? static_cast<double>(tokens - 1) / rest_seconds : 0; }
};

class TextWriter {
 public:
  /// What is given must outlive this object, which alone uses the generator. `drafts`: who guesses tokens.
  TextWriter(Generator& generator, const PromptText& tokenizer, const GenerationConfig& config, int64_t vocabulary,
             const std::vector<int32_t>& prompt, const DraftSetup& drafts);

  /// Of draws the one with this number. `emit` gets it piece by piece. Ends early where a signal asks for the end.
  WrittenText write(uint64_t number, const std::function<void(const std::string&)>& emit);
  const Speculation& speculation() const { return speculation_; }  ///< of all texts

 private:
  /// Runs the prompt, unless the cache has it from the text before.
  void begin();

  Generator& generator_;
  const PromptText& tokenizer_;
  const GenerationConfig& config_;
  int64_t vocabulary_;
  const std::vector<int32_t>& prompt_;
  GenerationSession session_;
  Speculation speculation_;
  bool in_cache_ = false;
  std::vector<float> logits_;  ///< behind the prompt
  std::vector<int32_t> choices_;
};

}  // namespace vkformer
