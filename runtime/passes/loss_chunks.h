#pragma once
// Losses over a part of the batch at a time. Logits of a large vocabulary are the largest tensors of a training: 32
// texts of 1024 tokens have 6.6 GB of them with GPT-2's.

#include "runtime/passes/rewrite.h"

namespace vkformer {

/// The same graph, but logits of more than `most_bytes` are computed some rows after the others: the product that gives
/// them, what follows up to the loss and, in a graph that differentiate() has extended, back to the product's
/// gradients. All that is done with some rows before the next are begun, so that it lives for a part of the batch only.
/// Gradients of weights are sums over the parts. Where the gradient of a part follows only from all parts, as that of a
/// loss over log_likelihood()s does, each part's logits are computed once more for it. At most 32 parts; a graph in which something else reads the logits
/// stays as it is.
Rewritten with_loss_in_chunks(const Graph& graph, int64_t most_bytes);

}  // namespace vkformer
