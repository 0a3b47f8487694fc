// `vkformer chat`: a conversation with a model, by its own template.

#include "models/generation/beam_search.h"
#include "models/model_files.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "tools/cli/answer_grammar.h"
#include "tools/cli/chat_commands.h"
#include "tools/cli/chat_input.h"
#include "tools/cli/chat_setup.h"
#include "tools/cli/commands.h"
#include "tools/cli/generation_memory.h"
#include "tools/cli/generation_settings.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/profile.h"
#include "tools/cli/text_argument.h"

namespace vkformer {

namespace {

void show_prompt(std::span<const int32_t> ids, const PromptText& tokenizer) {
  std::string text;
  for (const int32_t id : ids) text += (text.empty() ? "" : "|") + tokenizer.piece(id);
  say("prompt of {} tokens: {}", ids.size(), text);
}

/// What a model writes before its answer, on stderr: what is on stdout are answers.
struct Thoughts {
  bool quiet;
  bool open = false;

  void write(const std::string& piece) {
    if (quiet || piece.empty()) return;
    say_text((std::exchange(open, true) ? "" : "(") + for_terminal(piece));
  }
  void end() {
    if (std::exchange(open, false)) say_text(")\n");
  }
};

/// Answers, prints, and says what there is to say.
void print_answer(ChatTalk& talk, const PromptText& tokenizer, const ChatPrompts& prompts, const ChatFlags& flags,
                  bool& shown) {
  const int64_t left_out = prompts.left_out();
  Thoughts thoughts{.quiet = flags.common.quiet};
  talk.answer(
      [&](const std::string& piece, bool thought) {
        if (thought) return thoughts.write(piece);
        thoughts.end();
        print("{}", piece);
        check_output();
      },
      [&] {
        if (flags.show_prompt && !std::exchange(shown, true)) show_prompt(talk.prompt(), tokenizer);
        if (prompts.left_out() > left_out && !flags.common.quiet)
          say("(the context is full: the oldest {} of {} questions are left out from here on)", prompts.left_out(),
              talk.history().turns());
      });
  thoughts.end();
  print("\n");
  check_output();
  if (!talk.cut_by().empty() && !flags.common.quiet) say("(the answer was ended by {})", talk.cut_by());
}

}  // namespace

void chat(const ChatFlags& flags) {
  const auto folder = resolve_model_folder(flags.model);
  const auto adapter = open_adapter(flags.adapter, folder);
  Model model = model_to_generate(folder, flags.dtype, adapter.get());
  check(model.generates() && !model.has_encoder(), "this {} model does not go on with a text, so it can't chat",
        model.family);
  ChatSetup setup(flags, folder);
  const PromptText tokenizer(folder);
  auto [config, taken] = answer_settings(flags, folder, model, tokenizer, setup.behind_answers);
  // Throws for what the settings can't be, and says how many tokens a choice needs in a talk of any length.
  const auto grammar = answer_grammar(flags, &tokenizer);
  GenerationConfig longest = config;
  if (grammar) longest.constraint = std::make_shared<GrammarConstraint>(grammar, config.eos_token_ids, false);
  longest.max_new_tokens = INT32_MAX;
  const auto search = make_search(longest, {{0}}, model.vocabulary);
  DraftSetup drafts(flags, model, tokenizer);
  Weights weights(model.parameters, folder);

  auto backend = open_backend(flags.common);
  if (!taken.empty() && !flags.common.quiet) say("{}", taken);
  tell_fallbacks(model, flags.dtype, flags.common.quiet);
  Sight sight(*backend, folder, model, tokenizer, flags.dtype, resolve_mmproj(flags.mmproj, flags.model, folder));
  if (!flags.mmproj.empty()) sight.need();
  sight.share_with(weights);
  for (const std::string& file : flags.images) sight.show_file(file);  // throws before anything is loaded
  const GeneratorShape shape{.capacity = flags.context,
                             .choices = search->choices(),
                             .usable = search->usable(),
                             .cache_type = cache_type(flags.cache_dtype)};
  check_fits(model, folder, shape, *backend,
             drafts.bytes(shape, backend->facts()) + (flags.images.empty() ? 0 : sight.bytes()));
  Generator generator(*backend, model, shape);
  sight.open(generator);
  generator.prepare(1);  // how long prompts will be nobody knows
  load_weights(weights, model, adapter.get(), generator.store(), flags.common.quiet);
  drafts.make(*backend, generator, flags.common.quiet);
  if (flags.given.contains("--context") && generator.capacity() < flags.context && !flags.common.quiet)
    say("the model has {} positions, so that is the context", generator.capacity());
  const int64_t room = std::min<int64_t>(config.max_new_tokens.value_or(INT64_MAX), generator.capacity() / 4);
  ChatPrompts prompts(
      std::move(setup.chat_template), setup.variables,
      [&](std::string_view text, const std::vector<std::string>& files) {
        std::vector<SeenPictures::Shown> pictures;
        for (const std::string& file : files) pictures.push_back(sight.show_file(file));
        return sight.encoded(text, pictures);
      },
      generator.capacity(), room, sight.mark());
  ChatTalk talk(generator, tokenizer, prompts, sight, drafts, config, model.vocabulary, grammar);
  talk.history().set_system(flags.system);
  for (const std::string& file : flags.images) talk.show(file);
  const Interruption interruption;
  bool shown = false;
  if (flags.given.contains("--prompt") || !flags.file.empty()) {
    talk.ask(text_argument(flags.prompt, flags.file));
    print_answer(talk, tokenizer, prompts, flags, shown);
    return report_profile(*backend, flags.common, generator);
  }
  ChatInput input;
  if (input.terminal() && !flags.common.quiet) say("{}; /help lists commands", prompts.name());
  while (const auto message = input.next()) {
    ChatStep step = ChatStep::answer;
    try {
      if (message->starts_with('/'))
        step = run_chat_command(talk, *message);
      else
        talk.ask(*message);
      if (step == ChatStep::answer) print_answer(talk, tokenizer, prompts, flags, shown);
    } catch (const Error& error) {
      // A question that can't be answered is forgotten; without a person there the command fails.
      if (!input.terminal()) throw;
      say("({})", error.what());
      if (step == ChatStep::answer && !talk.history().answered()) talk.history().drop_turn();
    }
    if (step == ChatStep::quit) break;
  }
  if (input.terminal()) print("\n");
  report_profile(*backend, flags.common, generator);
}

}  // namespace vkformer
