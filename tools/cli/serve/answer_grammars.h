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

  /// Keeps those that were asked for last. Throws Error for what is no grammar.
  std::shared_ptr<GrammarTokens> find(const std::string& gbnf);

 private:
  struct Known {
    std::string gbnf;
    std::shared_ptr<GrammarTokens> grammar;
  };

  std::shared_ptr<GrammarTokens> recent(const std::string& gbnf);

  const PromptText& tokenizer_;
  std::once_flag tokens_made_;
  std::shared_ptr<const TokenBytes> tokens_;
  std::mutex mutex_;
  std::deque<Known> recent_;  ///< the last one first
};

}  // namespace vkformer
