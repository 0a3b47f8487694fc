#pragma once
// The grammars that requests name, of which clients send the same again and again.

#include <deque>
#include <mutex>

#include "tools/cli/answer_grammar.h"

namespace vkformer {

/// Connections may use it at a time.
class AnswerGrammars {
 public:
  /// `tokenizer` must outlive this object.
  explicit AnswerGrammars(const PromptText& tokenizer) : tokenizer_(tokenizer) {}

  /// Keeps the last few. Throws Error for what is no grammar.
  std::shared_ptr<GrammarTokens> find(const std::string& gbnf);

 private:
  struct Known {
    std::string gbnf;
    std::shared_ptr<GrammarTokens> grammar;
  };

  const PromptText& tokenizer_;
  std::mutex mutex_;
  std::shared_ptr<const TokenBytes> tokens_;  ///< made when first asked for
  std::deque<Known> recent_;
};

}  // namespace vkformer
