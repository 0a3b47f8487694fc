#pragma once
// Grammars that answers keep to, from flags and for a model's tokens.

#include "models/constraint/grammar_constraint.h"
#include "models/generation/generation_config.h"
#include "models/text/prompt_text.h"
#include "tools/cli/commands.h"

namespace vkformer {

/// Nothing where the flags name none. `tokenizer`: of what the model writes; nullptr: there is none. Throws Error for
/// what is no grammar or schema.
std::shared_ptr<GrammarTokens> answer_grammar(const GenerateFlags& flags, const PromptText* tokenizer);

}  // namespace vkformer
