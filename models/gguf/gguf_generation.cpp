#include "models/gguf/gguf_generation.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace vkformer {

namespace {

constexpr const char* temperature_key = "general.sampling.temp";
constexpr const char* temperature = "temperature";
constexpr const char* top_k_key = "general.sampling.top_k";
constexpr const char* top_k = "top_k";

/// Keys of numbers, theirs and Hugging Face's.
constexpr std::pair<const char*, const char*> numbers[] = {{temperature_key, temperature},
                                                           {"general.sampling.top_p", "top_p"},
                                                           {"general.sampling.min_p", "min_p"},
                                                           {"general.sampling.penalty_repeat", "repetition_penalty"}};

}  // namespace

bool has_gguf_sampling(const GgufMetadata& metadata) {
  return metadata.has(top_k_key) ||
         std::ranges::any_of(numbers, [&](const auto& keys) { return metadata.has(keys.first); });
}

nlohmann::json gguf_sampling(const GgufMetadata& metadata) {
  nlohmann::json generation = {{"do_sample", true}};
  if (metadata.has(top_k_key)) generation[top_k] = metadata.integer(top_k_key, -1, INT32_MAX);
  for (const auto& [key, theirs] : numbers)
    if (metadata.has(key)) generation[theirs] = metadata.number(key, 0, 1e3);
  if (generation.value(temperature, 1.0) == 0) {
    generation["do_sample"] = false;
    generation.erase(temperature);  // transformers refuses 0
  }
  return generation;
}

void add_sampling(GgufPairs& pairs, const JsonObject& object) {
  nlohmann::json generation = object.value();
  // There is no key for do_sample, and where nothing is said llama.cpp draws, and not at 1.
  if (!boolean_or(object, "do_sample", false))
    generation[temperature] = 0;
  else if (!object.has(temperature))
    generation[temperature] = 1;
  const auto is_number = [&](const char* key) { return generation.contains(key) && generation[key].is_number(); };
  if (is_number(top_k))
    pairs.add_integer(top_k_key, static_cast<uint32_t>(std::max(generation[top_k].get<int64_t>(), int64_t{0})));
  for (const auto& [key, theirs] : numbers)
    if (is_number(theirs)) pairs.add_number(key, generation[theirs].get<float>());
}

}  // namespace vkformer
