#pragma once
// The relative scores of Transformer-XL (Dai et al. 2019, appendix B) and XLNet (Yang et al. 2019), brought from
// distances to pairs of positions.

#include "runtime/graph.h"

namespace vkformer {

struct RelativeShift {
  int64_t batches = 1;
  int64_t keys = 0;  ///< S, at least T: the queries are the last T of S positions; 0: S = T
  double scale = 1;
};

/// bias [B, H, T, S], to be added to attention's scores:
///   bias[b, h, t, s] = scale (position_scores[h, b T + t, l] + segment_scores[h, b T + t, d])
/// with l = min(T - t + s, L - 1) and d = segments[b, S - T + t] != segments[b, s] ? 1 : 0. Column l of position_scores
/// [H, B T, L] stands for the distance S - l from key to query; XLNet's distances run from S to -T + 1, so L = S + T.
/// segment_scores [H, B T, 2] and segments i32 [B, S] go together; without them that term is zero. Throws Error when
/// the shapes disagree.
Value relative_shift(Graph& graph, Value position_scores, Value segment_scores, Value segments,
                     const RelativeShift& options);

}  // namespace vkformer
