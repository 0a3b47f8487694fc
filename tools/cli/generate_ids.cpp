// `vkformer generate --ids`: greedy or beam search or draws over token ids, for any family that writes text; and the
// same from text for an encoder's source.

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "models/generation/prepared_search.h"
#include "models/model_files.h"
#include "models/text/prompt_text.h"
#include "runtime/files/utf8.h"
#include "tools/cli/answer_grammar.h"
#include "tools/cli/commands.h"
#include "tools/cli/draft_setup.h"
#include "tools/cli/generation_memory.h"
#include "tools/cli/generation_settings.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/profile.h"
#include "tools/cli/progress.h"
#include "tools/cli/token_ids.h"
#include "tools/cli/tune.h"

namespace vkformer {

namespace {

/// As what goes on from `prompt`.
std::string continued(const PromptText& tokenizer, std::span<const int32_t> prompt, std::span<const int32_t> ids) {
  const auto stream = tokenizer.stream(prompt);
  std::string text;
  for (const int32_t id : ids) text += stream(id);
  return text + stream({});
}

/// How results are printed.
struct Printing {
  const PromptText* tokenizer = nullptr;  ///< nullptr: there is none
  bool as_text = false;  ///< what was asked for as text; ids, too, with their text behind a tab where there is one
  bool json = false;
  bool goes_on = true;      ///< from its prompt, as a decoder's text does,
  bool with_prompt = true;  ///< which is printed, too
  std::string_view behind;  ///< a text that is one of several
};

/// `prompts`: tokens of each; behind an encoder 1, the start id.
void print_results(const std::vector<std::vector<Hypothesis>>& results, const std::vector<size_t>& prompts,
                   const GenerationConfig& config, const Printing& printing) {
  const PromptText* tokenizer = printing.tokenizer;
  auto rows = nlohmann::json::array();
  for (size_t source = 0; source < results.size(); ++source)
    for (const Hypothesis& hypothesis : results[source]) {
      const std::span<const int32_t> all = hypothesis.ids;
      const auto prompt = all.first(prompts[source]), written = all.subspan(prompt.size());
      const TextEnd end = end_of(config, written, std::ssize(prompt));
      tell_broken_form(end);
      const bool ended = tokenizer && !written.empty() && config.ends(written.back());
      const std::span<const int32_t> ids = all.first(all.size() - (ended ? 1 : 0));
      const auto behind_prompt = [&] { return continued(*tokenizer, prompt, ids.subspan(prompt.size())); };
      if (printing.json) {
        rows.push_back({{"source", source}, {"ids", all}, {"finish_reason", end.reason()}});
        if (config.num_beams > 1) rows.back()["score"] = hypothesis.score;
        if (tokenizer) rows.back()["text"] = tokenizer->decode(ids);
        if (tokenizer && printing.goes_on) rows.back()["completion"] = behind_prompt();
        continue;
      }
      const std::string text = !tokenizer ? "" : printing.with_prompt ? tokenizer->decode(ids) : behind_prompt();
      const std::string on_one_line = printable(text, 6 * text.size() + 8);
      if (config.num_beams > 1) print("{:.4f}  ", hypothesis.score);
      if (printing.as_text && config.num_beams > 1)
        print("{}\n", on_one_line);
      else if (printing.as_text)
        print("{}\n{}", text, results[source].size() > 1 ? printing.behind : "");
      else
        vkformer::print("{}{}\n", fmt::join(printing.with_prompt ? all : written, ","),
                        tokenizer ? '\t' + on_one_line : "");
    }
  if (printing.json) print("{}\n", rows.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void search(const GenerateFlags& flags, const std::filesystem::path& folder, std::vector<std::vector<int32_t>> given,
            const PromptText* tokenizer, bool as_text) {
  refuse_drafts(flags);
  const auto adapter = open_adapter(flags.adapter, folder);
  Model model = model_to_generate(folder, flags.dtype, adapter.get());
  check_reads_text(model, flags.model);
  auto [config, taken] = generation_settings(flags, folder, model, tokenizer);
  if (as_text && model.has_encoder())
    for (const int32_t id : tokenizer->ends_beside(given.front())) config.eos_token_ids.push_back(id);
  if (auto grammar = answer_grammar(flags, tokenizer ? &tokenizer->target() : nullptr))
    config.constraint =
        std::make_shared<GrammarConstraint>(std::move(grammar), config.eos_token_ids, model.has_encoder());
  std::vector<size_t> prompts;
  for (const auto& ids : given) prompts.push_back(model.has_encoder() ? 1 : ids.size());
  PreparedSearch prepared = prepare_search(model, config, std::move(given));
  prepared.shape.cache_type = cache_type(flags.cache_dtype);
  const Weights weights(model.parameters, folder);

  auto backend = open_backend(flags.common);
  if (!taken.empty() && !flags.common.quiet) say("{}", taken);
  tell_fallbacks(model, flags.dtype, flags.common.quiet);
  check_fits(model, folder, prepared.shape, *backend);
  tune_missing(*backend, flags.common, [&](Tuning& tuning, const TuneObserver& observer) {
    tune_generation(*backend, model, prepared.shape, std::span(&prepared.prompt, 1), tuning, observer);
  });
  Generator generator(*backend, model, prepared.shape);
  generator.prepare(prepared.prompt);
  load_weights(weights, model, adapter.get(), generator.store(), flags.common.quiet);
  Progress bar(prepared.shape.capacity, flags.common.quiet);
  int64_t steps = 0;
  run_search(generator, prepared, [&](std::span<const float>) { bar.show(++steps, "tokens at most"); });
  bar.clear();
  print_results(prepared.search->results(), prompts, config,
                {.tokenizer = tokenizer ? &tokenizer->target() : nullptr,
                 .as_text = as_text,
                 .json = flags.common.json,
                 .goes_on = !model.has_encoder(),
                 .with_prompt = model.has_encoder() || !hides_prompt(flags),
                 .behind = line_behind_text(flags)});
  if (config.do_sample && !flags.common.quiet) say("seed {}", config.seed);

  report_profile(*backend, flags.common, generator);
}

}  // namespace

void generate_ids(const GenerateFlags& flags) {
  const auto folder = resolve_model_folder(flags.model);
  std::vector<std::vector<int32_t>> given;
  for (const std::string& text : flags.ids) given.push_back(parse_ids(text, "--ids"));
  const auto tokenizer =
      has_model_json(folder, "tokenizer.json") ? std::make_unique<PromptText>(folder) : std::unique_ptr<PromptText>();
  search(flags, folder, std::move(given), tokenizer.get(), false);
}

void search_text(const GenerateFlags& flags) {
  const auto folder = resolve_model_folder(flags.model);
  const PromptText tokenizer(folder);
  search(flags, folder, {tokenizer.encode(flags.prompt)}, &tokenizer, true);
}

}  // namespace vkformer
