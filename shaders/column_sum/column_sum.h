#pragma once
// Sums over rows: bias gradients.

#include "runtime/recorder.h"

namespace vkformer {

/// x [.., C] -> f32 [C]: the sum over all leading dimensions of f32, f16 or bf16. Deterministic; not differentiable.
Value column_sum(Graph& graph, Value x);
bool is_column_sum(const Node& node);

/// An f32 matrix whose rows another op's `record` wants summed.
struct ColumnSum {
  Region x;  ///< [rows, columns], `stride` floats from row to row
  int64_t rows = 0, columns = 0, stride = 0;
  Region sums;       ///< receives the first `split` columns
  Region tail = {};  ///< receives the others
  int64_t split = 0;
};
/// Dispatches one kernel that adds all rows up; meant for up to some hundred rows.
void record_column_sum(Recorder& recorder, const ColumnSum& sum);

}  // namespace vkformer
