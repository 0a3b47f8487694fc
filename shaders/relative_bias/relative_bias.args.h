#ifndef VKFORMER_RELATIVE_BIAS_ARGS_H
#define VKFORMER_RELATIVE_BIAS_ARGS_H
// Specialization constants of relative_bias and relative_bias_backward, 0-4: shaders/common/rows.glsl;
// relative_bias_diagonal, 0: invocations of a workgroup.
#include "shaders/common/rows.args.h"

VKFORMER_SHARED_BEGIN

// How relative positions are looked up.
struct Buckets {
  Ints of;        // [count]
  Ints position;  // [1]; anything readable if there is none
  int count;
  int zero;
  uint has_position;
  int table_rows;
};

struct RelativeBiasArgs {
  Floats table;  // [table_rows, heads]
  Floats y;      // [heads, queries, keys]
  Buckets buckets;
  Rows rows;  // heads * queries
  uint heads;
  uint queries;
};

struct RelativeBiasDiagonalArgs {
  Floats upstream;  // [heads, queries, keys]
  Floats sums;      // [queries + keys - 1, heads]
  uint heads;
  uint queries;
  uint keys;
  uint groups_per_head;  // workgroups
};

struct RelativeBiasBackwardArgs {
  Floats sums;    // [queries + keys - 1, heads]
  Floats dtable;  // [table_rows, heads]
  Buckets buckets;
  Rows rows;  // table_rows
  uint diagonals;
  uint queries;
};

#ifndef __cplusplus
// The position of the first query, so far inside the integers that sums with indices below 2^28 cannot overflow.
// Always reads: CPU drivers may run the branch that is not taken.
int first_query(Ints position, uint has_position) {
  const int given = clamp(position.v[0], -(1 << 29), 1 << 29);
  return has_position != 0 ? given : 0;
}

// The bucket of a relative position.
#define BUCKET(buckets, relative) (buckets).of.v[clamp((relative) + (buckets).zero, 0, (buckets).count - 1)]
#endif

VKFORMER_SHARED_END
#endif
