#include "tools/cli/answer_grammar.h"

#include <algorithm>

#include "models/constraint/json_schema.h"
#include "runtime/check.h"
#include "tools/cli/output.h"
#include "tools/cli/text_argument.h"

namespace vkformer {

std::shared_ptr<GrammarTokens> answer_grammar(const GenerateFlags& flags, const PromptText* tokenizer) {
  const auto text_of = [](const std::string& file) { return text_argument("", file); };
  std::optional<Grammar> grammar;
  const auto given = [&](const char* flag) { return flags.given.contains(flag); };
  if (given("--grammar")) grammar = parse_gbnf(flags.grammar, "--grammar");
  if (given("--grammar-file")) grammar = parse_gbnf(text_of(flags.grammar_file), flags.grammar_file);
  if (given("--json-schema"))
    grammar = parse_gbnf(gbnf_of_schema_text(flags.schema, "--json-schema"), "the grammar of --json-schema");
  if (given("--json-schema-file"))
    grammar = parse_gbnf(gbnf_of_schema_text(text_of(flags.schema_file), flags.schema_file),
                         "the grammar of " + flags.schema_file);
  if (!grammar) return nullptr;
  check(tokenizer != nullptr, "a grammar is one of text, but the model's folder has no tokenizer.json");
  return std::make_shared<GrammarTokens>(*std::move(grammar), token_bytes(*tokenizer));
}

bool hides_prompt(const GenerateFlags& flags) {
  return flags.no_display_prompt || std::ranges::any_of(std::initializer_list{"--grammar", "--grammar-file",
                                                                              "--json-schema", "--json-schema-file"},
                                                        [&](const char* flag) { return flags.given.contains(flag); });
}

std::string_view line_behind_text(const GenerateFlags& flags) {
  return flags.given.contains("--json-schema") || flags.given.contains("--json-schema-file") ? "" : "---------------\n";
}

void tell_broken_form(const TextEnd& end) {
  if (!end.whole) say("the text ends before its form is complete; give it more tokens (-n)");
}

}  // namespace vkformer
