#version 460
// variant f32:
// variant f16: -DHALF=1
// variant bf16: -DHALF=2
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
// Copies `batch` matrices [K, width], or transposed [width, K], in panels of PANEL columns, [batch, width / PANEL, depth,
// PANEL] in f32, so that matmul_panel and matmul_block read one stream, in whole blocks of k. The last block of a panel
// ends with K and begins with zeros in place of what the block before has, too. A subgroup copies as many values of k as
// it has lanes, of MATMUL_PACK_COLUMNS columns. Vectors past an edge are moved back to it and stored twice; what a panel
// has past the edge is never written.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_GOOGLE_include_directive : require
#include "shaders/matmul/software/matmul_pack.args.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint SUBGROUP = 8;
layout(constant_id = 2) const uint SUBGROUPS = 8;  // of a workgroup, at most 8
layout(constant_id = 3) const uint PANEL = 16;
layout(constant_id = 4) const bool TRANSPOSE = false;
layout(constant_id = 5) const bool VECTORS = false;  // rows of the source hold a vector; with TRANSPOSE they do
// Of columns are stored at once: width is even, and unless TRANSPOSE rows hold a vector of pairs, aligned to 8 bytes.
layout(constant_id = 6) const bool PAIRS = false;
layout(constant_id = 7) const uint DIGITS = 1;  // of a workgroup's first two coordinates
layout(constant_id = 8) const uint PRODUCT_DIGITS = 0;

PUSH(MatmulPackArgs);
#include "shaders/common/uniform_number.glsl"
#include "shaders/common/vector_load.glsl"
#ifdef BLOCKS
#include "shaders/common/blocks.glsl"
#endif

// Elements of a row that a load is about.
const uint WIDTH = PAIRS && !TRANSPOSE ? 2 * SUBGROUP : SUBGROUP;

uint64_t address_of(uint row, uint row_length, uint first) {
#ifdef HALF
  return uint64_t(args.source) + (uint64_t(row) * row_length + first) * 2;
#else
  return uint64_t(args.source) + (uint64_t(row) * row_length + first) * 4;
#endif
}

// Lane i's is element i of the row from `first` on.
float load(uint row, uint row_length, uint first) {
#if defined(BLOCKS)
  return block_value(Halves(args.source), row * block_row_words(row_length), row_length / BLOCK_VALUES,
                     min(first + gl_SubgroupInvocationID, row_length - 1));
#elif defined(HALF)
  if (VECTORS) return half_vector_at(address_of(row, row_length, first));
  return half_at(Halves(args.source), row * row_length + min(first + gl_SubgroupInvocationID, row_length - 1));
#else
  if (VECTORS) return vector_at(address_of(row, row_length, first));
  return args.source.v[row * row_length + min(first + gl_SubgroupInvocationID, row_length - 1)];
#endif
}

// Lane i's are elements 2 i and 2 i + 1.
uint64_t load_pair(uint row, uint row_length, uint first) {
#ifdef HALF
  return word_of(unpack_halves(word_vector_at(address_of(row, row_length, first))));
#else
  return long_word_vector_at(address_of(row, row_length, first));
#endif
}

// Where a vector starts, so that it ends in the row.
uint moved_back(uint first, uint row_length) { return VECTORS ? min(first, row_length - WIDTH) : first; }

// Where a column starts in the panels.
uint column_at(uint product, uint column) {
  return (product * args.panels + column / PANEL) * args.depth * PANEL + column % PANEL;
}

void main() {
  // The first value of k in a panel; blocks are multiples of SUBGROUP.
  const uint chunk = uniform_number(gl_WorkGroupID.x, DIGITS) * SUBGROUPS + args.digits[gl_SubgroupID];
  const uint position = min(chunk * SUBGROUP, args.depth - SUBGROUP);
  const uint overlap = args.depth - args.k, end_of_overlap = position < args.last_block ? 0 : args.last_block + overlap;
  const uint first_k = position - (position < args.last_block ? 0 : overlap);
  const uint first_column = uniform_number(gl_WorkGroupID.y, DIGITS) * MATMUL_PACK_COLUMNS;
  const uint product = uniform_number(gl_WorkGroupID.z, PRODUCT_DIGITS);
  const uint lane = gl_SubgroupInvocationID;
  FloatPairWords pairs = FloatPairWords(args.target);
  if (TRANSPOSE) {
    [[unroll]] for (uint i = 0; i < MATMUL_PACK_COLUMNS; i += PAIRS ? 2 : 1) {
      const uint column = min(first_column + i, args.width - (PAIRS ? 2 : 1)), row = product * args.width + column;
      const uint target = column_at(product, column) + (position + lane) * PANEL;
      vec2 pair = vec2(load(row, args.k, first_k), PAIRS ? load(row + 1, args.k, first_k) : 0);
      if (position + lane < end_of_overlap) pair = vec2(0);
      if (PAIRS) pairs.v[target / 2] = word_of(pair);
      else args.target.v[target] = pair.x;
    }
  } else {
    [[unroll]] for (uint i = 0; i < MATMUL_PACK_COLUMNS; i += WIDTH) {
      const uint first = moved_back(first_column + i, args.width);
      const uint target = column_at(product, min(first + lane * (PAIRS ? 2 : 1), args.width - 1));
      [[unroll]] for (uint h = 0; h < SUBGROUP; h++) {
        const uint row = product * args.k + first_k + h, to = target + (position + h) * PANEL;
        const bool zero = position + h < end_of_overlap;
        if (PAIRS) {
          const uint64_t pair = load_pair(row, args.width, first);
          pairs.v[to / 2] = zero ? uint64_t(0) : pair;
        } else {
          const float x = load(row, args.width, first);
          args.target.v[to] = zero ? 0 : x;
        }
      }
    }
  }
}
