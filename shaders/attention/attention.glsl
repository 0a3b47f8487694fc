// Who sees whom, what a score is, and which weights dropout keeps: the rules that all attention kernels share. The
// includer names its push constants, a struct with a member `source`, by defining ATTENTION_PUSH.
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
layout(constant_id = ATTENTION_BIAS) const bool has_bias = false;
layout(constant_id = ATTENTION_SHARED) const uint shared_inputs = 0;
layout(constant_id = ATTENTION_WINDOW) const int window = 0;
layout(constant_id = ATTENTION_SOFTCAP) const float softcap = 0.0;
const bool shared_mask = (shared_inputs & 1u) != 0;
const bool shared_bias = (shared_inputs & 2u) != 0;

PUSH(ATTENTION_PUSH);

// Below every score, and finite: differences of two of them are 0, never NaN.
const float lowest = -3.0e38;

// Query t is at key t + shift. Kept so close to the keys that no sum overflows and nothing else changes.
int visible_shift() {
  return has_position ? clamp(args.source.position.v[0], -args.source.queries, args.source.keys + window)
                      : args.source.shift;
}
// Query t sees the keys below this.
int key_end(int shift, int t) {
  return causal ? clamp(t + shift + 1, 0, args.source.keys) : args.source.keys;
}
// Query t sees the keys from this one on.
int key_begin(int shift, int t) {
  return window > 0 ? clamp(t + shift - window + 1, 0, args.source.keys) : 0;
}
// The queries from this one on see key s.
int first_query(int shift, int s) { return causal ? max(s - shift, 0) : 0; }
// The queries below this see key s.
int query_end(int shift, int s) {
  return window > 0 ? clamp(s - shift + window, 0, args.source.queries) : args.source.queries;
}

// Whether query t sees key s. Either may lie past the end. Every load stays inside the mask (and the bias, below), as
// drivers may perform it whatever the conditions around it.
bool visible(int batch, int t, int s, int shift, int end) {
  bool seen = s < end;
  if (window > 0) {
    const bool inside = s > t + shift - window;
    seen = seen && inside;
  }
  if (mask_kind != 0) {
    const int masks = shared_mask ? 0 : batch;
    const int row = mask_kind == 1 ? masks : masks * args.source.queries + min(t, args.source.queries - 1);
    const bool unmasked = args.source.mask.v[row * args.source.keys + min(s, args.source.keys - 1)] != 0;
    seen = seen && unmasked;
  }
  return seen;
}

// tanh as a series near 0, where the quotient would cancel; its exponential cannot overflow.
float tanh_of(float x) {
  const float square = x * x;
  const float series = 1 + square * (-1.0 / 3 + square * (2.0 / 15 + square * (-17.0 / 315 + square * (62.0 / 2835))));
  const float e = exp(-2 * abs(x));
  return square < 0.0625 ? x * series : sign(x) * (1 - e) / (1 + e);
}

// The score of query t and key s, whose product times scale is `product`.
float score_of(float product, int batch, int head, int t, int s) {
  float score = product;
  if (softcap > 0) score = softcap * tanh_of(product / softcap);
  if (has_bias) {
    const int row = ((shared_bias ? 0 : batch) * args.source.heads + head) * args.source.queries;
    const int at = (row + min(t, args.source.queries - 1)) * args.source.keys + min(s, args.source.keys - 1);
    score += args.source.bias.v[at];
  }
  return score;
}
// Derivative of the score by the product.
float score_slope(float product) {
  if (softcap <= 0) return 1;
  const float capped = tanh_of(product / softcap);
  return 1 - capped * capped;
}

// Dropout's factors, 0 or 1 / (1 - dropout), of keys 4 * quad .. 4 * quad + 3. `row` is (b * heads + h) * queries + t.
vec4 kept(int row, int quad) {
  uvec2 key = uvec2(args.source.seed.v[0], args.source.stream);
  vec4 uniform_numbers = philox_uniform(philox4x32_10(uvec4(quad, row, args.source.seed.v[1], 0), key));
  return mix(vec4(0), vec4(1.0 / (1.0 - dropout)), greaterThanEqual(uniform_numbers, vec4(dropout)));
}
float kept_one(int row, int s) { return kept(row, s >> 2)[s & 3]; }
