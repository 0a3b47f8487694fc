#ifndef VKFORMER_EMBEDDING_ARGS_H
#define VKFORMER_EMBEDDING_ARGS_H
// Specialization constants 0-3: shaders/common/rows.glsl. embedding, 4: there are positions. embedding_backward, 4: ids
// one invocation tests at a time, at most 32; 5: rows of upstream it loads at a time. position_backward, 4: each row of
// the batch has its own position.
#include "shaders/common/rows.args.h"

VKFORMER_SHARED_BEGIN

struct EmbeddingArgs {
  Reals table;               // [table_rows, C]
  Ints ids;                  // [tokens]
  RowFloats position_table;  // [position_rows, C]
  Ints position;             // [offsets]; anything readable if offsets is 0
  RowFloats y;               // [tokens, C]
  Rows rows;                 // the tokens
  uint positions;            // T: tokens n and n + T are at the same place of their row
  int table_rows;
  int position_rows;
  uint offsets;  // none, one, or one for each row of T tokens
  uint first_position;
  float scale;
};

struct EmbeddingBlocksArgs {
  Halves table;               // the words of [table_rows, C] encoded blocks
  Ints ids;                   // [tokens]
  FloatQuads position_table;  // [position_rows, C]
  Ints position;              // [offsets]; anything readable if offsets is 0
  FloatQuads y;               // [tokens, C]
  uint tokens;
  uint columns;    // C
  uint positions;  // as above, to the end
  int table_rows;
  int position_rows;
  uint offsets;
  uint first_position;
  float scale;
};

struct EmbeddingBackwardArgs {
  Floats upstream;  // [tokens, C]
  Ints ids;         // [tokens]
  Floats dtable;    // [table_rows, C], zero before
  uint tokens;
  int table_rows;
  float scale;
};

struct PositionBackwardArgs {
  Floats upstream;  // [batch, positions, C]
  Ints position;    // [offsets]; anything readable if offsets is 0
  Floats dtable;    // [position_rows, C]
  Rows rows;        // position_rows
  uint batch;
  uint positions;
  uint offsets;
  uint first_position;
};

#ifndef __cplusplus
// The position of the first token of a row. Always reads: CPU drivers may run the branch that is not taken.
int offset_of(Ints position, uint offsets, uint row) {
  const int offset = position.v[min(row, max(offsets, 1) - 1)];
  return offsets == 0 ? 0 : offset;
}
#endif

VKFORMER_SHARED_END
#endif
