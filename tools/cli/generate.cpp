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
#include "tools/cli/progress.h"
#include "tools/cli/text_argument.h"
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
          folder.string(), id, model.vocabulary);
  const auto search = make_search(config, {prompt}, model.vocabulary);
  const Weights weights(model.parameters, folder);
  auto backend = open_backend(flags.common);
  if (!taken.empty() && !flags.common.quiet) say("{}", taken);
  tell_fallbacks(model, flags.dtype, flags.common.quiet);
  const auto length = static_cast<int64_t>(prompt.size());
  // A context may be far longer than any text that is asked for.
  GeneratorShape shape{.capacity = length + config.most_new_tokens(length),
                       .cache_type = cache_type(flags.cache_dtype)};
  check_fits(model, folder, shape, backend->facts());
  tune_missing(*backend, flags.common, [&](Tuning& tuning, const TuneObserver& observer) {
    tune_generation(*backend, model, shape, std::span(&length, 1), tuning, observer);
  });
  shape.choices = search->choices();
  shape.usable = search->usable();
  Generator generator(*backend, model, shape);
  generator.prepare(std::min(length, generator.capacity()));
  load_weights(weights, model, adapter.get(), generator.store(), flags.common.quiet);

  const auto continuation = tokenizer.stream(prompt);
  std::string completion;
  const auto emit = [&](const std::string& piece) {
    completion += piece;
    if (flags.common.json) return;
    print("{}", piece);
    check_output();  // a reader that went away wants no more
  };
  if (!flags.common.json && !hides_prompt(flags)) print("{}", flags.prompt);
  const double start = now();
  double first_token = 0;
  int64_t generated = 0;
  // Beyond the context the model goes on from the last half of it: positions are learned, the cache can't slide.
  const auto recent = [&](int64_t most) {
    const auto history = search->ids(0);
    return history.last(std::min(static_cast<size_t>(most), history.size()));
  };
  if (length > generator.capacity() && !flags.common.quiet)
    say("the prompt has {} tokens, of which the context holds the last {}", length, generator.capacity());
  std::string note;
  std::vector<float> logits = generator.prefill(recent(generator.capacity()));
  catch_end_signals();  // what has been written and measured until then counts
  while (true) {
    search->advance(logits, generator.choices());
    const auto history = search->ids(0);
    if (generated++ == 0) first_token = now() - start;
    const bool written = history.size() == prompt.size() + static_cast<size_t>(generated);
    if (written && !config.ends(history.back())) emit(continuation(history.back()));
    if (search->done() || end_was_asked()) break;
    if (generator.position() < generator.capacity()) {
      logits = generator.decode(history.back());
      continue;
    }
    if (note.empty())
      note =
          fmt::format("; from token {} on with the last half of the {} positions", generated + 1, generator.capacity());
    logits = generator.prefill(recent(std::max<int64_t>(1, generator.capacity() / 2)));
  }
  emit(continuation({}));
  const TextEnd end = end_of(config, search->ids(0).subspan(prompt.size()), length);
  const double rest = now() - start - first_token;
  const double speed = generated > 1 ? static_cast<double>(generated - 1) / rest : 0;
  if (flags.common.json) {
    nlohmann::json row{{"text", flags.prompt + completion},     {"completion", completion},
                       {"finish_reason", end.reason()},         {"tokens", generated},
                       {"seconds_to_first_token", first_token}, {"tokens_per_second", speed}};
    if (config.do_sample) row["seed"] = config.seed;
    print("{}\n", row.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    print("\n");
  }
  if (!flags.common.quiet)
    say("first token after {:.1f} ms, then {:.1f} tokens/s ({} tokens{}){}", first_token * 1e3, speed, generated,
        config.do_sample ? fmt::format(", seed {}", config.seed) : "", note);
  tell_broken_form(end);
  report_profile(*backend, flags.common, generator);
  check_no_end_asked("the text ends before it was complete");
}

}  // namespace vkformer
