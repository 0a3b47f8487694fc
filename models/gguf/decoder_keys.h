#pragma once
// Keys of GGUF files that decoders have in common, and those of Hugging Face's configs that say the same.

#include <initializer_list>
#include <string_view>
#include <vector>

#include "models/gguf/architectures.h"

namespace vkformer {

/// Settings of LLaMA and its kin but for their norms.
std::vector<KeyRow> decoder_keys();
std::vector<KeyRow> llama_keys();
/// For architectures that say them in another way, or not at all.
std::vector<KeyRow> without(std::vector<KeyRow> keys, std::initializer_list<std::string_view> names);
/// With those of delta nets but for the width of their heads of values, and which layers have one.
std::vector<KeyRow> delta_net_keys(std::vector<KeyRow> keys);
/// LFM2's. Which layers have attention is read apart.
std::vector<KeyRow> lfm2_keys();
/// Of Qwen3.5's mixtures and Qwen3-Next's.
std::vector<KeyRow> qwen_expert_keys();
/// Of mixtures in all layers but the first.
std::vector<KeyRow> expert_keys(const char* count, const char* plain_layers);
/// DeepSeek's and GLM's.
std::vector<KeyRow> deepseek_keys();
/// Granite's. How many heads of keys there are is read apart: it may be a list.
std::vector<KeyRow> granite_keys();
/// Nemotron-H's. What layers are, and how wide heads of state spaces and feed-forward layers are, is read apart.
std::vector<KeyRow> nemotron_keys();
std::vector<KeyRow> optional(std::vector<KeyRow> keys);
/// Command R's.
std::vector<KeyRow> cohere_keys();

}  // namespace vkformer
