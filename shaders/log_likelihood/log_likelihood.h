#pragma once
// How likely a model takes whole sequences to be: what losses that compare them (DPO's) are made of.

#include "runtime/graph.h"

namespace vkformer {

/// log_likelihood [B] = sum over a sequence of logits[target] - log(sum of exp(logits)), of its targets that are not
/// `ignore_index`. logits [B, T, V] of f32, f16 or bf16, as is their gradient; targets i32 [B, T]. Columns behind the
/// first `classes` (0: all are classes) take no part, as in cross_entropy. Throws Error when the shapes disagree.
///
/// The node also gives log_sum_exp [B T]; gradients flow through the likelihoods only. Its attribute first_row is that of
/// cross_entropy: logits may be some whole sequences, or a part [1, n, V] of one (passes/loss_chunks.h).
Value log_likelihood(Graph& graph, Value logits, Value targets, int64_t ignore_index = -100, int64_t classes = 0);

bool is_log_likelihood(const Node& node);
bool is_log_likelihood_backward(const Node& node);

}  // namespace vkformer
