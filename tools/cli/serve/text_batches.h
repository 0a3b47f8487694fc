#pragma once
// The texts of a request in batches.

#include "models/data/token_texts.h"
#include "tools/cli/serve/device_queue.h"

namespace vkformer {

/// What a service of texts takes.
struct TextLimits {
  int64_t most_tokens = 0;   ///< of a text
  int64_t positions = 0;     ///< of a batch
  int64_t most_waiting = 0;  ///< requests
};

/// Any number of texts, the longest first, in batches whose shapes are powers of two, so that few programs serve all
/// requests. `take`: a batch, and of which texts its first rows are.
void for_batches_of_request(
    const TokenTexts& texts, const Model& model, const TextLimits& limits, const DeviceQueue::CheckWanted& check_wanted,
    const std::function<void(const DataBatch& batch, std::span<const uint32_t> examples)>& take);

}  // namespace vkformer
