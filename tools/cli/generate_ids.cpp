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

/// What was asked for as text is printed as text; ids, too, with their text behind a tab where there is a tokenizer.
void print_results(const std::vector<std::vector<Hypothesis>>& results, const PromptText* tokenizer, bool as_text,
                   const GenerationConfig& config, bool json) {
  auto rows = nlohmann::json::array();
  for (size_t source = 0; source < results.size(); ++source)
    for (const Hypothesis& hypothesis : results[source]) {
      std::span<const int32_t> ids = hypothesis.ids;
      if (tokenizer && !ids.empty() && config.ends(ids.back())) ids = ids.first(ids.size() - 1);
      const std::string text = tokenizer ? tokenizer->decode(ids) : "";
      if (json) {
        rows.push_back({{"source", source}, {"ids", hypothesis.ids}});
        if (config.num_beams > 1) rows.back()["score"] = hypothesis.score;
        if (tokenizer) rows.back()["text"] = text;
        continue;
      }
      const std::string on_one_line = printable(text, 6 * text.size() + 8);
      if (config.num_beams > 1) print("{:.4f}  ", hypothesis.score);
      if (as_text && config.num_beams > 1)
        print("{}\n", on_one_line);
      else if (as_text)
        print("{}\n", text);
      else
        vkformer::print("{}{}\n", fmt::join(hypothesis.ids, ","), tokenizer ? '\t' + on_one_line : "");
    }
  if (json) print("{}\n", rows.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void search(const GenerateFlags& flags, const std::filesystem::path& folder, std::vector<std::vector<int32_t>> given,
            const PromptText* tokenizer, bool as_text) {
  const auto adapter = open_adapter(flags.adapter, folder);
  const Model model = model_to_generate(folder, flags.dtype, adapter.get());
  check_reads_text(model, flags.model);
  auto [config, taken] = generation_settings(flags, folder, model, tokenizer);
  if (as_text && model.has_encoder())
    for (const int32_t id : tokenizer->ends_beside(given.front())) config.eos_token_ids.push_back(id);
  if (auto grammar = answer_grammar(flags, tokenizer ? &tokenizer->target() : nullptr))
    config.constraint =
        std::make_shared<GrammarConstraint>(std::move(grammar), config.eos_token_ids, model.has_encoder());
  PreparedSearch prepared = prepare_search(model, config, std::move(given));
  prepared.shape.cache_type = cache_type(flags.cache_dtype);
  const Weights weights(model.parameters, folder);

  auto backend = open_backend(flags.common);
  if (!taken.empty() && !flags.common.quiet) say("{}", taken);
  tell_fallbacks(model, flags.dtype, flags.common.quiet);
  check_fits(model, folder, prepared.shape, backend->facts());
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
  print_results(prepared.search->results(), tokenizer ? &tokenizer->target() : nullptr, as_text, config,
                flags.common.json);
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
