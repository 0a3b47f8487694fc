#version 460
// variant workgroup:
// variant subgroup: -DSUBGROUP
// variant workgroup_on: -DGOES_ON
// variant subgroup_on: -DGOES_ON -DSUBGROUP
// With column j of S in the registers of its sharers, at each position: w = v - exp(g) S' k, or v itself where nothing is
// corrected, S = exp(g) S + k (beta w)', y = S' q + skip v. Of the old S that is exp(g) S' q + (beta w) k . q: products with
// k and q are summed at once, k . q once for all columns. -DGOES_ON: from the state that is stored, and back.
#extension GL_GOOGLE_include_directive : require
#include "shaders/gated_delta_rule/delta_lines.glsl"

PUSH(DeltaRuleArgs);

shared vec4 keys[STEPS * QUADS], queries[STEPS * QUADS];
shared vec2 gates[STEPS];
shared float dots[STEPS];  // k . q
shared vec2 values[STEPS * LINES];  // v and skip v; w, and y but for k . q, take their place

// The group's first `lines` columns, from line `to` on.
void store_state(vec4 state[HELD], uint to, uint lines) {
  if (line_of_group() >= lines) return;
  [[unroll]] for (uint h = 0; h < HELD; ++h)
    [[unroll]] for (uint c = 0; c < 4; ++c) {
      const uint column = column_of(h * SHARERS + sharer(), c);
      if (WHOLE || column < COLUMNS) args.state.v[(to + line_of_group()) * COLUMNS + column] = state[h][c];
    }
}

void main() {
  const DeltaSizes sizes = args.sizes;
  const uint head = gl_WorkGroupID.y, batch = gl_WorkGroupID.z, T = sizes.positions;
  const uint first_line = gl_WorkGroupID.x * LINES, lines = min(LINES, sizes.value_width - first_line);
  const uint key_head = key_head_of(sizes, head), columns = x_columns(sizes), width = sizes.heads * sizes.value_width;
  const bool corrects = rules(sizes, delta_corrects);
  vec4 state[HELD];
  bool changed = false;
#ifdef GOES_ON
  const uint line = min(line_of_group(), lines - 1);
  const uint state_row = (batch * width + head * sizes.value_width + first_line + line) * COLUMNS;
  [[unroll]] for (uint h = 0; h < HELD; ++h) state[h] = staged_quad(args.state, state_row, h * SHARERS + sharer());
  const bool begins = args.position.v[args.own_positions != 0 ? batch : 0] <= 0;
#else
  [[unroll]] for (uint h = 0; h < HELD; ++h) state[h] = vec4(0);
#endif
  for (uint first = 0; first < T; first += STEPS) {
    const uint steps = min(STEPS, T - first);
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
      const float value = args.x.v[row * columns + value_column(sizes, head) + first_line + j];
      const float skip = rules(sizes, delta_skips) ? args.skip.v[head] : 0;
      values[i] = is_live(sizes, args.texts, row) ? vec2(value, skip * value) : vec2(0);
    }
    for (uint i = invocation(); i < steps; i += INVOCATIONS) {
      gates[i] = gates_of(sizes, args.gates, args.texts, batch * T + first + i, first + i, head);
#ifdef GOES_ON
      if (begins && first + i == 0) gates[i].x = begins_anew;  // skipped or not: the state that is stored is zeros then
#endif
    }
    barrier();
    // A position for each line; those that are left over have the last one once more.
    for (uint start = 0; start < steps; start += LINES) {
      const uint i = min(start + line_of_group(), steps - 1);
      vec4 sums = vec4(0);
      [[unroll]] for (uint h = 0; h < HELD; ++h) {
        const uint at = i * QUADS + h * SHARERS + sharer();
        sums += keys[at] * queries[at];
      }
      const float dot = line_sum(total(sums));
      if (sharer() == 0) dots[i] = dot;
    }
    vec2 next = gates[0];
    for (uint i = 0; i < steps; ++i) {
      const vec2 gate = next;  // what the branch needs is there already
      next = gates[min(i + 1, STEPS - 1)];
      [[branch]] if (gate.x < 0) {  // seldom: rather than a choice for each value at each position
        if (gate.x == is_skipped) continue;
        [[unroll]] for (uint h = 0; h < HELD; ++h) state[h] = vec4(0);
      }
      changed = true;
      const uint own = i * LINES + line_of_group();
      const float decay = max(gate.x, 0);
      const vec2 value = values[own];
      vec4 of_key = vec4(0), of_query = vec4(0);
      [[unroll]] for (uint h = 0; h < HELD; ++h) {
        const uint at = i * QUADS + h * SHARERS + sharer();
        of_key += state[h] * keys[at];
        of_query += state[h] * queries[at];
      }
      const vec2 read = decay * line_sum(vec2(total(of_key), total(of_query)));
      const float correction = corrects ? value.x - read.x : value.x, written = gate.y * correction;
      [[unroll]] for (uint h = 0; h < HELD; ++h)
        state[h] = decay * state[h] + written * keys[i * QUADS + h * SHARERS + sharer()];
      if (sharer() == 0) values[own] = vec2(correction, value.y + read.y);
    }
    barrier();
    for (uint i = invocation(); i < steps * LINES; i += INVOCATIONS) {
      const uint to = (batch * T + first + i / LINES) * width + head * sizes.value_width + first_line + i % LINES;
      if (i % LINES >= lines) continue;
      const vec2 value = values[i];
      if ((args.outputs & 1) != 0) args.y.v[to] = value.y + gates[i / LINES].y * value.x * dots[i / LINES];
      if ((args.outputs & 2) != 0) args.corrections.v[to] = value.x;
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
  if (changed) store_state(state, batch * width + head * sizes.value_width + first_line, lines);
#endif
}
