#ifndef VKFORMER_HEAD_COLUMNS_GLSL
#define VKFORMER_HEAD_COLUMNS_GLSL
// Where the heads of a packed projection lie. `item` counts the heads of a launch, row after row.
#include "shaders/common/rows.glsl"
#include "shaders/head_norm/head_norm.args.h"

uint first_column(HeadColumnRange range, uint item) {
  return item / range.heads * range.stride + range.column + item % range.heads * COLUMNS;
}

uint head_index(HeadColumnRange range, uint item) {
  return item / range.heads * range.all_heads + range.index + item % range.heads;
}

// Each head of a row copies its share of the columns that are nobody's.
#ifdef HALF
const uint word = 2;
#else
const uint word = 1;
#endif
#define COPY_REST(source, target, range, item)                                             \
  {                                                                                        \
    const uint words = (range.stride - range.copy_column) / word;                          \
    const uint share = (words + range.heads - 1) / range.heads;                            \
    const uint first = (item / range.heads * range.stride + range.copy_column) / word;     \
    const uint head = item % range.heads;                                                  \
    for (uint at = head * share + lane(); at < min((head + 1) * share, words); at += LANES) \
      target.v[first + at] = source.v[first + at];                                         \
  }
#endif
