#pragma once
// The keys that the config.json of every family with mixtures of experts has.

#include <nlohmann/json_fwd.hpp>

#include "models/families/decoder/decoder.h"

namespace vkformer {

/// Reads how many experts there are, at least `fewest`, and how many of them a token takes (`chosen`) over the defaults
/// in `d.experts`; all layers have them. Throws Error naming file and key for values that can't be, and for what is not
/// supported.
void read_experts(const JsonObject& json, Decoder& d, int64_t fewest, const char* chosen = "num_experts_per_tok");
/// What read_experts() reads, the number of experts under `count`, the name that the family's older files have.
nlohmann::json expert_keys(const Decoder& d, const char* count = "num_experts",
                           const char* chosen = "num_experts_per_tok");

/// After read_experts(): gives as many of the first layers as `key` says a feed-forward layer instead.
void read_plain_layers(const JsonObject& json, Decoder& d, const char* key, int64_t usual);
int64_t plain_layers_of(const Decoder& d);

/// DeepSeek's and what is built like it, after read_experts(): how wide the experts are, whether a token's weights are
/// divided by their sum, which an absent key leaves at `normalised`, and the factor of what they give.
void read_deepseek_experts(const JsonObject& json, Decoder& d, bool normalised);
nlohmann::json deepseek_expert_keys(const Decoder& d);
/// That experts are not chosen by groups; `usual` for an absent key.
void read_one_group(const JsonObject& json, const Decoder& d, int64_t usual);
nlohmann::json one_group_keys();

/// Qwen's, after read_experts(): how wide the experts are, whether a token's weights sum to 1, for which an absent key
/// stands for `normalised`, and which layers have a feed-forward layer instead.
void read_qwen_experts(const JsonObject& json, Decoder& d, bool normalised = false);
nlohmann::json qwen_expert_keys(const Decoder& d);

}  // namespace vkformer
