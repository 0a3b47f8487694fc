#pragma once
// What writes a config as settings of a GGUF file, by architecture; internal to this folder.

#include <nlohmann/json.hpp>

#include "models/families/rotary.h"
#include "models/gguf/gguf_config.h"

namespace vkformer {

// What several of them need.

uint32_t integer_in(const nlohmann::json& config, const char* key);
/// The angles of a config: in Gemma 3 of the layers without a window.
RotaryConfig rotary_of(const nlohmann::json& config);
/// What files can say of yarn.
struct YarnForm {
  bool truncate = true;       ///< what readers take it for
  double log_multiplier = 0;  ///< of the key that files of an attention_factor of 1 have; 0: there is none
};
/// What a config says of rotary positions beside their base.
void add_rotary(GgufPairs& pairs, const std::string& prefix, const nlohmann::json& config, const YarnForm& yarn);
/// LLaMA and its kin: heads and rotary positions.
void add_decoder(GgufPairs& pairs, const std::string& prefix, const nlohmann::json& config, const YarnForm& yarn);

// Each of one or more architectures, after what architectures.h has as data.

using GgufWriter = void(GgufPairs& pairs, const std::string& prefix, const nlohmann::json& config);
// Decoders whose layers are alike, but for windows.
GgufWriter add_decoder, add_granite, add_windowed, add_gemma, add_olmo2, add_exaone4, add_cohere2, add_mistral3,
    add_gpt_oss, add_smollm3, add_qwen_vl;
// Mixtures of experts, and decoders whose layers are of unlike kinds.
GgufWriter add_glm4_moe, add_ernie4_5_moe, add_deepseek2, add_qwen3_next, add_qwen3_5, add_lfm2, add_granite_hybrid,
    add_lfm2_moe, add_gemma4, add_nemotron_h, add_falcon_h1;

/// The divisors of Gemma 4's frequencies.
std::vector<NamedValues> gemma4_rotary_tensors(const nlohmann::json& config);

}  // namespace vkformer
