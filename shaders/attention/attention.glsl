// Who sees whom, and which weights dropout keeps: the rules that all attention kernels share. The includer names its
// push constants, a struct with a member `source`, by defining ATTENTION_PUSH.
#include "shaders/attention/attention.args.h"
#include "shaders/common/philox.glsl"

layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = ATTENTION_HEAD_WIDTH) const int head_width = 64;
layout(constant_id = ATTENTION_VALUE_WIDTH) const int value_width = 64;
layout(constant_id = ATTENTION_GROUP) const int group = 1;
layout(constant_id = ATTENTION_SCALE) const float scale = 0.125;
layout(constant_id = ATTENTION_CAUSAL) const bool causal = true;
layout(constant_id = ATTENTION_POSITION) const bool has_position = false;
layout(constant_id = ATTENTION_DROPOUT) const float dropout = 0.0;
layout(constant_id = ATTENTION_FLAGS) const uint wanted = 3;
layout(constant_id = ATTENTION_MASK) const uint mask_kind = 0;
layout(constant_id = ATTENTION_SHARED) const uint shared_inputs = 0;

PUSH(ATTENTION_PUSH);

// Below every score, and finite: differences of two of them are 0, never NaN.
const float lowest = -3.0e38;

// Query t sees the keys s <= t + shift.
int visible_shift() {
  return has_position ? clamp(args.source.position.v[0], -args.source.queries, args.source.keys) : args.source.shift;
}
// Query t sees the keys below this.
int key_end(int shift, int t) {
  return causal ? clamp(t + shift + 1, 0, args.source.keys) : args.source.keys;
}
// The queries from this one on see key s.
int first_query(int shift, int s) { return causal ? max(s - shift, 0) : 0; }

// Whether query t sees key s. Either may lie past the end. Every load stays inside the mask, as drivers may perform it
// whatever the conditions around it.
bool visible(int batch, int t, int s, int end) {
  bool seen = s < end;
  if (mask_kind != 0) {
    const int masks = (shared_inputs & 1u) != 0 ? 0 : batch;
    const int row = mask_kind == 1 ? masks : masks * args.source.queries + min(t, args.source.queries - 1);
    const bool unmasked = args.source.mask.v[row * args.source.keys + min(s, args.source.keys - 1)] != 0;
    seen = seen && unmasked;
  }
  return seen;
}

// Dropout's factors, 0 or 1 / (1 - dropout), of keys 4 * quad .. 4 * quad + 3. `row` is (b * heads + h) * queries + t.
vec4 kept(int row, int quad) {
  uvec2 key = uvec2(args.source.seed.v[0], args.source.stream);
  vec4 uniform_numbers = philox_uniform(philox4x32_10(uvec4(quad, row, args.source.seed.v[1], 0), key));
  return mix(vec4(0), vec4(1.0 / (1.0 - dropout)), greaterThanEqual(uniform_numbers, vec4(dropout)));
}
float kept_one(int row, int s) { return kept(row, s >> 2)[s & 3]; }
