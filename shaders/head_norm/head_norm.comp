#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// variant subgroup: -DSUBGROUP
// variant subgroup_int64: -DSUBGROUP -DINT64
// variant workgroup_f16: -DHALF=1
// variant workgroup_bf16: -DHALF=2
// variant subgroup_f16: -DSUBGROUP -DHALF=1
// variant subgroup_bf16: -DSUBGROUP -DHALF=2
// variant subgroups: -DSUBGROUPS
// variant subgroups_f16: -DSUBGROUPS -DHALF=1
// variant subgroups_bf16: -DSUBGROUPS -DHALF=2
// y = x * reciprocal_rms * (gain_offset + gain) for each head, without its gain for plain ones, where reciprocal_rms = 1 / sqrt(mean of x^2 + epsilon). May run in place.
#extension GL_GOOGLE_include_directive : require
#include "shaders/head_norm/head_columns.glsl"

PUSH(HeadNormArgs);

void take_row(uint item) {
  const uint start = first_column(args.range, item);
  vec2 x[COUNT], squares = vec2(0);
  [[unroll]] for (uint n = 0; n < COUNT; ++n) {
    x[n] = load_reals2(args.x, start, n, whole(n), 0);
    squares += x[n] * x[n];
  }
  const float reciprocal_rms = 1 / sqrt(lanes_sum(squares.x + squares.y) / COLUMNS + args.epsilon);

  if ((args.outputs & 1) != 0) {
    const uint head = item % args.range.heads;
    const bool query = head < args.q_heads, plain = head >= args.gain_heads;
    [[unroll]] for (uint n = 0; n < COUNT; ++n) {
      const vec2 gain = query ? load2(args.q_gain, 0, n, whole(n), 0) : load2(args.k_gain, 0, n, whole(n), 0);
      store_reals2(args.y, start, n, whole(n), x[n] * reciprocal_rms * (plain ? vec2(1) : args.gain_offset + gain));
    }
    COPY_REST(args.x, args.y, args.range, item)
  }
  if (lane() == 0 && (args.outputs & 2) != 0) args.reciprocal_rms.v[head_index(args.range, item)] = reciprocal_rms;
}

void main() { ROW_LOOP(take_row) }
