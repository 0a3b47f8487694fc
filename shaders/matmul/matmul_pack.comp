#version 460
// variant f32: -DINT64
// variant f16: -DHALF=1 -DB_HALF -DINT64
// variant bf16: -DHALF=2 -DB_HALF -DINT64
// Copies `batch` matrices b [K, N], or transposed [N, K], to y in panels of WIDTH columns, [batch, N / WIDTH, K, WIDTH] in
// f32, so that matmul_panel reads one stream. Columns past the edge repeat the last one. A subgroup copies CHUNK values
// of k of one panel.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_GOOGLE_include_directive : require
#include "shaders/matmul/matmul.args.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint SUBGROUP = 8;
layout(constant_id = 1) const uint WIDTH = 16;
layout(constant_id = 2) const bool TRANSPOSE = false;
layout(constant_id = 3) const bool PAIRS = false;    // transposed: rows are aligned to pairs, K is even
layout(constant_id = 4) const bool VECTORS = false;  // f32, not transposed: N and WIDTH are multiples of SUBGROUP

const uint CHUNK = 64;  // as in matmul_streams.cpp
const uint STEP = 4;

PUSH(MatmulArgs);
#include "shaders/common/vector_load.glsl"
#include "shaders/matmul/operands.glsl"

uint source, target;  // of the product's matrix and of the panel, in elements
uint first_column;

// `steps` (STEP or 1) values of k.
void copy(uint k, const uint steps) {
  [[unroll]] for (uint t = 0; t < WIDTH; t += SUBGROUP) {
    const uint lane = t + gl_SubgroupInvocationID;
    const uint column = min(first_column + lane, args.n - 1);
    float values[STEP];
    [[unroll]] for (uint h = 0; h < steps; h++) {
      if (TRANSPOSE && PAIRS && steps > 1) {
        if (h % 2 != 0) continue;
        const vec2 pair = b_pair((source + column * args.k + k + h) / 2);
        values[h] = pair.x, values[h + 1] = pair.y;
#ifndef B_HALF
      } else if (VECTORS) {
        const uint row = min(k + h, args.k - 1);  // Mesa 26 loads what lanes share even when none is left in the loop
        values[h] = vector_at(uint64_t(args.b) +
                              (source + row * args.n + min(first_column + t, args.n - SUBGROUP)) * uint64_t(4));
#endif
      } else {
        values[h] = b_one(source + (TRANSPOSE ? column * args.k + k + h : (k + h) * args.n + column));
      }
    }
    if (lane < WIDTH) {
      [[unroll]] for (uint h = 0; h < steps; h++) args.y.v[target + (k + h) * WIDTH + lane] = values[h];
    }
  }
}

void main() {
  const uint chunks = (args.k + CHUNK - 1) / CHUNK, panels = (args.n + WIDTH - 1) / WIDTH;
  uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (group >= chunks * panels * args.batch) return;
  uint k = group % chunks * CHUNK;
  group /= chunks;
  first_column = group % panels * WIDTH;
  source = group / panels * args.n * args.k;
  target = group * args.k * WIDTH;
  const uint end_k = min(k + CHUNK, args.k);
  for (; k + STEP <= end_k; k += STEP) copy(k, STEP);
  for (; k < end_k; k++) copy(k, 1);
}
