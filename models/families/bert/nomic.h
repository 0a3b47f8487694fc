#pragma once
// The config of Nomic's BERT (Nussbaum et al. 2024) as its files had it before transformers had the family; internal to
// this folder.

#include "models/families/bert/bert.h"

namespace vkformer::bert {

constexpr double usual_nomic_base = 1000;  ///< of its angles

/// Whether all keys are GPT-2's, as in those files.
bool has_older_nomic_keys(const JsonObject& json);
/// Sizes, dropouts and angles from them. Throws Error naming file and key for what is not supported.
void read_older_nomic(const JsonObject& json, BertConfig& config);

}  // namespace vkformer::bert
