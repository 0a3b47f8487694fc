#pragma once
// The training loss of every model: softmax cross entropy with integer targets.

#include "runtime/graph.h"

namespace vkformer {

/// loss [1] = mean of log(sum of exp(logits)) - logits[target] over the targets that are not `ignore_index`; 0 when all
/// are. logits [.., V] of f32, f16 or bf16, as is their gradient; targets i32 [..]; the loss is f32. Finite for any
/// finite logits. Throws Error when the shapes disagree.
///
/// With label_smoothing s, from 0 to 1 (Szegedy et al. 2016, in PyTorch's form), each of those terms is (1 - s) times
/// -log p[target] plus s times the mean over all V classes of -log p, where log p[v] = logits[v] - log(sum of
/// exp(logits)).
///
/// The host rejects targets outside [0, V) other than ignore_index before it uploads them; one that reaches the device
/// is ignored.
///
/// Columns behind the first `classes` (0: all are classes) take no part and have no gradient: with them rows may be
/// whole vectors.
///
/// A node's attribute first_row says which rows its logits [n, V] are, if they are not those of all targets: those of
/// targets first to first + n. Then the loss is their part of the mean over all targets, and the
/// losses of all parts add up to it (passes/loss_chunks.h).
///
/// The node also gives log_sum_exp [N] and the count of targets that were not ignored, f32 [1]; gradients flow through
/// the loss only.
Value cross_entropy(Graph& graph, Value logits, Value targets, double label_smoothing = 0, int64_t ignore_index = -100,
                    int64_t classes = 0);
/// log(sum of exp(logits)) of each row, f32 [N]: what logits[v] lacks to be log p[v]. logits [N, V] as above; `numbers`
/// i32 [N] are not looked at, but for their place beside the rows.
Value log_sum_exp(Graph& graph, Value logits, Value numbers);

inline constexpr std::string_view first_row = "first";
inline constexpr double all_rows = -1;

bool is_cross_entropy(const Node& node);
bool is_cross_entropy_backward(const Node& node);

}  // namespace vkformer
