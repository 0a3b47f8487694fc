// `vkformer generate`: text from a trained model, streamed.

#include <nlohmann/json.hpp>
#include <random>

#include "models/generation/generation.h"
#include "runtime/check.h"
#include "tools/cli/commands.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/profile.h"
#include "tools/cli/progress.h"
#include "tools/cli/prompt_text.h"
#include "tools/cli/tune.h"

namespace vkformer {

void generate(GenerateFlags flags) {
  const auto folder = resolve_model_folder(flags.model);
  const Model model = model_to_generate(folder, flags.dtype);
  if (model.has_encoder()) return search_text(flags);
  for (const char* flag : {"--beams", "--return", "--length-penalty", "--early-stopping"})
    if (flags.given.contains(flag))
      throw UsageError(fmt::format("{} needs --ids, or an encoder-decoder model for -p", flag));
  const PromptText tokenizer(folder);
  // Ids that no text has (a padded embedding) are never drawn, nor ids that the model does not have.
  const auto known = static_cast<size_t>(std::min(tokenizer.size(), model.vocabulary));
  const std::vector<int32_t> prompt = tokenizer.encode(flags.prompt);
  for (const int32_t id : prompt)
    check(id < model.vocabulary, "{}: the prompt has token {}, the model knows {}; is the tokenizer another model's?",
          folder.string(), id, model.vocabulary);
  GenerationConfig config;
  if (tokenizer.has_end()) config = load_generation_config(folder);
  flags.sampling.seed = flags.seed >= 0 ? static_cast<uint32_t>(flags.seed) : std::random_device{}();
  const Weights weights(model.parameters, folder);
  auto backend = open_backend(flags.common);
  tune_missing(*backend, flags.common, [&](Tuning& tuning, const TuneObserver& observer) {
    const auto length = static_cast<int64_t>(prompt.size());
    tune_generation(*backend, model, {}, std::span(&length, 1), tuning, observer);
  });
  Generator generator(*backend, model);
  load_weights(weights, generator.store(), flags.common.quiet);

  const auto continuation = tokenizer.stream(prompt);
  std::string text = flags.prompt;
  const auto emit = [&](const std::string& piece) {
    text += piece;
    if (flags.common.json) return;
    fmt::print("{}", piece);
    std::fflush(stdout);
  };
  if (!flags.common.json) fmt::print("{}", flags.prompt);
  const double start = now();
  double first_token = 0;
  int64_t generated = 0;
  // Beyond the context the model goes on from the last half of it: positions are learned, the cache can't slide.
  std::vector<int32_t> history = prompt;
  const auto recent = [&](int64_t most) {
    const auto n = static_cast<size_t>(std::min<int64_t>(most, static_cast<int64_t>(history.size())));
    return std::span<const int32_t>(history).last(n);
  };
  std::vector<float> logits = generator.prefill(recent(generator.capacity()));
  while (generated < flags.tokens) {
    const int32_t token = sample(std::span(logits).first(known), flags.sampling, static_cast<uint64_t>(generated));
    if (generated++ == 0) first_token = now() - start;
    if (config.ends(token)) break;
    history.push_back(token);
    emit(continuation(token));
    if (generated == flags.tokens) break;
    logits = generator.position() < generator.capacity()
                 ? generator.decode(token)
                 : generator.prefill(recent(std::max<int64_t>(1, generator.capacity() / 2)));
  }
  emit(continuation({}));
  const double rest = now() - start - first_token;
  const double speed = generated > 1 ? static_cast<double>(generated - 1) / rest : 0;
  if (flags.common.json)
    fmt::print("{}\n", nlohmann::json{{"text", text},
                                      {"tokens", generated},
                                      {"seed", flags.sampling.seed},
                                      {"seconds_to_first_token", first_token},
                                      {"tokens_per_second", speed}}
                           .dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    fmt::print("\n");
  if (!flags.common.quiet)
    fmt::print(stderr, "first token after {:.1f} ms, then {:.1f} tokens/s ({} tokens, seed {})\n", first_token * 1e3,
               speed, generated, flags.sampling.seed);
  if (!flags.common.profile.empty()) {
    print_profile(*generator.prefill_program(), "prefill", flags.common.json, roof_of(*backend));
    check(generator.decode_program() != nullptr,
          "nothing was decoded, so there is no profile to write; use -n 2 or more");
    print_profile(*generator.decode_program(), "last decoded token", flags.common.json, roof_of(*backend));
    write_trace({{"prefill", generator.prefill_program()}, {"decode", generator.decode_program()}},
                flags.common.profile);
  }
}

}  // namespace vkformer
