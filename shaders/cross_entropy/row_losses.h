#pragma once
// What losses over rows of logits share: nodes with inputs logits [.., C] and targets [..], and the attributes of
// cross_entropy.

#include "runtime/recorder.h"

namespace vkformer {

/// Throws Error when logits and targets, or the attributes, disagree.
void check_loss_inputs(const Node& node);
int loss_classes(const Node& node);
int ignored_index(const Node& node);
/// The first target that the logits are of.
int64_t first_target(const Node& node);

/// Dispatches `cross_entropy` in the node's candidate, one of row_candidates(): log_sum_exp [N], if it has storage, and
/// row_loss [N], log_sum_exp - logits[target] of each row, 0 of ignored ones.
void record_row_losses(Recorder& recorder, const Node& node, const Region& log_sum_exp, const Region& row_loss);

/// What the gradients of rows' losses are scaled by.
struct RowScale {
  uint64_t upstream = 0;  ///< address of [1], or with `positions` of minus what scales each so many rows
  uint64_t count = 0;     ///< address of [1], which divides it; with `positions` nothing does
  int64_t positions = 0;  ///< 0: all rows have the same
};

/// Dispatches what makes output 0, dlogits [N, C], of (softmax(logits) - [target]) * scale, where inputs 2 are
/// log_sum_exp [N].
void record_logits_gradient(Recorder& recorder, const Node& node, const RowScale& scale);
std::vector<std::string_view> logits_gradient_candidates(const Node& node, const DeviceFacts& facts);

// Of the references.

/// Whether a row of that target takes part.
bool is_counted(const Node& node, double target);
/// log(sum of exp(logits)) over the classes of a row.
double log_sum_exp_of(const double* logits, int64_t classes);

}  // namespace vkformer
