#version 460
// variant f32_q8_0: -DBLOCKS=BLOCKS_Q8_0
// variant f32_q4_0: -DBLOCKS=BLOCKS_Q4_0
// variant f32_q4_1: -DBLOCKS=BLOCKS_Q4_1
// variant f32_q5_0: -DBLOCKS=BLOCKS_Q5_0
// variant f32_q5_1: -DBLOCKS=BLOCKS_Q5_1
// variant f32_q2_k: -DBLOCKS=BLOCKS_Q2_K
// variant f32_q3_k: -DBLOCKS=BLOCKS_Q3_K
// variant f32_q4_k: -DBLOCKS=BLOCKS_Q4_K
// variant f32_q5_k: -DBLOCKS=BLOCKS_Q5_K
// variant f32_q6_k: -DBLOCKS=BLOCKS_Q6_K
// variant f32_iq4_nl: -DBLOCKS=BLOCKS_IQ4_NL
// variant f32_iq4_xs: -DBLOCKS=BLOCKS_IQ4_XS
// variant f32_mxfp4: -DBLOCKS=BLOCKS_MXFP4
// The same as embedding from a table of encoded blocks: an invocation decodes quads of y.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/blocks.glsl"
#include "shaders/embedding/embedding.args.h"

layout(local_size_x = 64) in;
layout(constant_id = 0) const bool POSITIONS = false;

PUSH(EmbeddingBlocksArgs);

bool has(int rows, int row) { return row >= 0 && row < rows; }

void main() {
  const uint quads = args.columns / 4;
  const uint index = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * 64 + gl_LocalInvocationIndex;
  if (index >= args.tokens * quads) return;
  const uint token = index / quads, column = index % quads * 4;
  const int id = args.ids.v[token];
  const bool known = has(args.table_rows, id);
  const uint start = (known ? uint(id) : 0) * block_row_words(args.columns);
  const vec4 row = block_quad(args.table, start, args.columns / BLOCK_VALUES, column);
  vec4 y = known ? row * args.scale : vec4(0);
  if (POSITIONS) {
    const int offset = offset_of(args.position, args.offsets, token / args.positions);
    // Unsigned: it wraps around to a negative one, which the table does not have.
    const int position = int(args.first_position + uint(offset) + token % args.positions);
    const bool placed = has(args.position_rows, position);
    const vec4 added = args.position_table.v[((placed ? uint(position) : 0) * args.columns + column) / 4];
    y += placed ? added : vec4(0);
  }
  args.y.v[index] = y;
}
