#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// y[n] = table[ids[n]] + position_table[position + n mod T]. A row that its table does not have counts as zeros.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/embedding/embedding.args.h"

layout(constant_id = 4) const bool POSITIONS = false;

PUSH(EmbeddingArgs);

bool has(int rows, int row) { return row >= 0 && row < rows; }

void main() {
  const int offset = args.has_offset != 0 ? args.position.v[0] : 0;
  const uint end = min(first_row() + ROWS, args.tokens);
  for (uint token = first_row(); token < end; ++token) {
    const int id = args.ids.v[token];
    const bool known = has(args.table_rows, id);
    const uint source = known ? uint(id) * COLUMNS : 0;
    // Unsigned: a position near the end of the integers wraps around to a negative one, which the table does not have.
    const int position = int(uint(offset) + token % args.positions);
    const bool placed = has(args.position_rows, position);
    const uint place = placed ? uint(position) * COLUMNS : 0;
    for (uint n = 0; n < COUNT; ++n) {
      const vec2 row = load2(args.table, source, n, 0);
      vec2 y = known ? row : vec2(0);
      if (POSITIONS) {
        const vec2 added = load2(args.position_table, place, n, 0);
        y += placed ? added : vec2(0);
      }
      store2(args.y, token * COLUMNS, n, y);
    }
  }
}
