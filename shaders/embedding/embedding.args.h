#ifndef VKFORMER_EMBEDDING_ARGS_H
#define VKFORMER_EMBEDDING_ARGS_H
// Specialization constants 0-4: shaders/common/rows.glsl. embedding, 5: there are positions. embedding_backward, 5: ids
// one invocation tests at a time, at most 32; 6: rows of upstream it loads at a time.
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

struct EmbeddingArgs {
  Floats table;           // [table_rows, C]
  Ints ids;               // [tokens]
  Floats position_table;  // [position_rows, C]
  Ints position;          // [1], read if has_offset
  Floats y;               // [tokens, C]
  uint tokens;
  uint positions;  // T: tokens n and n + T share a position
  int table_rows;
  int position_rows;
  uint has_offset;
};

struct EmbeddingBackwardArgs {
  Floats upstream;  // [tokens, C]
  Ints ids;         // [tokens]
  Floats dtable;    // [table_rows, C], zero before
  uint tokens;
  int table_rows;
};

struct PositionBackwardArgs {
  Floats upstream;  // [batch, positions, C]
  Ints position;    // [1], read if has_offset
  Floats dtable;    // [position_rows, C]
  uint batch;
  uint positions;
  uint position_rows;
  uint has_offset;
};

VKFORMER_SHARED_END
#endif
