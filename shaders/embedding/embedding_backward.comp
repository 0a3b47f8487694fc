#version 460
// variant rows: -DBY_TOKEN=false
// variant rows_int64: -DBY_TOKEN=false -DINT64
// variant tokens: -DBY_TOKEN=true
// variant tokens_int64: -DBY_TOKEN=true -DINT64
// dtable[v] += scale * upstream[n] over the tokens n whose id is v, in the order of n, without atomics: a
// workgroup lists the tokens that carry its id, some at a time, and adds their rows. It stands for a row of the table
// (cheap for small tables), or for a token, where it stops unless that token is the first with its id (cheap for large
// ones).
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/embedding/embedding.args.h"

layout(constant_id = 4) const uint TESTS = 32;
layout(constant_id = 5) const uint AT_ONCE = 1;

PUSH(EmbeddingBackwardArgs);

shared uint counts[LANES];
shared uint found[LANES * TESTS];

uint target, count;

void take(uint first, bool inside) {
  vec2 sums[STEP];
  [[unroll]] for (uint k = 0; k < STEP; ++k) sums[k] = load2(args.dtable, target, first + k, inside, 0);
  uint i = 0;
  do {
    [[unroll]] for (uint j = 0; j < AT_ONCE; ++j) {
      const uint start = min(found[min(i + j, count - 1)], args.tokens - 1) * COLUMNS;
      [[unroll]] for (uint k = 0; k < STEP; ++k) {
        const vec2 row = load2(args.upstream, start, first + k, inside, 0);
        sums[k] += i + j < count ? row * args.scale : vec2(0);
      }
    }
  } while ((i += AT_ONCE) < count);
  [[unroll]] for (uint k = 0; k < STEP; ++k) store2(args.dtable, target, first + k, inside, sums[k]);
}

// Lists the tokens among base .. base + LANES * TESTS - 1 that carry this id.
void search(int id, uint base) {
  // Bit k: token start + k has it. Lanes take consecutive spans, so the list is in the order of tokens.
  const uint start = base + lane() * TESTS;
  uint hits = 0;
  [[unroll]] for (uint k = 0; k < TESTS; ++k) {
    const bool hit = args.ids.v[min(start + k, args.tokens - 1)] == id && start + k < args.tokens;
    hits |= uint(hit) << k;
  }
  barrier();  // the last list has been read
  counts[lane()] = bitCount(hits);
  barrier();
  uint slot = 0;
  count = 0;
  for (uint l = 0; l < LANES; ++l) {
    if (l == lane()) slot = count;
    count += counts[l];
  }
  for (; hits != 0; hits &= hits - 1) found[slot++] = start + findLSB(hits);
  barrier();
}

void main() {
  const uint self = row_group();
  if (self >= (BY_TOKEN ? args.tokens : uint(args.table_rows))) return;
  // Clamped, like the list above: Mesa 25.2's CPU driver loads what all lanes share even when none is active.
  const int id = BY_TOKEN ? args.ids.v[min(self, args.tokens - 1)] : int(self);
  if (id < 0 || id >= args.table_rows) return;

  target = uint(clamp(id, 0, args.table_rows - 1)) * COLUMNS;
  bool first = true;
  uint base = 0;
  do {
    // The search is a loop of its own because CPU drivers run skipped code, too.
    do {
      search(id, base);
      base += LANES * TESTS;
    } while (count == 0 && base < args.tokens);
    if (count == 0) return;
    if (BY_TOKEN && first && found[0] != self) return;
    first = false;
    WALK(take)
  } while (base < args.tokens);
}
