#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// variant workgroup_f16: -DHALF=1
// variant workgroup_bf16: -DHALF=2
// y[n] = scale table[ids[n]] + position_table[first + position + n mod T]. A row that its table does not have counts as
// zeros.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/embedding/embedding.args.h"

layout(constant_id = 4) const bool POSITIONS = false;

PUSH(EmbeddingArgs);

uint source, place, target;
bool known, placed;

void take(uint first, bool inside) {
  [[unroll]] for (uint k = 0; k < STEP; ++k) {
    const vec2 row = load_reals2(args.table, source, first + k, inside, 0);
    vec2 y = known ? row * args.scale : vec2(0);
    if (POSITIONS) {
      const vec2 added = load2(args.position_table, place, first + k, inside, 0);
      y += placed ? added : vec2(0);
    }
    store2(args.y, target, first + k, inside, y);
  }
}

bool has(int rows, int row) { return row >= 0 && row < rows; }

void take_row(uint token) {
  const int id = args.ids.v[token];
  known = has(args.table_rows, id);
  source = known ? uint(id) * COLUMNS : 0;
  // Unsigned: a position near the end of the integers wraps around to a negative one, which the table does not have.
  if (POSITIONS) {
    const int offset = offset_of(args.position, args.offsets, token / args.positions);
    const int position = int(args.first_position + uint(offset) + token % args.positions);
    placed = has(args.position_rows, position);
    place = placed ? uint(position) * COLUMNS : 0;
  }
  target = token * COLUMNS;
  WALK(take)
}

void main() {
  ROW_LOOP(take_row)
}
