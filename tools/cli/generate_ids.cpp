// `vkformer generate --ids`: greedy or beam search or draws over token ids, for any family that writes text; and the
// same from text for an encoder's source.

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "models/generation/prepared_search.h"
#include "runtime/check.h"
#include "tools/cli/commands.h"
#include "tools/cli/generation_settings.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/profile.h"
#include "tools/cli/prompt_text.h"
#include "tools/cli/tune.h"

namespace vkformer {

namespace {

std::vector<int32_t> parse_ids(const std::string& text) {
  std::vector<int32_t> ids;
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    check(error == std::errc() && id >= 0, "--ids '{}' is not a list of token ids; write them like 5,17,3", text);
    ids.push_back(id);
    at = next;
  }
  check(!ids.empty(), "--ids '{}' has no token ids; write them like 5,17,3", text);
  return ids;
}

/// As ids or, with a tokenizer, as text.
void print_results(const std::vector<std::vector<Hypothesis>>& results, const PromptText* tokenizer,
                   const GenerationConfig& config, bool json) {
  auto rows = nlohmann::json::array();
  for (size_t source = 0; source < results.size(); ++source)
    for (const Hypothesis& hypothesis : results[source]) {
      std::span<const int32_t> ids = hypothesis.ids;
      if (tokenizer && !ids.empty() && config.ends(ids.back())) ids = ids.first(ids.size() - 1);
      const std::string text = tokenizer ? tokenizer->decode(ids) : fmt::format("{}", fmt::join(ids, ","));
      if (json) {
        rows.push_back({{"source", source}, {"ids", hypothesis.ids}, {"score", hypothesis.score}});
        if (tokenizer) rows.back()["text"] = text;
      } else if (config.num_beams > 1) {
        print("{:.4f}  {}\n", hypothesis.score, text);
      } else {
        print("{}\n", text);
      }
    }
  if (json) print("{}\n", rows.dump(1));
}

void search(const GenerateFlags& flags, const std::filesystem::path& folder, std::vector<std::vector<int32_t>> given,
            const PromptText* tokenizer) {
  const auto adapter = open_adapter(flags.adapter);
  const Model model = model_to_generate(folder, flags.dtype, adapter.get());
  auto [config, taken] = generation_settings(flags, folder, model, tokenizer);
  if (tokenizer && model.has_encoder())
    for (const int32_t id : tokenizer->ends_beside(given.front())) config.eos_token_ids.push_back(id);
  PreparedSearch prepared = prepare_search(model, config, std::move(given));
  const Weights weights(model.parameters, folder);

  auto backend = open_backend(flags.common);
  if (!taken.empty() && !flags.common.quiet) say("{}", taken);
  tune_missing(*backend, flags.common, [&](Tuning& tuning, const TuneObserver& observer) {
    int64_t prompt = 1;
    for (int64_t row = 0; row < prepared.shape.rows; ++row)
      prompt = std::max(prompt, static_cast<int64_t>(prepared.search->ids(row).size()));
    tune_generation(*backend, model, prepared.shape, std::span(&prompt, 1), tuning, observer);
  });
  Generator generator(*backend, model, prepared.shape);
  load_weights(weights, model, adapter.get(), generator.store(), flags.common.quiet);
  run_search(generator, prepared);
  print_results(prepared.search->results(), tokenizer ? &tokenizer->target() : nullptr, config, flags.common.json);
  if (config.do_sample && !flags.common.quiet) say("seed {}", config.seed);

  report_profile(*backend, flags.common, generator);
}

}  // namespace

void generate_ids(const GenerateFlags& flags) {
  const auto folder = resolve_model_folder(flags.model);
  std::vector<std::vector<int32_t>> given;
  for (const std::string& text : flags.ids) given.push_back(parse_ids(text));
  search(flags, folder, std::move(given), nullptr);
}

void search_text(const GenerateFlags& flags) {
  const auto folder = resolve_model_folder(flags.model);
  const PromptText tokenizer(folder);
  search(flags, folder, {tokenizer.encode(flags.prompt)}, &tokenizer);
}

}  // namespace vkformer
