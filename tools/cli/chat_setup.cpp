#include "tools/cli/chat_setup.h"

#include "models/chat/chat_files.h"
#include "models/model_files.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

ChatTemplate template_for(const ChatFlags& flags, const std::filesystem::path& folder) {
  if (!flags.chat_template.empty()) return chat_template_named(flags.chat_template);
  auto found = find_chat_template(folder);
  check(found.has_value(),
        "{} has no chat template, so nobody knows how a conversation is written for it; give one with --template FILE "
        "(or --template chatml), or use generate -p",
        folder.generic_string());
  return *std::move(found);
}

/// What a template gets to see beside the conversation: special tokens, and what the flags say.
nlohmann::ordered_json variables_for(const ChatFlags& flags, const std::filesystem::path& folder,
                                     const ChatTemplate& chat_template) {
  nlohmann::ordered_json variables = special_token_variables(folder);
  for (const std::string& argument : flags.template_arguments) {
    const size_t sign = argument.find('=');
    if (sign == 0 || sign == argument.npos)
      throw UsageError(
          fmt::format("--template-arg {} is not NAME=VALUE, like enable_thinking=false", in_quotes(argument)));
    const std::string name = argument.substr(0, sign), text = argument.substr(sign + 1);
    for (const char* own : {"messages", "tools", "documents", "add_generation_prompt"})
      if (name == own) throw UsageError(fmt::format("--template-arg {}: chat sets that one itself", name));
    if (!chat_template.mentions(name) && !flags.common.quiet)
      say("({} reads no variable {})", chat_template.name(), printable(name, 60));
    const auto value = nlohmann::ordered_json::parse(text, nullptr, false);
    variables[name] = value.is_discarded() ? nlohmann::ordered_json(text) : value;
  }
  return variables;
}

/// What llama.cpp takes where nobody says anything.
void take_usual_sampling(GenerationConfig& config, const ChatFlags& flags, const std::filesystem::path& folder) {
  if (has_model_json(folder, "generation_config.json")) return;
  const auto given = [&](const char* name) { return flags.given.contains(name); };
  if (given("--temp") && flags.sampling.temperature == 0) return;
  GenerationConfig usual = config;
  take_usual_draws(usual);
  if (given("--temp")) usual.temperature = config.temperature;
  if (given("--top-k")) usual.top_k = config.top_k;
  if (given("--top-p")) usual.top_p = config.top_p;
  if (given("--min-p")) usual.min_p = config.min_p;
  config = usual;
}

/// An answer is shown while it is written, so one is written.
void leave_beams(GenerationConfig& config, bool quiet) {
  if (config.num_beams > 1 && !quiet)
    say("(generation_config.json searches with {} beams; a conversation has one)", config.num_beams);
  config.num_beams = config.num_return_sequences = 1;
}

}  // namespace

ChatSetup::ChatSetup(const ChatFlags& flags, const std::filesystem::path& folder)
    : chat_template(template_for(flags, folder)),
      variables(variables_for(flags, folder, chat_template)),
      behind_answers(text_behind_answers(chat_template, variables)) {}

GenerationSettings answer_settings(const ChatFlags& flags, const std::filesystem::path& folder, const Model& model,
                                   const PromptText& tokenizer, const std::string& behind_answers) {
  GenerationSettings settings = generation_settings(flags, folder, model, &tokenizer);
  leave_beams(settings.config, flags.common.quiet);
  take_usual_sampling(settings.config, flags, folder);
  if (const auto end = end_of_turn(behind_answers, tokenizer); end && !settings.config.ends(*end))
    settings.config.eos_token_ids.push_back(*end);
  return settings;
}

}  // namespace vkformer
