#version 460
// variant workgroup:
// variant subgroup: -DSUBGROUP
// With rows of the states in registers, since what is written, beta w, and the gradient of what is read, -beta dwritten,
// are known. Workgroups of even x go forwards with row i of S: dq = S dy, and of what is read by k, exp(g) S of the
// position before, dk_read = that times dread. Those of odd x go backwards with row i of E: dk_write = E (beta w).
#extension GL_GOOGLE_include_directive : require
#include "shaders/gated_delta_rule/delta_lines.glsl"

PUSH(DeltaKeysBackwardArgs);

shared vec4 upstreams[STEPS * QUADS], writes[STEPS * QUADS], dreads[STEPS * QUADS];
shared float decays[STEPS];
// Of the lines; what is made of them takes their place.
shared float keys[STEPS * LINES], queries[STEPS * LINES];

void main() {
  const DeltaSizes sizes = args.sizes;
  const uint head = gl_WorkGroupID.y, batch = gl_WorkGroupID.z, T = sizes.positions;
  const bool corrects = rules(sizes, delta_corrects);
  const bool forwards = gl_WorkGroupID.x % 2 == 0;
  const uint first_line = gl_WorkGroupID.x / 2 * LINES, lines = min(LINES, sizes.key_width - first_line);
  const uint key_head = key_head_of(sizes, head), columns = x_columns(sizes), width = sizes.heads * sizes.value_width;
  vec4 state[HELD];
  [[unroll]] for (uint h = 0; h < HELD; ++h) state[h] = vec4(0);
  for (uint done = 0; done < T; done += STEPS) {
    const uint steps = min(STEPS, T - done), first = forwards ? done : T - done - steps;
    for (uint i = invocation(); i < steps * QUADS; i += INVOCATIONS) {
      const uint row = batch * T + first + i / QUADS, quad = i % QUADS, from = row * width + head * sizes.value_width;
      const vec4 upstream = staged_quad(args.upstream, from, quad);
      const vec4 correction = staged_quad(args.corrections, from, quad);
      vec4 dwritten = vec4(0);
      if (corrects) dwritten = staged_quad(args.dwritten, from, quad);
      const float rate = args.gates.v[2 * row * sizes.heads + head];
      const bool live = is_live(sizes, args.texts, row);
      upstreams[i] = live ? upstream : vec4(0);
      writes[i] = live ? rate * correction : vec4(0);
      dreads[i] = live ? -rate * dwritten : vec4(0);
    }
    for (uint i = invocation(); i < steps * LINES; i += INVOCATIONS) {
      const uint row = batch * T + first + i / LINES, j = first_line + min(i % LINES, lines - 1);
      const float key = args.x.v[row * columns + key_column(sizes, key_head) + j];
      const float query = args.x.v[row * columns + query_column(sizes, key_head) + j];
      const bool live = is_live(sizes, args.texts, row);
      keys[i] = live ? key : 0;
      queries[i] = live ? query : 0;
    }
    for (uint i = invocation(); i < steps; i += INVOCATIONS)
      decays[i] = gates_of(sizes, args.gates, args.texts, batch * T + first + i, first + i, head).x;
    barrier();
    for (uint n = 0; n < steps; ++n) {
      const uint i = forwards ? n : steps - 1 - n, own = i * LINES + line_of_group();
      if (decays[i] == is_skipped) continue;
      const bool begins = decays[i] < 0;
      const uint at = i * QUADS + sharer();
      const float decay = max(decays[i], 0), key = keys[own], query = queries[own];
      vec4 sums = vec4(0), more = vec4(0);
      if (forwards) {
        [[branch]] if (begins) {
          [[unroll]] for (uint h = 0; h < HELD; ++h) state[h] = vec4(0);
        }
        if (corrects) {
          [[unroll]] for (uint h = 0; h < HELD; ++h) more += state[h] * dreads[at + h * SHARERS];
        }
        [[unroll]] for (uint h = 0; h < HELD; ++h) {
          state[h] = decay * state[h] + key * writes[at + h * SHARERS];
          sums += state[h] * upstreams[at + h * SHARERS];
        }
      } else {
        [[unroll]] for (uint h = 0; h < HELD; ++h) {
          state[h] += query * upstreams[at + h * SHARERS];
          sums += state[h] * writes[at + h * SHARERS];
        }
        if (corrects) {
          [[unroll]] for (uint h = 0; h < HELD; ++h) state[h] += key * dreads[at + h * SHARERS];
        }
        [[branch]] if (begins) {
          [[unroll]] for (uint h = 0; h < HELD; ++h) state[h] = vec4(0);
        } else {
          [[unroll]] for (uint h = 0; h < HELD; ++h) state[h] *= decay;
        }
      }
      const vec2 products = line_sum(vec2(total(sums), decay * total(more)));
      if (sharer() == 0) {
        queries[own] = products.x;
        keys[own] = products.y;
      }
    }
    barrier();
    for (uint i = invocation(); i < steps * LINES; i += INVOCATIONS) {
      if (i % LINES >= lines) continue;
      const uint row = batch * T + first + i / LINES;
      const uint to = (row * sizes.heads + head) * sizes.key_width + first_line + i % LINES;
      if (forwards) {
        args.dq.v[to] = queries[i];
        if (corrects) args.dk_read.v[to] = keys[i];
      } else {
        args.dk_write.v[to] = queries[i];
      }
    }
    barrier();
  }
}
