#pragma once
// What decoders end in: logits of tokens, each family's own, or of classes of texts.

#include "models/families/encoder_head.h"
#include "models/families/layers.h"

namespace vkformer {

/// The families whose decoders transformers has as classifiers of texts, too, and what their classes begin with.
inline constexpr std::pair<std::string_view, std::string_view> decoder_classifiers[] = {
    {"gpt2", "GPT2"},
    {"opt", "OPT"},
    {"bloom", "Bloom"},
    {"gpt_neo", "GPTNeo"},
    {"phi", "Phi"},
    {"starcoder2", "Starcoder2"},
    {"gptj", "GPTJ"},
    {"gpt_bigcode", "GPTBigCode"},
    {"mpt", "Mpt"},
    {"biogpt", "BioGpt"},
    {"falcon", "Falcon"},
    {"gpt_neox", "GPTNeoX"},
    {"llama", "Llama"},
    {"mistral", "Mistral"},
    {"mixtral", "Mixtral"},
    {"qwen2", "Qwen2"},
    {"qwen2_moe", "Qwen2Moe"},
    {"qwen3", "Qwen3"},
    {"qwen3_moe", "Qwen3Moe"},
    {"gemma", "Gemma"},
    {"gemma2", "Gemma2"},
    {"phi3", "Phi3"},
    {"smollm3", "SmolLM3"},
    {"arcee", "Arcee"},
    {"ministral3", "Ministral3"},
    {"glm", "Glm"},
    {"glm4", "Glm4"},
    {"exaone4", "Exaone4"},
    {"hunyuan_v1_dense", "HunYuanDenseV1"},
    {"hunyuan_v1_moe", "HunYuanMoEV1"},
    {"seed_oss", "SeedOss"},
    {"stablelm", "StableLm"},
    {"gpt_oss", "GptOss"}};

/// The classes of the family's classifier where `architectures` names it; nothing where it names `architecture`, which
/// writes text, or is absent. Throws Error naming file and key for others, and for classes that can't be.
std::optional<HeadClasses> read_decoder_head(const JsonObject& json, const std::string& family,
                                             const char* architecture);
/// What that reads, and model_type, as transformers loads them.
nlohmann::json decoder_head_keys(const std::string& family, const char* architecture,
                                 const std::optional<HeadClasses>& classes);

/// The parameters of a classifier's head on states of `width` columns.
void add_class_head(ParameterList& list, int64_t width, const HeadClasses& classes);
/// Its logits [B, classes], of the state of each text's last position: hidden [B, T, C].
Value class_logits(Graph& graph, const Pass& pass, Value hidden, const HeadClasses& classes);
/// What a decoder that writes text, or tells texts apart, is for.
Task decoder_task(const std::optional<HeadClasses>& classes);

}  // namespace vkformer
