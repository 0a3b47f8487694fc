#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// dlogits = (exp(logits - log_sum_exp) - [column is the target]) * upstream / count, zero in ignored rows. May run in
// place: an invocation reads only the logits it overwrites.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/cross_entropy/cross_entropy.args.h"

PUSH(CrossEntropyBackwardArgs);

const uint STEP = 4;  // pairs of columns at a time

void main() {
  const float scale = args.upstream.v[0] / args.count.v[0];
  const uint end = min(first_row() + ROWS, args.rows);
  for (uint row = first_row(); row < end; ++row) {
    const uint start = row * COLUMNS;
    const int target = args.targets.v[row];
    const bool counted = counts(target, int(COLUMNS), args.ignore_index);
    const float log_sum_exp = args.log_sum_exp.v[row];
    for (uint n = 0; n < COUNT; n += STEP) {
      vec2 x[STEP];
      [[unroll]] for (uint k = 0; k < STEP; ++k) x[k] = load2(args.logits, start, n + k, 0);
      [[unroll]] for (uint k = 0; k < STEP; ++k) {
        const vec2 hot = vec2(equal(columns_of(n + k), uvec2(target)));
        store2(args.dlogits, start, n + k, counted ? (exp(x[k] - log_sum_exp) - hot) * scale : vec2(0));
      }
    }
  }
}
