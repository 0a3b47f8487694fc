#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// variant subgroup: -DSUBGROUP
// variant subgroup_int64: -DSUBGROUP -DINT64
// variant workgroup_f16: -DHALF=1
// variant workgroup_bf16: -DHALF=2
// variant subgroup_f16: -DSUBGROUP -DHALF=1
// variant subgroup_bf16: -DSUBGROUP -DHALF=2
// log_sum_exp and loss = log_sum_exp - logits[target] of each row, in one pass over the logits: an invocation keeps the
// maximum of what it has seen and the sum of exponentials relative to it, rescaled when the maximum grows. With label
// smoothing s, (1 - s) logits[target] + s mean(logits) stands for logits[target].
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/cross_entropy/cross_entropy.args.h"

layout(constant_id = 4) const bool SMOOTHED = false;

PUSH(CrossEntropyArgs);

// Stands for minus infinity: its differences with itself are 0, not NaN.
const float lowest = -3.402823466e+38;

uint start;
float peak, sum, mean;

// Logits of a pair of columns, and `fill` behind the classes.
vec2 load_logits(uint pair, bool inside, float fill) {
  const vec2 x = load_reals2(args.logits, start, pair, inside, fill);
  return mix(vec2(fill), x, lessThan(columns_of(pair), uvec2(args.classes)));
}

void take(uint first, bool inside) {
  vec2 x[STEP], top = vec2(lowest);
  if (SMOOTHED) {
    // Divided one by one: their sum could overflow.
    vec2 means = vec2(0);
    [[unroll]] for (uint k = 0; k < STEP; ++k)
      means += load_logits(first + k, inside, 0) * (1.0 / float(args.classes));
    mean += means.x + means.y;
  }
  [[unroll]] for (uint k = 0; k < STEP; ++k) {
    x[k] = load_logits(first + k, inside, lowest);
    top = max(top, x[k]);
  }
  const float new_peak = max(peak, max(top.x, top.y));
  vec2 sums = vec2(0);
  [[unroll]] for (uint k = 0; k < STEP; ++k) sums += exp(x[k] - new_peak);
  sum = sum * exp(peak - new_peak) + sums.x + sums.y;
  peak = new_peak;
}

void take_row(uint row) {
  start = row * COLUMNS;
  peak = lowest;
  sum = mean = 0;
  WALK(take)
  // Invocations without a column hold a sum relative to `lowest`, which vanishes here.
  const float row_peak = lanes_max(peak);
  const float log_sum = log(lanes_sum(sum * exp(peak - row_peak)));

  const int target = args.targets.v[row];
  const bool counted = counts(target, args.classes, args.ignore_index);
  float logit = real_at(args.logits, start + (counted ? uint(target) : 0));
  if (SMOOTHED) logit = mix(logit, lanes_sum(mean), args.label_smoothing);
  if (lane() == 0) {
    if (args.has_log_sum_exp != 0) args.log_sum_exp.v[row] = row_peak + log_sum;
    // In this order: with logits of 1e4, row_peak + log_sum has lost most digits of the loss.
    args.row_loss.v[row] = counted ? (row_peak - logit) + log_sum : 0;
  }
}

void main() {
  ROW_LOOP(take_row)
}
