#version 460
// variant f32:
// variant f16: -DHALF=1
// variant bf16: -DHALF=2
// What the backward kernels need of a query: its log_sum_exp and delta, the sum over columns of upstream * result.
// One invocation a query of one head.
#extension GL_GOOGLE_include_directive : require
#include "shaders/attention/attention.args.h"
#ifdef HALF
#include "shaders/common/half.glsl"
#endif
layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = ATTENTION_VALUE_WIDTH) const int value_width = 64;

PUSH(AttentionDeltaArgs);

void main() {
  const int t = int(gl_GlobalInvocationID.x);
  const int head = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  if (t >= args.queries) return;
  const int at = ((batch * args.queries + t) * args.heads + head) * value_width;
  const int row = (batch * args.heads + head) * args.queries + t;
  float delta = 0;
#ifdef HALF
  for (int c = 0; c < value_width; c += 2)
    delta += dot(unpack_halves(args.upstream.v[(at + c) / 2]), unpack_halves(args.result.v[(at + c) / 2]));
#else
  for (int c = 0; c < value_width; c++) delta += args.upstream.v[at + c] * args.result.v[at + c];
#endif
  args.terms.v[2 * row] = args.log_sum_exp.v[row];
  args.terms.v[2 * row + 1] = delta;
}
