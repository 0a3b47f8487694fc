#pragma once
// Launches kernels built on shaders/common/rows.glsl: one workgroup takes a few rows of a matrix one after the other.

#include "runtime/recorder.h"
#include "shaders/common/rows.args.h"

namespace vkformer {

/// What the kernel does with a row.
enum class RowUse : uint8_t {
  hold,    ///< keeps its share of a row in registers and reduces over the row
  stream,  ///< walks rows of any length and reduces over them
  move,    ///< no reduction: only the workgroup variants are built
};

/// The kernel variants legal on this device, best first: "subgroup", "workgroup" and both with "_int64", which moves
/// pairs of columns: of an odd number of columns none starts aligned in every row. On GPUs whose workgroups can be full
/// subgroups "subgroups" stands in place of "workgroup" where rows are held. Where the kernel's `Reals` are of a 16-bit
/// type, these in their variants for it: "subgroup_f16", "workgroup_bf16", ...
std::vector<std::string_view> row_candidates(const DeviceFacts& facts, int64_t columns, RowUse use,
                                             DType type = DType::f32);

/// As Op::room: "_int64" pays where a driver loads lane by lane, on CPUs.
KernelRoom row_room(std::string_view candidate);

/// Invocations that share a row (a power of two) under the candidate.
uint32_t row_lanes(const DeviceFacts& facts, int64_t columns, RowUse use, std::string_view candidate);

/// Pairs of columns that one invocation owns.
constexpr uint32_t row_pairs(int64_t columns, uint32_t lanes) { return groups_for(columns, 2 * int64_t{lanes}); }

/// Gives each workgroup so many of the rows that starting it costs little and all cores stay busy. Throws Error from
/// 2^31 rows on.
Rows share_rows(const DeviceFacts& facts, int64_t rows, int64_t columns);

/// The same where each workgroup leaves a part of a sum over all rows, which column_sum then adds up: few parts.
Rows share_rows_in_parts(const DeviceFacts& facts, int64_t rows);

/// Number of workgroups that take them.
constexpr uint32_t row_groups(const Rows& rows) { return groups_for(rows.count, rows.per_group); }

/// Throws Error when `type` is of 16 bits and its rows are not whole words: kernels that write by rows need those.
void check_whole_words(const Node& node, std::string_view name, const TensorType& type);

/// Throws Error when a matrix [rows, columns] is too large for the 32-bit element index of kernels.
void check_rows(std::string_view kernel, int64_t rows, int64_t columns);

/// The launch of `kernel`, in the variant that is the node's candidate, over a matrix [rows, columns]. `matrices` are
/// the addresses of everything read or written by column; `constants` become specialization constants 4, 5, ... The
/// kernel's push constants need `rows`, too. Of a matrix whose rows are of several `groups`, one after the other,
/// `rows` are those of one, and workgroups g, g + groups, .. take those of group g.
Launch row_launch(const Recorder& recorder, std::string_view kernel, RowUse use, const Rows& rows, int64_t columns,
                  std::initializer_list<uint64_t> matrices, std::initializer_list<uint32_t> constants = {},
                  int64_t groups = 1);

}  // namespace vkformer
