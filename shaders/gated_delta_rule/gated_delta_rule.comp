#version 460
// variant workgroup:
// variant subgroup: -DSUBGROUP
// variant workgroup_on: -DGOES_ON
// variant subgroup_on: -DGOES_ON -DSUBGROUP
// With column j of S in the registers of its sharers, at each position: w = v - exp(g) S' k, or v itself where nothing is
// corrected, S = exp(g) S + k (beta w)', y = S' q + skip v. -DGOES_ON: from the state that is stored, and back.
#extension GL_GOOGLE_include_directive : require
#include "shaders/gated_delta_rule/delta_lines.glsl"

PUSH(DeltaRuleArgs);

shared vec4 keys[STEPS * QUADS], queries[STEPS * QUADS];
shared float decays[STEPS], rates[STEPS];
shared float values[STEPS * LINES], results[STEPS * LINES];  // corrections take the place of values

// The group's first `lines` columns, from line `to` on.
void store_state(vec4 state[HELD], uint to, uint lines) {
  if (line_of_group() >= lines) return;
  [[unroll]] for (uint h = 0; h < HELD; ++h)
    [[unroll]] for (uint c = 0; c < 4; ++c) {
      const uint column = 4 * (h * SHARERS + sharer()) + c;
      if (column < COLUMNS) args.state.v[(to + line_of_group()) * COLUMNS + column] = state[h][c];
    }
}

void main() {
  const DeltaSizes sizes = args.sizes;
  const uint head = gl_WorkGroupID.y, batch = gl_WorkGroupID.z, T = sizes.positions;
  const uint first_line = gl_WorkGroupID.x * LINES, lines = min(LINES, sizes.value_width - first_line);
  const uint key_head = key_head_of(sizes, head), columns = x_columns(sizes), width = sizes.heads * sizes.value_width;
  const bool corrects = rules(sizes, delta_corrects);
  const float skip = rules(sizes, delta_skips) ? args.skip.v[head] : 0;
  vec4 state[HELD];
  [[unroll]] for (uint h = 0; h < HELD; ++h) state[h] = vec4(0);
#ifdef GOES_ON
  const uint line = min(line_of_group(), lines - 1);
  const uint state_row = (batch * width + head * sizes.value_width + first_line + line) * COLUMNS;
  if (args.position.v[args.own_positions != 0 ? batch : 0] > 0) {
    [[unroll]] for (uint h = 0; h < HELD; ++h)
      state[h] = staged_quad(args.state, state_row, h * SHARERS + sharer(), true);
  }
#endif
  for (uint first = 0; first < T; first += STEPS) {
    const uint steps = min(STEPS, T - first);
    for (uint i = invocation(); i < steps * QUADS; i += INVOCATIONS) {
      const uint row = batch * T + first + i / QUADS, quad = i % QUADS;
      const bool live = is_live(sizes, args.texts, row);
      keys[i] = staged_quad(args.x, row * columns + key_column(sizes, key_head), quad, live);
      queries[i] = staged_quad(args.x, row * columns + query_column(sizes, key_head), quad, live);
    }
    for (uint i = invocation(); i < steps * LINES; i += INVOCATIONS) {
      const uint row = batch * T + first + i / LINES, j = min(i % LINES, lines - 1);
      values[i] = is_live(sizes, args.texts, row)
                      ? args.x.v[row * columns + value_column(sizes, head) + first_line + j] : 0;
    }
    for (uint i = invocation(); i < steps; i += INVOCATIONS) {
      const uint row = batch * T + first + i;
      decays[i] = decay_of(sizes, args.gates, args.texts, row, first + i, head);
      rates[i] = rate_of(sizes, args.gates, args.texts, row, head);
    }
    barrier();
    for (uint i = 0; i < steps; ++i) {
      const float decay = max(decays[i], 0);
      if (decays[i] < 0) {
        [[unroll]] for (uint h = 0; h < HELD; ++h) state[h] = vec4(0);
      }
      vec4 sums = vec4(0);
      [[unroll]] for (uint h = 0; h < HELD; ++h) sums += state[h] * keys[i * QUADS + h * SHARERS + sharer()];
      const float value = values[i * LINES + line_of_group()];
      const float correction = corrects ? value - decay * line_sum(sums.x + sums.y + sums.z + sums.w) : value;
      const float written = rates[i] * correction;
      sums = vec4(0);
      [[unroll]] for (uint h = 0; h < HELD; ++h) {
        const uint at = i * QUADS + h * SHARERS + sharer();
        state[h] = decay * state[h] + written * keys[at];
        sums += state[h] * queries[at];
      }
      const float y = line_sum(sums.x + sums.y + sums.z + sums.w);
      if (sharer() == 0) {
        results[i * LINES + line_of_group()] = y + skip * value;
        values[i * LINES + line_of_group()] = correction;
      }
    }
    barrier();
    for (uint i = invocation(); i < steps * LINES; i += INVOCATIONS) {
      const uint to = (batch * T + first + i / LINES) * width + head * sizes.value_width + first_line + i % LINES;
      if (i % LINES >= lines) continue;
      if ((args.outputs & 1) != 0) args.y.v[to] = results[i];
      if ((args.outputs & 2) != 0) args.corrections.v[to] = values[i];
    }
#ifndef GOES_ON
    const uint done = first + steps;
    if ((args.outputs & 4) != 0 && done % delta_span == 0 && done < T) {
      const uint at = (batch * args.kept + done / delta_span - 1) * width + head * sizes.value_width + first_line;
      store_state(state, at, lines);
    }
#endif
    barrier();
  }
#ifdef GOES_ON
  store_state(state, batch * width + head * sizes.value_width + first_line, lines);
#endif
}
