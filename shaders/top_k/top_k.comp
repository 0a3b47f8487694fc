#version 460
// The `count` largest of each row, a workgroup a row. The row is cut into GROUPS interleaved groups, at least as many
// as are wanted: none of the largest is less than the count-th largest of the groups' largest. With some times as many
// groups few others are at least that; they are listed, in any order, and each counts how many are before it.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/float_order.glsl"
#include "shaders/top_k/top_k.args.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint THREADS = 256;
layout(constant_id = 1) const uint GROUPS = 4;  // both powers of two, GROUPS <= THREADS

PUSH(TopKArgs);

shared uvec2 largest[THREADS];
shared uvec2 least;  // that may be wanted
shared uint found;

// for each element of the row that is this invocation's: one workgroup has the whole row, so four loads are under way.
#define EACH_ELEMENT(element, action)                                                                              \
  for (uint first = id; first < args.columns; first += 4 * THREADS) {                                              \
    float x[4];                                                                                                    \
    [[unroll]] for (uint j = 0; j < 4; j++) x[j] = args.x.v[start + min(first + j * THREADS, args.columns - 1)];   \
    [[unroll]] for (uint j = 0; j < 4; j++) {                                                                      \
      const uint i = first + j * THREADS;                                                                          \
      const uvec2 element = uvec2(key_of(x[j]), i);                                                                \
      if (i < args.columns) action                                                                                 \
    }                                                                                                              \
  }

void main() {
  const uint row = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x, id = gl_LocalInvocationID.x;
  if (row >= args.rows) return;
  const uint start = row * args.columns, list = row * args.room;
  uvec2 own = uvec2(0, 0xffffffffu);  // behind every element
  EACH_ELEMENT(element, {
    if (before(element, own)) own = element;
  })
  largest[id] = own;
  if (id == 0) found = 0;
  barrier();
  for (uint n = THREADS / 2; n >= GROUPS; n /= 2) {
    if (id < n && before(largest[id + n], largest[id])) largest[id] = largest[id + n];
    barrier();
  }
  if (GROUPS == 1) {  // one is wanted, and known
    if (id == 0) {
      args.values.v[row] = args.x.v[start + largest[0].y];
      if ((args.outputs & 2) != 0) args.indices.v[row] = int(largest[0].y);
    }
    return;
  }
  if (id < GROUPS) {
    uint rank = 0;
    for (uint g = 0; g < GROUPS; g++) rank += uint(before(largest[g], largest[id]));
    if (rank == args.count - 1) least = largest[id];
  }
  barrier();
  EACH_ELEMENT(element, {
    if (!before(least, element)) args.candidates.v[list + atomicAdd(found, 1)] = element;
  })
  memoryBarrierBuffer();
  barrier();
  for (uint i = id; i < found; i += THREADS) {
    const uvec2 element = args.candidates.v[list + i];
    uint rank = 0;
    for (uint other = 0; other < found; other++) rank += uint(before(args.candidates.v[list + other], element));
    if (rank < args.count) {
      args.values.v[row * args.count + rank] = args.x.v[start + element.y];
      if ((args.outputs & 2) != 0) args.indices.v[row * args.count + rank] = int(element.y);
    }
  }
}
