#version 460
// variant workgroup:
// variant subgroup: -DSUBGROUP
// Backwards through time, with column j of E = dS in the registers of its sharers: E = E + q dy', and of what was
// written by k the gradient is E' k; what was read by k has -beta times that, so E = exp(g) (E - k (beta E' k)'). Where a
// state is kept, its product with its gradient is what g of the position behind has as gradient.
#extension GL_GOOGLE_include_directive : require
#include "shaders/gated_delta_rule/delta_lines.glsl"

PUSH(DeltaValuesBackwardArgs);

shared vec4 keys[STEPS * QUADS], queries[STEPS * QUADS];
shared vec2 gates[STEPS];
shared float values[STEPS * LINES];  // upstream; what is made of it takes its place

void main() {
  const DeltaSizes sizes = args.sizes;
  const uint head = gl_WorkGroupID.y, batch = gl_WorkGroupID.z, T = sizes.positions;
  const uint first_line = gl_WorkGroupID.x * LINES, lines = min(LINES, sizes.value_width - first_line);
  const uint key_head = key_head_of(sizes, head), columns = x_columns(sizes), width = sizes.heads * sizes.value_width;
  const bool corrects = rules(sizes, delta_corrects);
  vec4 state[HELD];
  [[unroll]] for (uint h = 0; h < HELD; ++h) state[h] = vec4(0);
  for (uint end = T; end > 0;) {
    const uint steps = end % STEPS == 0 ? STEPS : end % STEPS, first = end - steps;
    end = first;
    for (uint i = invocation(); i < steps * QUADS; i += INVOCATIONS) {
      const uint row = batch * T + first + i / QUADS, quad = i % QUADS;
      const vec4 key = staged_quad(args.x, row * columns + key_column(sizes, key_head), quad);
      const vec4 query = staged_quad(args.x, row * columns + query_column(sizes, key_head), quad);
      const bool live = is_live(sizes, args.texts, row);
      keys[i] = live ? key : vec4(0);
      queries[i] = live ? query : vec4(0);
    }
    for (uint i = invocation(); i < steps * LINES; i += INVOCATIONS) {
      const uint row = batch * T + first + i / LINES, j = min(i % LINES, lines - 1);
      const float upstream = args.upstream.v[row * width + head * sizes.value_width + first_line + j];
      values[i] = is_live(sizes, args.texts, row) ? upstream : 0;
    }
    for (uint i = invocation(); i < steps; i += INVOCATIONS)
      gates[i] = gates_of(sizes, args.gates, args.texts, batch * T + first + i, first + i, head);
    barrier();
    vec2 next = gates[steps - 1];
    for (uint i = steps; i-- > 0;) {
      const vec2 gate = next;
      next = gates[max(i, 1) - 1];
      if (gate.x == is_skipped) continue;
      const float upstream = values[i * LINES + line_of_group()];
      vec4 sums = vec4(0);
      [[unroll]] for (uint h = 0; h < HELD; ++h) {
        const uint at = i * QUADS + h * SHARERS + sharer();
        state[h] += upstream * queries[at];
        sums += state[h] * keys[at];
      }
      const float dwritten = line_sum(total(sums)), dread = corrects ? -gate.y * dwritten : 0;
      [[unroll]] for (uint h = 0; h < HELD; ++h)
        state[h] = gate.x < 0 ? vec4(0) : gate.x * (state[h] + dread * keys[i * QUADS + h * SHARERS + sharer()]);
      if (sharer() == 0) values[i * LINES + line_of_group()] = dwritten;
    }
    barrier();
    for (uint i = invocation(); i < steps * LINES; i += INVOCATIONS) {
      if (i % LINES >= lines) continue;
      const uint row = batch * T + first + i / LINES;
      args.dwritten.v[row * width + head * sizes.value_width + first_line + i % LINES] = values[i];
    }
    if (first % delta_span == 0 && first > 0) {
      const uint at = (batch * args.kept + first / delta_span - 1) * width + head * sizes.value_width + first_line +
                      min(line_of_group(), lines - 1);
      vec4 sums = vec4(0);
      [[unroll]] for (uint h = 0; h < HELD; ++h)
        sums += state[h] * staged_quad(args.states, at * COLUMNS, h * SHARERS + sharer());
      const float product = line_sum(total(sums));
      if (sharer() == 0 && line_of_group() < lines) args.products.v[at] = product;
    }
    barrier();
  }
}
