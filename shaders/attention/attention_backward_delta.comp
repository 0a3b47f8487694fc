#version 460
// variant f32:
// variant f16: -DHALF=1
// variant bf16: -DHALF=2
// What the backward kernels need of a query: its log_sum_exp and delta, the sum over columns of upstream * result.
// Neighbouring lanes share a query of one head, 16 bytes each where the width allows: its neighbours are whole rows
// away, and a lane for each would touch a line of memory of its own with every load.
#extension GL_GOOGLE_include_directive : require
#include "shaders/attention/attention.args.h"
#ifdef HALF
#include "shaders/common/half.glsl"
#endif
layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = 0) const uint workgroup = 128;  // the local size
layout(constant_id = ATTENTION_VALUE_WIDTH) const int value_width = 64;
layout(constant_id = ATTENTION_DELTA_LANES) const int lanes = 8;  // of a query

PUSH(AttentionDeltaArgs);

const int queries = int(workgroup) / lanes;
shared float parts[queries * (lanes + 1)];  // one more a query keeps them in other banks

// Of so many columns from element `at` on.
#ifdef HALF
const int columns = value_width % 8 == 0 ? 8 : 2;
float products(uint at) {
  if (columns == 2)
    return dot(unpack_halves(args.upstream.v[at / 8][at / 2 % 4]), unpack_halves(args.result.v[at / 8][at / 2 % 4]));
  const uvec4 upstream = args.upstream.v[at / 8], result = args.result.v[at / 8];
  float sum = 0;
  [[unroll]] for (int i = 0; i < 4; i++) sum += dot(unpack_halves(upstream[i]), unpack_halves(result[i]));
  return sum;
}
#else
const int columns = value_width % 4 == 0 ? 4 : 1;
float products(uint at) {
  if (columns == 1) return args.upstream.v[at / 4][at % 4] * args.result.v[at / 4][at % 4];
  return dot(args.upstream.v[at / 4], args.result.v[at / 4]);
}
#endif

void main() {
  const int id = int(gl_LocalInvocationIndex);
  const int first = int(gl_WorkGroupID.x) * queries;
  const int head = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  const int t = min(first + id / lanes, args.queries - 1);
  // Of the query whose terms this invocation writes, if any; loaded beside the rows.
  const int own = min(first + min(id, queries - 1), args.queries - 1);
  const int row = (batch * args.heads + head) * args.queries + own;
  const float log_sum_exp = args.log_sum_exp.v[row];

  const int at = ((batch * args.queries + t) * args.heads + head) * value_width;
  float part = 0;
  for (int c = id % lanes * columns; c < value_width; c += lanes * columns) part += products(at + c);
  float delta = part;
  if (lanes > 1) {
    parts[id / lanes * (lanes + 1) + id % lanes] = part;
    barrier();
    delta = 0;
    for (int i = 0; i < lanes; i++) delta += parts[min(id, queries - 1) * (lanes + 1) + i];
  }
  if (id < queries && first + id < args.queries) args.terms.v[row] = vec2(log_sum_exp, delta);
}
