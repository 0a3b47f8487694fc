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

float total(vec4 sums) { return line_sum(sums.x + sums.y + sums.z + sums.w); }

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
      const bool live = is_live(sizes, args.texts, row);
      const float rate = rate_of(sizes, args.gates, args.texts, row, head);
      upstreams[i] = staged_quad(args.upstream, from, quad, live);
      writes[i] = rate * staged_quad(args.corrections, from, quad, live);
      dreads[i] = corrects ? -rate * staged_quad(args.dwritten, from, quad, live) : vec4(0);
    }
    for (uint i = invocation(); i < steps * LINES; i += INVOCATIONS) {
      const uint row = batch * T + first + i / LINES, j = first_line + min(i % LINES, lines - 1);
      const bool live = is_live(sizes, args.texts, row);
      keys[i] = live ? args.x.v[row * columns + key_column(sizes, key_head) + j] : 0;
      queries[i] = live ? args.x.v[row * columns + query_column(sizes, key_head) + j] : 0;
    }
    for (uint i = invocation(); i < steps; i += INVOCATIONS)
      decays[i] = decay_of(sizes, args.gates, args.texts, batch * T + first + i, first + i, head);
    barrier();
    for (uint n = 0; n < steps; ++n) {
      const uint i = forwards ? n : steps - 1 - n, own = i * LINES + line_of_group();
      const bool begins = decays[i] < 0;
      const float decay = max(decays[i], 0), key = keys[own], query = queries[own];
      if (begins && forwards) {
        [[unroll]] for (uint h = 0; h < HELD; ++h) state[h] = vec4(0);
      }
      vec4 sums = vec4(0), more = vec4(0);
      [[unroll]] for (uint h = 0; h < HELD; ++h) {
        const uint at = i * QUADS + h * SHARERS + sharer();
        if (forwards) {
          more += decay * state[h] * dreads[at];
          state[h] = decay * state[h] + key * writes[at];
          sums += state[h] * upstreams[at];
        } else {
          state[h] += query * upstreams[at];
          sums += state[h] * writes[at];
          state[h] = begins ? vec4(0) : decay * (state[h] + key * dreads[at]);
        }
      }
      const float sum = total(sums), second = total(more);
      if (sharer() == 0) {
        queries[own] = sum;
        keys[own] = second;
      }
    }
    barrier();
    for (uint i = invocation(); i < steps * LINES; i += INVOCATIONS) {
      if (i % LINES >= lines) continue;
      const uint row = batch * T + first + i / LINES;
      const uint to = (row * sizes.heads + head) * sizes.key_width + first_line + i % LINES;
      if (forwards) {
        args.dq.v[to] = queries[i];
        args.dk_read.v[to] = keys[i];
      } else {
        args.dk_write.v[to] = queries[i];
      }
    }
    barrier();
  }
}
