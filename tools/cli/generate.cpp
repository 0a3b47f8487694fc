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

namespace {

/// A text behind its prompt.
struct Written {
  std::string completion;
  TextEnd end;
  int64_t tokens = 0;
  double first_seconds = 0, rest_seconds = 0;  ///< to the first token, and from there on
  std::string note = {};                       ///< on its way beyond the context

  double speed() const { return tokens > 1 ? static_cast<double>(tokens - 1) / rest_seconds : 0; }
};

/// Texts of one prompt, one after the other.
class TextWriter {
 public:
  /// What is given must outlive this object, which alone uses the generator.
  TextWriter(Generator& generator, const PromptText& tokenizer, const GenerationConfig& config, int64_t vocabulary,
             const std::vector<int32_t>& prompt)
      : generator_(generator), tokenizer_(tokenizer), config_(config), vocabulary_(vocabulary), prompt_(prompt) {}

  /// Of draws the one with this number. `emit` gets it piece by piece.
  Written write(uint64_t number, const std::function<void(const std::string&)>& emit) {
    const auto search = make_search(config_, {prompt_}, vocabulary_);
    search->set_number(0, number);
    const auto continuation = tokenizer_.stream(prompt_);
    Written text;
    const auto add = [&](const std::string& piece) {
      text.completion += piece;
      emit(piece);
    };
    const double start = now();
    begin();
    catch_end_signals();  // what has been written and measured until then counts
    std::vector<float> logits = logits_;
    std::span<const int32_t> choices = choices_;
    while (true) {
      search->advance(logits, choices);
      const auto history = search->ids(0);
      if (text.tokens++ == 0) text.first_seconds = now() - start;
      const bool written = history.size() == prompt_.size() + static_cast<size_t>(text.tokens);
      if (written && !config_.ends(history.back())) add(continuation(history.back()));
      if (search->done() || end_was_asked()) break;
      if (generator_.position() < generator_.capacity()) {
        logits = generator_.decode(history.back());
      } else {
        if (text.note.empty())
          text.note = fmt::format("; from token {} on with the last half of the {} positions", text.tokens + 1,
                                  generator_.capacity());
        logits = generator_.prefill(last_of(history, std::max<int64_t>(1, generator_.capacity() / 2)));
        in_cache_ = false;
      }
      choices = generator_.choices();
    }
    add(continuation({}));
    text.end = end_of(config_, search->ids(0).subspan(prompt_.size()), std::ssize(prompt_));
    text.rest_seconds = now() - start - text.first_seconds;
    return text;
  }

 private:
  // Beyond the context the model goes on from the last half of it: positions are learned, the cache can't slide.
  static std::span<const int32_t> last_of(std::span<const int32_t> ids, int64_t most) {
    return ids.last(std::min(static_cast<size_t>(most), ids.size()));
  }

  /// Runs the prompt, unless the cache has it from the text before.
  void begin() {
    const int64_t positions = std::min(std::ssize(prompt_), generator_.capacity());
    if (in_cache_ && generator_.kept(positions) == positions) return generator_.rewind(positions);
    logits_ = generator_.prefill(last_of(prompt_, generator_.capacity()));
    choices_.assign(generator_.choices().begin(), generator_.choices().end());
    in_cache_ = true;
  }

  Generator& generator_;
  const PromptText& tokenizer_;
  const GenerationConfig& config_;
  int64_t vocabulary_;
  const std::vector<int32_t>& prompt_;
  bool in_cache_ = false;
  std::vector<float> logits_;  ///< behind the prompt
  std::vector<int32_t> choices_;
};

}  // namespace

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
  const int64_t samples = std::exchange(config.num_return_sequences, 1);
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

  if (length > generator.capacity() && !flags.common.quiet)
    say("the prompt has {} tokens, of which the context holds the last {}", length, generator.capacity());
  TextWriter writer(generator, tokenizer, config, model.vocabulary, prompt);
  auto rows = nlohmann::json::array();
  Written all;  // of several texts their sum, and what the first tells of the prompt
  int64_t sample = 0;
  for (; sample < samples && !end_was_asked(); ++sample) {
    if (!flags.common.json && !hides_prompt(flags)) print("{}", flags.prompt);
    const Written text = writer.write(static_cast<uint64_t>(sample), [&](const std::string& piece) {
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
  if (!flags.common.quiet)
    say("first token after {:.1f} ms, then {:.1f} tokens/s ({} tokens{}{}){}", all.first_seconds * 1e3, all.speed(),
        all.tokens, samples > 1 ? fmt::format(" in {}", counted(sample, "text")) : "",
        config.do_sample ? fmt::format(", seed {}", config.seed) : "", all.note);
  report_profile(*backend, flags.common, generator);
  check_no_end_asked("the text ends before it was complete");
}

}  // namespace vkformer
