// `vkformer generate --ids`: greedy or beam search over token ids, for any family that writes text.

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "models/generation.h"
#include "runtime/check.h"
#include "tools/commands.h"
#include "tools/model_folder.h"

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

GenerationConfig configured(const GenerateFlags& flags, const std::filesystem::path& folder) {
  GenerationConfig config = load_generation_config(folder);
  if (flags.given.contains("--tokens") || (!config.max_new_tokens && config.max_length == GenerationConfig{}.max_length))
    config.max_new_tokens = flags.tokens;
  if (flags.given.contains("--beams")) config.num_beams = flags.beams;
  if (flags.given.contains("--return")) config.num_return_sequences = flags.returned;
  if (flags.given.contains("--length-penalty")) config.length_penalty = flags.length_penalty;
  if (flags.given.contains("--early-stopping")) config.early_stopping = EarlyStopping::yes;
  return config;
}

}  // namespace

void generate_ids(const GenerateFlags& flags) {
  const auto folder = resolve_model_folder(flags.model);
  const Model model = make_model(JsonObject::load(folder / "config.json"));
  const GenerationConfig config = configured(flags, folder);
  const Weights weights(model.parameters, folder);
  std::vector<std::vector<int32_t>> given;
  size_t longest = 0;
  for (const std::string& text : flags.ids) {
    given.push_back(parse_ids(text));
    longest = std::max(longest, given.back().size());
  }
  // Sources are padded behind their ends, prompts in front.
  std::vector<int32_t> padded, mask, pads;
  for (const auto& ids : given) {
    const size_t missing = longest - ids.size();
    for (int64_t beam = 0; beam < config.num_beams; ++beam) pads.push_back(static_cast<int32_t>(missing));
    padded.insert(padded.end(), ids.begin(), ids.end());
    padded.insert(padded.end(), missing, 0);
    mask.insert(mask.end(), ids.size(), 1);
    mask.insert(mask.end(), missing, 0);
  }
  const auto sources = static_cast<int64_t>(given.size());
  const bool unlike = std::any_of(pads.begin(), pads.end(), [](int32_t n) { return n > 0; });
  const int64_t prompt = model.has_encoder() ? 1 : static_cast<int64_t>(longest);
  GeneratorShape shape{.rows = sources * config.num_beams, .capacity = prompt + config.most_new_tokens(prompt)};
  if (model.has_encoder()) {
    shape.sources = sources;
    shape.source_positions = static_cast<int64_t>(longest);
  } else {
    shape.left_padded = unlike;
  }
  std::vector<std::vector<int32_t>> prompts = given;
  if (model.has_encoder()) prompts.assign(given.size(), {config.decoder_start()});
  auto search = make_search(config, std::move(prompts), model.vocabulary);

  auto backend = open_backend(flags.common);
  Generator generator(*backend, model, shape);
  load_weights(weights, generator.store(), flags.common.quiet);
  if (model.has_encoder()) generator.encode(padded, mask);
  run_search(generator, *search, shape.left_padded ? std::span<const int32_t>(pads) : std::span<const int32_t>());

  auto rows = nlohmann::json::array();
  const auto results = search->results();
  for (size_t source = 0; source < results.size(); ++source)
    for (const Hypothesis& hypothesis : results[source]) {
      if (flags.common.json)
        rows.push_back({{"source", source}, {"ids", hypothesis.ids}, {"score", hypothesis.score}});
      else if (config.num_beams > 1)
        fmt::print("{:.4f}  {}\n", hypothesis.score, fmt::join(hypothesis.ids, ","));
      else
        fmt::print("{}\n", fmt::join(hypothesis.ids, ","));
    }
  if (flags.common.json) fmt::print("{}\n", rows.dump(1));
}

}  // namespace vkformer
