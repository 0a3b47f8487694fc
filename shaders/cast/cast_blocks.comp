#version 460
// variant q8_0: -DBLOCKS=BLOCKS_Q8_0
// variant q4_0: -DBLOCKS=BLOCKS_Q4_0
// variant q4_1: -DBLOCKS=BLOCKS_Q4_1
// variant q5_0: -DBLOCKS=BLOCKS_Q5_0
// variant q5_1: -DBLOCKS=BLOCKS_Q5_1
// variant q2_k: -DBLOCKS=BLOCKS_Q2_K
// variant q3_k: -DBLOCKS=BLOCKS_Q3_K
// variant q4_k: -DBLOCKS=BLOCKS_Q4_K
// variant q5_k: -DBLOCKS=BLOCKS_Q5_K
// variant q6_k: -DBLOCKS=BLOCKS_Q6_K
// variant iq4_nl: -DBLOCKS=BLOCKS_IQ4_NL
// variant iq4_xs: -DBLOCKS=BLOCKS_IQ4_XS
// variant mxfp4: -DBLOCKS=BLOCKS_MXFP4
// 16-bit floats from encoded blocks: an invocation decodes quads of a row.
#extension GL_GOOGLE_include_directive : require
#define HALF HALF_BF16
#include "shaders/common/half.glsl"
#include "shaders/common/blocks.glsl"
#include "shaders/cast/cast.args.h"

layout(local_size_x = 64) in;
layout(constant_id = 0) const bool TO_BF16 = false;  // otherwise f16

PUSH(CastBlocksArgs);

uint pack(vec2 pair) { return TO_BF16 ? pack_halves(pair) : packHalf2x16(pair); }

void main() {
  const uint quads = args.columns / 4;
  const uint index = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * 64 + gl_LocalInvocationIndex;
  if (index >= args.rows * quads) return;
  const uint start = index / quads * block_row_words(args.columns);
  const vec4 quad = block_quad(args.blocks, start, args.columns / BLOCK_VALUES, index % quads * 4);
  args.y.v[2 * index] = pack(quad.xy);
  args.y.v[2 * index + 1] = pack(quad.zw);
}
