#pragma once
// DeBERTa's disentangled attention (He et al. 2021), as versions 2 and 3 have it: what a query and a key are to each
// other's distance counts beside what they are to each other. Internal to this folder.

#include "models/families/bert/bert.h"
#include "models/families/layers.h"

namespace vkformer::bert {

inline constexpr const char* distance_table = "deberta.encoder.rel_embeddings.weight";
inline constexpr const char* distance_norm = "deberta.encoder.LayerNorm";

/// The row of the table that the distance from key to query has. Near ones have a row each; those from half the buckets
/// on share the others evenly on a logarithmic scale.
int64_t distance_row(const BertConfig& config, int64_t distance);
/// That of distances from the context down to -context + 1, and the same for their opposites.
std::vector<ConstantSpec> distance_constants(const BertConfig& config);

/// The table, normed, for all layers: [2 * span, C].
Value distances_of(Layers& layers, const BertConfig& config);
/// [B, T, C], as x is. The projections of queries and keys are also those of the distances.
Value disentangled_attention(Layers& layers, const BertConfig& config, Value x, Value distances,
                             const std::string& layer);

}  // namespace vkformer::bert
