#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// dlogits = (exp(logits - log_sum_exp) - (1 - s) [column is the target] - s / V) * upstream / count, zero in ignored
// rows and behind the classes, with s the label smoothing; of log_likelihood scaled by its sequence's -upstream. May run
// in place: an invocation reads only the logits it overwrites.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/cross_entropy/cross_entropy.args.h"

PUSH(CrossEntropyBackwardArgs);

uint start;
int target;
bool counted;
float scale, log_sum_exp, shared_part, target_part;

void take(uint first, bool inside) {
  [[unroll]] for (uint k = 0; k < STEP; ++k) {
    const vec2 x = load2(args.logits, start, first + k, inside, 0);
    const uvec2 column = columns_of(first + k);
    const vec2 hot = vec2(equal(column, uvec2(target))) * target_part + shared_part;
    const vec2 gradient = counted ? (exp(x - log_sum_exp) - hot) * scale : vec2(0);
    store2(args.dlogits, start, first + k, inside, mix(vec2(0), gradient, lessThan(column, uvec2(args.classes))));
  }
}

void take_row(uint row) {
  start = row * COLUMNS;
  target = args.targets.v[row];
  counted = counts(target, args.classes, args.ignore_index);
  log_sum_exp = args.log_sum_exp.v[row];
  if (args.positions > 0) scale = -args.upstream.v[row / args.positions];
  WALK(take)
}

void main() {
  if (args.positions == 0) scale = args.upstream.v[0] / args.count.v[0];
  target_part = 1.0 - args.label_smoothing;
  shared_part = args.label_smoothing / float(args.classes);
  ROW_LOOP(take_row)
}
