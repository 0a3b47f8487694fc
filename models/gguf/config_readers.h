#pragma once
// What reads the settings of a GGUF file into a config, by architecture; internal to this folder.

#include <nlohmann/json.hpp>

#include "models/gguf/gguf_settings.h"

namespace vkformer {

// What several of them need.

/// Rows of a tensor. Throws Error where there is none of that name.
int64_t rows_of(const GgufShards& shards, std::string_view tensor);
bool has_experts(const GgufSettings& settings);
/// A setting that may be one number for all layers or a list.
std::vector<int64_t> of_layers(const GgufSettings& settings, const char* key, int64_t layers);
/// LLaMA and its kin: heads, rotary positions, what only tensors tell.
void read_decoder(const GgufSettings& settings, nlohmann::json& config);
/// Of every so many layers the last one has no window, or a list has a 1 for each layer with one; in a file without
/// windows, none has one.
void read_windows(const GgufSettings& settings, nlohmann::json& config, int64_t usual);
/// What all kinds of Granite have.
void read_granite_keys(const GgufSettings& settings, nlohmann::json& config);
/// Of mixtures: that weights are sigmoids of logits.
void check_sigmoids(const GgufSettings& settings);

// Each of one or more architectures, after what architectures.h has as data.

using GgufReader = void(const GgufSettings& settings, nlohmann::json& config);
// Decoders whose layers are alike, but for windows.
GgufReader read_olmo2, read_cohere2, read_exaone4, read_mistral3, read_gemma2, read_gemma3, read_gpt_oss, read_phi3,
    read_stablelm, read_llama, read_granite, read_qwen2_vl, read_qwen3_vl;
// Mixtures of experts.
GgufReader read_qwen2_moe, read_glm4_moe, read_ernie4_5_moe, read_deepseek2;
// Decoders whose layers are of unlike kinds.
GgufReader read_qwen3_5, read_lfm2, read_gemma4, read_granite_hybrid, read_nemotron_h, read_falcon_h1;

}  // namespace vkformer
