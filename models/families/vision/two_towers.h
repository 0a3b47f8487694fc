#pragma once
// CLIP (Radford et al. 2021, "Learning Transferable Visual Models From Natural Language Supervision") and SigLIP (Zhai
// et al. 2023, "Sigmoid Loss for Language Image Pre-Training"): a tower that sees and one that reads give vectors of
// one space.

#include "models/model.h"

namespace vkformer {

/// The whole: parameters of both towers, and pictures and texts as inputs; its logits are cosines (Task::match).
Model make_two_towers(const JsonObject& config);
bool has_two_towers(const Model& model);

/// One tower of a whole, its parameters stored as the whole's: its programs run over the whole's store, too. Throws
/// Error for a model without towers.
Model picture_tower(const Model& whole);
Model text_tower(const Model& whole);

/// How sure the model is by a cosine: exp(logit_scale) times it, of SigLIP plus logit_bias, as parameters.
inline constexpr const char* logit_scale = "logit_scale";
inline constexpr const char* logit_bias = "logit_bias";
/// Whether each pair has a probability of its own (SigLIP), not a share of one among candidates (CLIP).
bool scores_pairs(const Model& whole);

}  // namespace vkformer
