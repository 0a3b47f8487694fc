// Who sees whom, what a score is, and which weights dropout keeps: the rules that all attention kernels share. The
// includer names its push constants, a struct with a member `source`, by defining ATTENTION_PUSH.
#include "shaders/attention/attention.args.h"
#include "shaders/attention/row_sum.glsl"
#include "shaders/common/philox.glsl"

layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = ATTENTION_VALUE_WIDTH) const int value_width = 64;
layout(constant_id = ATTENTION_WANTED) const uint wanted = 3;
layout(constant_id = ATTENTION_SINKS) const bool has_sinks = false;
layout(constant_id = ATTENTION_HEAD_WIDTH) const int head_width = 64;
layout(constant_id = ATTENTION_DROPOUT) const bool has_dropout = false;
layout(constant_id = ATTENTION_MASK) const bool has_mask = false;
layout(constant_id = ATTENTION_BIAS) const bool has_bias = false;
layout(constant_id = ATTENTION_WINDOW) const bool has_window = false;
layout(constant_id = ATTENTION_SOFTCAP) const bool has_softcap = false;

PUSH(ATTENTION_PUSH);

// Below every score, and finite: differences of two of them are 0, never NaN.
const float lowest = -3.0e38;

bool rule(uint flag) { return (args.source.rules & flag) != 0; }
// Query heads that share one key head.
int group() { return int(args.source.rules & ATTENTION_GROUP_BITS); }

// Query t of a batch is at key t + shift. Kept so close to the keys that no sum overflows and nothing else changes.
int visible_shift(int batch) {
  if (!rule(ATTENTION_POSITION)) return args.source.keys - args.source.queries;
  const int position = args.source.step.v[rule(ATTENTION_POSITION_OF_BATCH) ? batch : 0];
  return clamp(position, -args.source.queries, args.source.keys + args.source.window);
}
// Where all batches have one, as gradients do.
int visible_shift() { return visible_shift(0); }
// Query t sees the keys below this.
int key_end(int shift, int t) {
  return rule(ATTENTION_CAUSAL) ? clamp(t + shift + 1, 0, args.source.keys) : args.source.keys;
}
// Query t sees the keys from this one on.
int key_begin(int shift, int t) {
  return has_window ? clamp(t + shift - args.source.window + 1, 0, args.source.keys) : 0;
}
// The queries from this one on see key s.
int first_query(int shift, int s) { return rule(ATTENTION_CAUSAL) ? max(s - shift, 0) : 0; }
// The queries below this see key s.
int query_end(int shift, int s) {
  return has_window ? clamp(s - shift + args.source.window, 0, args.source.queries) : args.source.queries;
}

// Whether query t sees key s. Either may lie past the end. Every load stays inside the mask (and the bias, below), as
// drivers may perform it whatever the conditions around it.
bool visible(int batch, int t, int s, int shift, int end) {
  bool seen = s < end;
  if (has_window) {
    const bool inside = s > t + shift - args.source.window;
    seen = seen && inside;
  }
  if (has_mask) {
    const int rows = rule(ATTENTION_MASK_OF_QUERY) ? args.source.queries : 1;
    const int row = (rule(ATTENTION_MASK_OF_BATCH) ? batch * rows : 0) + min(t, rows - 1);
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

// As a share of the softcap; the quotient is the same for all scores.
float capped(float product) { return product * (1.0 / args.source.softcap); }

// What is added to the score of query t and key s, with a bias. Either may lie past the end.
float bias_of(int batch, int head, int t, int s) {
  const int row = ((rule(ATTENTION_BIAS_OF_BATCH) ? batch : 0) * args.source.heads + head) * args.source.queries;
  return args.source.bias.v[(row + min(t, args.source.queries - 1)) * args.source.keys + min(s, args.source.keys - 1)];
}

// The score of query t and key s, whose product times scale is `product`.
float score_of(float product, int batch, int head, int t, int s) {
  float score = product;
  if (has_softcap) score = args.source.softcap * tanh_of(capped(product));
  if (has_bias) score += bias_of(batch, head, t, s);
  return score;
}
// Derivative of the score by the product.
float score_slope(float product) {
  if (!has_softcap) return 1;
  const float bent = tanh_of(capped(product));
  return 1 - bent * bent;
}

// Dropout's factors, 0 or 1 / (1 - dropout), of keys 4 * quad .. 4 * quad + 3. `row` is (b * heads + h) * queries + t.
vec4 kept(int row, int quad) {
  const int at = rule(ATTENTION_POSITION) ? 1 : 0;
  const uvec2 key = uvec2(args.source.step.v[at], args.source.stream);
  const vec4 uniform_numbers = philox_uniform(philox4x32_10(uvec4(quad, row, args.source.step.v[at + 1], 0), key));
  const float dropout = args.source.dropout;
  return mix(vec4(0), vec4(1.0 / (1.0 - dropout)), greaterThanEqual(uniform_numbers, vec4(dropout)));
}
float kept_one(int row, int s) { return kept(row, s >> 2)[s & 3]; }
