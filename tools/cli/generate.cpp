// `vkformer generate`: text from a trained model, streamed.

#include <nlohmann/json.hpp>

#include "models/generation/prepared_search.h"
#include "models/text/prompt_text.h"
#include "runtime/check.h"
#include "tools/cli/answer_grammar.h"
#include "tools/cli/commands.h"
#include "tools/cli/end_signals.h"
#include "tools/cli/generation_memory.h"
#include "tools/cli/generation_settings.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/profile.h"
#include "tools/cli/text_argument.h"
#include "tools/cli/text_writer.h"
#include "tools/cli/tune.h"

namespace vkformer {

void generate(GenerateFlags flags) {
  flags.prompt = text_argument(flags.prompt, flags.file);
  const auto folder = resolve_model_folder(flags.model);
  Model model = model_to_generate(folder, flags.dtype);
  check(model.generates(), "this {} model does not write text", model.family);
  const PromptText tokenizer(folder);
  auto [config, taken] = generation_settings(flags, folder, model, &tokenizer);
  if (model.has_encoder() || config.num_beams > 1) return search_text(flags);
  if (auto grammar = answer_grammar(flags, &tokenizer))
    config.constraint = std::make_shared<GrammarConstraint>(std::move(grammar), config.eos_token_ids, false);
  const auto adapter = open_adapter(flags.adapter, folder);
  if (adapter) adapter->adapt(model);
  const std::vector<int32_t> prompt = tokenizer.encode(flags.prompt);
  for (const int32_t id : prompt)
    check(id < model.vocabulary, "{}: the prompt has token {}, the model knows {}; is the tokenizer another model's?",
          folder.generic_string(), id, model.vocabulary);
  const auto search = make_search(config, {prompt}, model.vocabulary);
  const int64_t samples = std::exchange(config.num_return_sequences, 1);
  DraftSetup drafts(flags, model, tokenizer);
  const Weights weights(model.parameters, folder);
  auto backend = open_backend(flags.common);
  if (!taken.empty() && !flags.common.quiet) say("{}", taken);
  tell_fallbacks(model, flags.dtype, flags.common.quiet);
  const auto length = static_cast<int64_t>(prompt.size());
  // A context may be far longer than any text that is asked for.
  GeneratorShape shape{.capacity = length + config.most_new_tokens(length),
                       .cache_type = cache_type(flags.cache_dtype)};
  check_fits(model, folder, shape, *backend, drafts.bytes(shape, backend->facts()));
  tune_missing(*backend, flags.common, [&](Tuning& tuning, const TuneObserver& observer) {
    tune_generation(*backend, model, shape, std::span(&length, 1), tuning, observer);
  });
  shape.choices = search->choices();
  shape.usable = search->usable();
  Generator generator(*backend, model, shape);
  generator.prepare(std::min(length, generator.capacity()));
  load_weights(weights, model, adapter.get(), generator.store(), flags.common.quiet);
  drafts.make(*backend, generator, flags.common.quiet);

  if (length > generator.capacity() && !flags.common.quiet)
    say("the prompt has {} tokens, of which the context holds the last {}", length, generator.capacity());
  TextWriter writer(generator, tokenizer, config, model.vocabulary, prompt, drafts);
  auto rows = nlohmann::json::array();
  WrittenText all;  // of several texts their sum, and what the first tells of the prompt
  int64_t sample = 0;
  for (; sample < samples && !end_was_asked(); ++sample) {
    if (!flags.common.json && !hides_prompt(flags)) print("{}", flags.prompt);
    const WrittenText text = writer.write(static_cast<uint64_t>(sample), [&](const std::string& piece) {
      if (flags.common.json) return;
      print("{}", piece);
      check_output();  // a reader that went away wants no more
    });
    all.tokens += text.tokens;
    all.rest_seconds += text.rest_seconds;
    if (sample == 0) {
      all.first_seconds = text.first_seconds;
      all.note = text.note;
    }
    if (!flags.common.json) print("\n{}", samples > 1 ? line_behind_text(flags) : "");
    tell_broken_form(text.end);
    rows.push_back({{"text", flags.prompt + text.completion},
                    {"completion", text.completion},
                    {"finish_reason", text.end.reason()},
                    {"tokens", text.tokens},
                    {"seconds_to_first_token", text.first_seconds},
                    {"tokens_per_second", text.speed()}});
    if (config.do_sample) rows.back()["seed"] = config.seed;
  }
  if (flags.common.json)
    print("{}\n", (samples > 1 ? rows : rows[0]).dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
  const int64_t behind = all.tokens - sample;  // the first token of each text
  const double speed = behind > 0 ? static_cast<double>(behind) / all.rest_seconds : 0;
  if (!flags.common.quiet) {
    check_output();  // the text is there before what is said of it, also in one file
    say("first token after {:.1f} ms, then {:.1f} tokens/s ({} tokens{}{}){}{}", all.first_seconds * 1e3, speed,
        all.tokens, samples > 1 ? fmt::format(" in {}", counted(sample, "text")) : "",
        config.do_sample ? fmt::format(", seed {}", config.seed) : "", all.note, guesses_text(writer.speculation()));
  }
  report_profile(*backend, flags.common, generator);
  check_no_end_asked("the text ends before it was complete");
}

}  // namespace vkformer
