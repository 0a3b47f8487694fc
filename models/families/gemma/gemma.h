#pragma once
// Gemma (Gemma Team 2024, 2025), whose embeddings are scaled, whose files hold the norms' gains minus 1 and whose gates
// are GELUs; Gemma 2 with caps of scores and logits, norms around each part and a window in every other layer; Gemma
// 3's text models with norms of queries and keys and rotary bases of their own in the layers with a window, and
// EmbeddingGemma, which is one of them that sees both ways.

#include "models/model.h"

namespace vkformer {

/// Of a config.json whose model_type is "gemma", "gemma2" or "gemma3_text". Throws Error naming file and key for values
/// that can't be.
Model make_gemma(const JsonObject& config);

}  // namespace vkformer
