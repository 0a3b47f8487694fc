#pragma once
// Grammars that answers keep to, from flags and for a model's tokens.

#include "models/constraint/grammar_constraint.h"
#include "models/generation/text_end.h"
#include "models/text/prompt_text.h"
#include "tools/cli/generate_flags.h"

namespace vkformer {

/// Nothing where the flags name none. `tokenizer`: of what the model writes; nullptr: there is none. Throws Error for
/// what is no grammar or schema.
std::shared_ptr<GrammarTokens> answer_grammar(const GenerateFlags& flags, const PromptText* tokenizer);

/// Whether what is written is printed without its prompt: a text of a form goes to programs that read that form.
bool hides_prompt(const GenerateFlags& flags);
/// What stands behind each of several texts: the line that nanoGPT prints, but nothing behind JSON, which tells its
/// end.
std::string_view line_behind_text(const GenerateFlags& flags);
/// Says so where a text's form is not complete.
void tell_broken_form(const TextEnd& end);

}  // namespace vkformer
