#include "tools/cli/generation_settings.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "models/model_files.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "runtime/text_number.h"

namespace vkformer {

namespace {

/// "15043+1.5": the id and what is added to its logit, as llama.cpp writes it.
std::pair<int32_t, double> parse_logit_bias(const std::string& text) {
  int32_t id = -1;
  double bias = 0;
  const char* end = text.data() + text.size();
  const auto [sign, id_error] = std::from_chars(text.data(), end, id);
  const bool is_signed = id_error == std::errc() && sign != end && (*sign == '+' || *sign == '-');
  if (is_signed) {
    const auto [rest, error] = decimal_from_chars(sign + 1, end, bias);
    if (error == std::errc() && rest == end && id >= 0 && bias >= 0 && (*sign == '-' || !std::isinf(bias)))
      return {id, *sign == '-' ? -bias : bias};
  }
  throw UsageError(
      fmt::format("--logit-bias {} is not an id, a sign and a number, like 15043+1.5 or 2-inf", in_quotes(text)));
}

GenerationConfig with_flags(GenerationConfig config, const GenerateFlags& flags) {
  const auto given = [&](const char* name) { return flags.given.contains(name); };
  config.usual_new_tokens = flags.tokens;
  if (given("--tokens")) {
    config.max_new_tokens = flags.tokens;
    config.max_length.reset();
  }
  if (flags.answers) config.max_length.reset();
  if (flags.answers && !given("--tokens")) config.max_new_tokens.reset();
  if (given("--beams")) config.num_beams = flags.beams;
  if (given("--samples")) config.num_return_sequences = flags.returned;
  if (given("--length-penalty")) config.length_penalty = flags.length_penalty;
  if (given("--early-stopping")) config.early_stopping = EarlyStopping::yes;
  for (const char* flag : {"--length-penalty", "--early-stopping"})
    if (given(flag) && config.num_beams == 1)
      throw UsageError(fmt::format("{} chooses among beams, of which there is one; add --beams N", flag));
  for (const char* flag : {"--temp", "--top-k", "--top-p", "--min-p", "--seed"})
    config.do_sample = config.do_sample || given(flag);
  for (const char* flag : {"--temp", "--top-k", "--top-p", "--min-p"})
    config.temperature_last = config.temperature_last || given(flag);
  if (given("--temp")) config.temperature = flags.sampling.temperature;
  if (given("--top-k")) config.top_k = flags.sampling.top_k;
  if (given("--top-p")) config.top_p = flags.sampling.top_p;
  if (given("--min-p")) config.min_p = flags.sampling.min_p;
  config.recent_penalties = flags.penalties;
  if (given("--repeat-penalty")) config.repetition_penalty = 1;  // the folder's has the same purpose
  for (const std::string& bias : flags.logit_bias) config.logit_bias.push_back(parse_logit_bias(bias));
  if (config.temperature == 0) config.do_sample = false;
  if (!config.do_sample) {  // then these say nothing
    const GenerationConfig neutral;
    config.temperature = neutral.temperature;
    config.top_k = neutral.top_k;
    config.top_p = neutral.top_p;
    config.min_p = neutral.min_p;
    config.temperature_last = neutral.temperature_last;
  }
  return config;
}

/// The keys of a file without which something else would be generated, each with its value.
std::string taken_from(const GenerationSource& source, const GenerateFlags& flags) {
  const auto config_of = [&](const JsonObject& json) {
    return with_flags(parse_generation_config(json, source.silent), flags);
  };
  const GenerationConfig whole = config_of(source.json);
  std::string taken;
  for (const auto& [key, value] : source.json.value().items()) {
    nlohmann::json rest = source.json.value();
    rest.erase(key);
    if (config_of(JsonObject::parse(rest.dump(), source.json.name())) == whole) continue;
    taken += fmt::format("{}{} {}", taken.empty() ? "" : ", ", key, printable(value.dump(), 60));
  }
  if (taken.empty()) return taken;
  return fmt::format("from {}: {}", std::filesystem::path(source.json.name()).filename().generic_string(), taken);
}

/// Where a folder has no generation_config.json: what the tokenizer's own kind of model says of itself.
GenerationSource source_of(const std::filesystem::path& folder, const GenerateFlags& flags, bool drawn,
                           const PromptText* tokenizer) {
  GenerationSource source = find_generation_source(folder, tokenizer && !tokenizer->has_end());
  const bool own_file = has_model_json(folder, generation_file);
  if (own_file || !drawn || flags.beams > 1) return source;
  if (is_gguf(folder)) {
    take_usual_draws(source.silent);
  } else {
    source.silent.do_sample = true;
    source.silent.top_k = 0;
  }
  return source;
}

}  // namespace

GenerationSettings generation_settings(const GenerateFlags& flags, const std::filesystem::path& folder,
                                       const Model& model, const PromptText* tokenizer) {
  const bool decoder = !model.has_encoder();
  const GenerationSource source = source_of(folder, flags, decoder, tokenizer);
  GenerationSettings settings{with_flags(parse_generation_config(source.json, source.silent), flags),
                              taken_from(source, flags)};
  settings.config.seed = flags.seed >= 0 ? static_cast<uint32_t>(flags.seed) : std::random_device{}();
  if (decoder && tokenizer)
    for (int64_t id = tokenizer->size(); id < model.vocabulary; ++id)
      settings.config.suppress_tokens.push_back(static_cast<int32_t>(id));
  return settings;
}

}  // namespace vkformer
