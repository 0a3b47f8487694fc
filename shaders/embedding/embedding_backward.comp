#version 460
// variant rows: -DBY_TOKEN=false
// variant rows_int64: -DBY_TOKEN=false -DINT64
// variant tokens: -DBY_TOKEN=true
// variant tokens_int64: -DBY_TOKEN=true -DINT64
// dtable[v] = sum of upstream[n] over the tokens n whose id is v, in the order of n, without atomics: a workgroup lists
// the tokens that carry its id, some at a time, and adds their rows. It stands for a row of the table (cheap for small
// tables), or for a token, where it stops unless that token is the first with its id (cheap for large ones).
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/embedding/embedding.args.h"

layout(constant_id = 4) const uint TESTS = 32;

PUSH(EmbeddingBackwardArgs);

shared uint counts[LANES];
shared uint found[LANES * TESTS];

void add_rows(uint target, uint count) {
  for (uint n = 0; n < COUNT; ++n) {
    vec2 sum = load2(args.dtable, target, n, 0);
    uint i = 0;
    for (; i + 3 < count; i += 4) {
      const vec2 a = load2(args.upstream, found[i] * COLUMNS, n, 0);
      const vec2 b = load2(args.upstream, found[i + 1] * COLUMNS, n, 0);
      const vec2 c = load2(args.upstream, found[i + 2] * COLUMNS, n, 0);
      const vec2 d = load2(args.upstream, found[i + 3] * COLUMNS, n, 0);
      sum += (a + b) + (c + d);
    }
    for (; i < count; ++i) sum += load2(args.upstream, found[i] * COLUMNS, n, 0);
    store2(args.dtable, target, n, sum);
  }
}

void main() {
  const uint self = row_group();
  if (self >= (BY_TOKEN ? args.tokens : uint(args.table_rows))) return;
  const int id = BY_TOKEN ? args.ids.v[self] : int(self);
  if (id < 0 || id >= args.table_rows) return;

  bool first = true;
  for (uint base = 0; base < args.tokens; base += LANES * TESTS) {
    // Bit k: token start + k has this id. Lanes take consecutive spans, so the list below is in the order of tokens.
    const uint start = base + lane() * TESTS;
    uint hits = 0;
    [[unroll]] for (uint k = 0; k < TESTS; ++k) {
      const bool hit = args.ids.v[min(start + k, args.tokens - 1)] == id && start + k < args.tokens;
      hits |= uint(hit) << k;
    }
    barrier();  // the last list has been read
    counts[lane()] = bitCount(hits);
    barrier();
    uint slot = 0, count = 0;
    for (uint l = 0; l < LANES; ++l) {
      if (l == lane()) slot = count;
      count += counts[l];
    }
    for (; hits != 0; hits &= hits - 1) found[slot++] = start + findLSB(hits);
    barrier();
    if (count == 0) continue;
    if (BY_TOKEN && first && found[0] != self) return;
    first = false;
    add_rows(uint(id) * COLUMNS, count);
  }
}
