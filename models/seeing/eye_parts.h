#pragma once
// What the eyes of all families are made of; internal to this folder.

#include <string_view>

#include "models/seeing/eyes.h"

namespace vkformer {

Eyes make_llava(const JsonObject& config);
Eyes make_idefics3(const JsonObject& config);
Eyes make_gemma3(const JsonObject& config);
Eyes make_qwen_vl(const JsonObject& config);
Eyes make_pixtral(const JsonObject& config);

/// The config of SigLIP's encoder, which may have a head that nobody reads.
JsonObject without_pooling(const JsonObject& vision_config);
inline constexpr const char* vision_tower = "vision_tower.";
/// Of tensors of LLaVA's kin: transformers 5 leaves out a part of the encoder's names, and 4.5x puts "model." before
/// all.
void add_tower_names(std::vector<ParameterSpec>& parameters);

/// Throws Error where the part that writes is of a family that takes no pictures.
void check_writer(const JsonObject& config);
/// The id that stands for a picture, below `vocabulary`.
int32_t picture_token(const JsonObject& config, const char* key, int32_t usual, int64_t vocabulary);
/// Of how many of `count` layers "vision_feature_layer" means the states: -1 is the last one, 0 what goes into the
/// first.
int64_t feature_layers(const JsonObject& config, int64_t count, int64_t usual);
/// Ends what a family makes: takes out what hidden() does not read, and sets what all have. `settled`: what keys of the
/// config mean, also where it leaves them out.
void finish_eyes(Eyes& eyes, const JsonObject& config, const nlohmann::json& settled);

}  // namespace vkformer
