#pragma once
// The two backward ops of relative_shift, and what all three share.

#include <algorithm>

#include "runtime/op.h"
#include "shaders/common/rows.h"
#include "shaders/relative_shift/relative_shift.args.h"

namespace vkformer {

/// dbias [B, H, T, S] -> dposition_scores [H, B T, L]. Attributes: positions (L), scale.
extern const Op relative_shift_position_backward_op;
/// dbias [B, H, T, S], segments i32 [B, S] -> dsegment_scores [H, B T, 2]. Attribute: scale.
extern const Op relative_shift_segment_backward_op;

namespace relative_shift_parts {

/// The sizes of a node of any of the three ops.
struct Sizes {
  int64_t batches, heads, queries, keys, positions;

  int64_t rows() const { return batches * heads * queries; }
  /// The column of the distance between query t and key s.
  int64_t column(int64_t t, int64_t s) const { return std::min(queries - t + s, positions - 1); }
  int64_t score_row(int64_t b, int64_t h, int64_t t) const { return (h * batches + b) * queries + t; }
  int64_t bias_row(int64_t b, int64_t h, int64_t t) const { return (b * heads + h) * queries + t; }
};

/// Of a bias [B, H, T, S].
inline Sizes sizes_of(const Shape& bias, int64_t positions) { return {bias[0], bias[1], bias[2], bias[3], positions}; }

/// Of a kernel whose rows have so many columns.
RelativeShiftArgs args_of(const Recorder& recorder, const Sizes& sizes, int64_t columns, double scale);
void check_sizes(std::string_view kernel, const Sizes& sizes);
void check_segments(const Node& node, size_t i, int64_t batches, int64_t keys);
/// Of the reference: whether query t and key s of batch b lie in different segments.
bool segments_differ(const HostTensor& segments, const Sizes& z, int64_t b, int64_t t, int64_t s);
/// Of ops whose rows are moved, of as many columns as output 0 has.
std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts);

/// What the cases of all three are made of.
struct Problem {
  Shape bias;
  int64_t positions;
  bool segments;
  double scale;
};
inline const Problem problems[] = {{{1, 1, 1, 1}, 7, false, 1},      {{1, 1, 1, 1}, 1, true, 0.5},
                                   {{2, 3, 7, 7}, 14, true, 0.25},   {{3, 2, 7, 7}, 14, false, -1.5},
                                   {{2, 2, 3, 130}, 133, true, 0.7},  // queries are the last of the keys
                                   {{1, 2, 37, 130}, 130, true, 1},   // keys share a column
                                   {{1, 3, 6, 130}, 7, false, 1},    {{1, 2, 3, 1031}, 1031, true, 0.1}};

CaseInput segments_of(const Shape& bias, bool absent = false);

}  // namespace relative_shift_parts

}  // namespace vkformer
