#version 460
// variant f32:
// variant f16: -DHALF=1
// variant bf16: -DHALF=2
// Attention of a few positions a row over a cache, which takes in their keys and values; see cached_attention.h. One
// workgroup a head of a query, or a part of its keys: teams of lanes compute scores, some keys at a time, which stay in
// shared memory; then invocations own a vector of columns in a slice of the keys. The run's own keys never go through
// the cache, which other workgroups write at the same time: each takes them from x, the first part alone.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_GOOGLE_include_directive : require
#define ATTENTION_PUSH CachedAttentionArgs
#include "shaders/attention/cached_attention.args.h"
#include "shaders/attention/attention.glsl"
#ifdef HALF
#include "shaders/common/half.glsl"
#endif
layout(constant_id = 0) const uint threads = 256;
layout(constant_id = CACHED_SUBGROUP) const uint subgroup = 1;
layout(constant_id = CACHED_LANES) const uint lanes = 1;
layout(constant_id = CACHED_CAPACITY) const uint capacity = 256;
layout(constant_id = CACHED_HALF) const int turned_half = 0;
layout(constant_id = CACHED_INTERLEAVED) const bool interleaved = false;
layout(constant_id = CACHED_SEVERAL) const bool several = false;
layout(constant_id = CACHED_QUERIES) const int queries = 1;

// A vector of the cache is 16 bytes: a quad, or two of 16 bits.
#ifdef HALF
#define VECTOR uvec4
const uint quads = 2;
vec4 quad_of(VECTOR v, uint n) { return half_quad(n == 0 ? v.xy : v.zw); }
float stored(float x) { return rounded_half(within_half(vec2(x)).x); }
VECTOR vector_of(vec4 quad[quads]) {
  return uvec4(pack_halves(quad[0].xy), pack_halves(quad[0].zw), pack_halves(quad[1].xy), pack_halves(quad[1].zw));
}
#else
#define VECTOR vec4
const uint quads = 1;
vec4 quad_of(VECTOR v, uint n) { return v; }
float stored(float x) { return x; }
VECTOR vector_of(vec4 quad[quads]) { return quad[0]; }
#endif

const uint teams = threads / lanes;
const uint key_vectors = head_width / (4 * quads), value_vectors = value_width / (4 * quads);  // whole ones
const uint lane_vectors = (key_vectors + lanes - 1) / lanes;
// Loads under way for an invocation: one workgroup reads all of a head's rows, and waits longer for a long cache the
// fewer there are. For a short one more would be loads of nothing; Adreno's subgroups of 128 have no registers for them.
const uint few = subgroup <= 64 ? 4 : 4 / quads;
const uint unroll = capacity > 512 && lane_vectors == 1 && subgroup <= 64 ? 8 : few;
const uint key_unroll = lane_vectors == 1 ? unroll : lane_vectors < 2 * few ? 2 * few / lane_vectors : 1;
const int widest = head_width > value_width ? head_width : value_width;
const int own_columns = (queries * widest + int(threads) - 1) / int(threads);  // of the run's rows, an invocation's

shared vec4 q[key_vectors * quads];
shared vec4 own_keys[queries * key_vectors * quads];  // [row][quad]
shared vec4 own_values[queries * value_vectors * quads];
shared float scores[capacity];
shared float group_values[threads / subgroup];
shared vec4 partial[threads * quads];

uint id;

// Column c of a head is turned with its partner, by the cosine and sine of its pair.
bool is_turned(int c) { return c < 2 * turned_half; }
int pair_of(int c) { return interleaved ? c / 2 : c % max(turned_half, 1); }
bool is_second(int c) { return interleaved ? c % 2 == 1 : c >= turned_half; }
int partner_of(int c) {
  const int step = interleaved ? 1 : turned_half;
  return !is_turned(c) ? c : is_second(c) ? c - step : c + step;
}
float turned(int c, float own, float partner, float cosine, float sine) {
  if (!is_turned(c)) return own;
  return is_second(c) ? own * cosine + partner * sine : own * cosine - partner * sine;
}

// The position that a batch's first query is turned by.
int offset_of(int batch) {
  return turned_half > 0 && args.offset_count > 0 ? args.offsets.v[min(batch, args.offset_count - 1)] : 0;
}

// The run's rows one behind the other, as long as the widest head: an invocation's i-th value of them.
int own_column_of(int i) { return int(id + i * threads) % widest; }
int own_row_of(int i) { return int(id + i * threads) / widest; }

uint row_vectors() { return args.source.heads / group() * (key_vectors + value_vectors); }

// Over all invocations, in a fixed order.
#define GROUP_REDUCTION(name, combine)                                                                         \
  float name(float x) {                                                                                        \
    [[unroll]] for (uint step = 1; step < subgroup; step *= 2) x = combine(x, subgroupShuffleXor(x, step));    \
    barrier(); /* the last reduction's values have been read */                                                \
    if (id % subgroup == 0) group_values[id / subgroup] = x;                                                   \
    barrier();                                                                                                 \
    x = group_values[0];                                                                                       \
    for (uint i = 1; i < threads / subgroup; i++) x = combine(x, group_values[i]);                             \
    return x;                                                                                                  \
  }
float plus(float a, float b) { return a + b; }
GROUP_REDUCTION(group_max, max)
GROUP_REDUCTION(group_sum, plus)

float over_lanes(float x) {
  [[unroll]] for (uint step = 1; step < lanes; step *= 2) x += subgroupShuffleXor(x, step);
  return x;
}

// Rows of the cache, from key `first_key` on. Of none the first is loaded.
uint first_key, count;
uint place_of(uint i) { return min(i, max(count, 1) - 1) * row_vectors() + first_key; }

// The next keys of a team (its lanes' vectors), and an invocation's next values.
VECTOR keys[key_unroll * lane_vectors], values[unroll];
void load_keys(uint first, uint column) {
  [[unroll]] for (uint u = 0; u < key_unroll; u++)
    [[unroll]] for (uint j = 0; j < lane_vectors; j++)
      keys[u * lane_vectors + j] =
          args.cache.v[place_of(first + u * teams) + column + min(id % lanes + j * lanes, key_vectors - 1)];
}
void load_values(uint first, uint slices, uint column) {
  [[unroll]] for (uint u = 0; u < unroll; u++) values[u] = args.cache.v[place_of(first + u * slices) + column];
}

// Of a part.
void put_sum(uint result_row, float maximum, float sum) {
  args.sums.v[2 * result_row] = maximum;
  args.sums.v[2 * result_row + 1] = sum;
}

void main() {
  id = subgroup > 1 ? gl_SubgroupID * subgroup + gl_SubgroupInvocationID : gl_LocalInvocationIndex;
  const int head = int(gl_WorkGroupID.x);
  const int batch = int(gl_WorkGroupID.y) / queries, t = int(gl_WorkGroupID.y) % queries;
  const int kv_heads = args.source.heads / group(), kv_head = head / group();
  const int q_column = head * head_width;
  const int own_k_column = args.source.heads * head_width + kv_head * head_width;
  const int own_v_column = (args.source.heads + kv_heads) * head_width + kv_head * value_width;
  const uint first_row = uint(batch * args.source.keys) * row_vectors();
  const uint k_column = kv_head * key_vectors, v_column = kv_heads * key_vectors + kv_head * value_vectors;

  // Keys from `begin` on are in the cache, from `own_begin` on in x, at its row s - shift.
  const int offset = offset_of(batch), shift = visible_shift(batch);
  const int end = key_end(shift, t);
  int begin = min(key_begin(shift, t), end);
  const int own_begin = clamp(shift, begin, end);
  const bool is_written = shift + t >= 0 && shift + t < args.source.keys && gl_WorkGroupID.z == 0;
  uint own_count = uint(end - own_begin);
  count = uint(own_begin - begin);
  uint result_row =
      several ? uint((batch * args.source.heads + head) * queries + t) : gl_WorkGroupID.y * args.source.heads + head;
  if (several) {
    const uint part = gl_WorkGroupID.z, step = args.part_count * CACHED_PART_STEP;
    const uint part_keys = (count + step - 1) / step * CACHED_PART_STEP;
    const uint first = min(part * part_keys, count);
    begin += int(first);
    count = min(count - first, part_keys);
    if (part > 0) own_count = 0;
    result_row = result_row * args.part_count + part;
    if (count == 0 && own_count == 0) {  // at the begin of a long cache
      if (id == 0) put_sum(result_row, lowest, 0);
      for (uint c = id; c < value_width; c += threads) args.result.v[result_row * value_width + c] = 0;
      return;
    }
  }
  first_key = first_row + uint(min(begin, args.source.keys - 1)) * row_vectors();

  // What is read first is sent for together: a head's workgroup waits for one access to memory after the other.
  const uint team = id / lanes, lane = id % lanes;
  load_keys(team, k_column);
  float own_x[3 * own_columns], partners[2 * own_columns], cosines[own_columns], sines[own_columns];
  [[unroll]] for (int i = 0; i < own_columns; i++) {
    const int c = own_column_of(i), key_c = min(c, head_width - 1), r = min(own_row_of(i), queries - 1);
    const int x_row = (batch * queries + r) * args.x_stride;
    own_x[3 * i] = args.x.v[x_row + q_column + key_c];
    own_x[3 * i + 1] = args.x.v[x_row + own_k_column + key_c];
    own_x[3 * i + 2] = args.x.v[x_row + own_v_column + min(c, value_width - 1)];
    if (turned_half == 0) continue;
    partners[2 * i] = args.x.v[x_row + q_column + partner_of(key_c)];
    partners[2 * i + 1] = args.x.v[x_row + own_k_column + partner_of(key_c)];
    const int angle = clamp(offset + r, 0, max(args.table_rows, 1) - 1) * 2 * turned_half;
    const int at = angle + min(pair_of(key_c), turned_half - 1);
    cosines[i] = args.table.v[at];
    sines[i] = args.table.v[at + turned_half];
  }
  [[unroll]] for (int i = 0; i < own_columns; i++) {
    const int c = own_column_of(i), r = own_row_of(i);
    if (r >= queries) continue;
    if (c < head_width) {
      if (r == t) q[c / 4][c % 4] = turned(c, own_x[3 * i], partners[2 * i], cosines[i], sines[i]) * args.scale;
      own_keys[r * key_vectors * quads + c / 4][c % 4] =
          stored(turned(c, own_x[3 * i + 1], partners[2 * i + 1], cosines[i], sines[i]));
    }
    if (c < value_width) own_values[r * value_vectors * quads + c / 4][c % 4] = stored(own_x[3 * i + 2]);
  }
  barrier();

  const uint own_row = first_row + uint(max(shift + t, 0)) * row_vectors();
  if (is_written && head % group() == 0) {
    vec4 quad[quads];
    for (uint i = id; i < key_vectors; i += threads) {
      [[unroll]] for (uint n = 0; n < quads; n++) quad[n] = own_keys[(t * key_vectors + i) * quads + n];
      args.cache.v[own_row + k_column + i] = vector_of(quad);
    }
    for (uint i = id; i < value_vectors; i += threads) {
      [[unroll]] for (uint n = 0; n < quads; n++) quad[n] = own_values[(t * value_vectors + i) * quads + n];
      args.cache.v[own_row + v_column + i] = vector_of(quad);
    }
  }
  vec4 own_q[lane_vectors * quads];
  [[unroll]] for (uint j = 0; j < lane_vectors; j++) {
    const uint i = lane + j * lanes;
    [[unroll]] for (uint n = 0; n < quads; n++)
      own_q[j * quads + n] = i < key_vectors ? q[min(i, key_vectors - 1) * quads + n] : vec4(0);
  }
  for (uint first = team; first - team < count;) {
    [[unroll]] for (uint u = 0; u < key_unroll; u++) {
      const uint i = first + u * teams;
      float product = 0;
      [[unroll]] for (uint j = 0; j < lane_vectors; j++)
        [[unroll]] for (uint n = 0; n < quads; n++)
          product += dot(own_q[j * quads + n], quad_of(keys[u * lane_vectors + j], n));
      product = over_lanes(product);
      if (lane == 0 && i < count) {
        const int s = begin + int(i);
        scores[i] = visible(batch, t, s, shift, end) ? score_of(product, batch, head, t, s) : lowest;
      }
    }
    first += key_unroll * teams;
    if (first - team < count) load_keys(first, k_column);
  }
  for (uint first = 0; first < own_count; first += teams) {
    const uint i = first + team;
    const int s = own_begin + int(min(i, own_count - 1));
    float product = 0;
    [[unroll]] for (uint j = 0; j < lane_vectors; j++)
      [[unroll]] for (uint n = 0; n < quads; n++)
        product += dot(own_q[j * quads + n],
                       own_keys[((s - shift) * key_vectors + min(lane + j * lanes, key_vectors - 1)) * quads + n]);
    product = over_lanes(product);
    if (lane == 0 && i < own_count)
      scores[count + i] = visible(batch, t, s, shift, end) ? score_of(product, batch, head, t, s) : lowest;
  }
  // The first values travel while weights are made of the scores.
  uint column_threads = 1;
  while (column_threads < value_vectors) column_threads *= 2;
  const uint slices = threads / column_threads, slice = id / column_threads, column = id % column_threads;
  const uint own_column = v_column + min(column, value_vectors - 1);
  load_values(slice, slices, own_column);
  barrier();

  const uint all = count + own_count;
  float maximum = lowest;
  for (uint i = id; i < all; i += threads) maximum = max(maximum, scores[i]);
  maximum = group_max(maximum);
  float sum = 0;
  for (uint i = id; i < all; i += threads) {
    const float weight = scores[i] == lowest ? 0 : exp(scores[i] - maximum);
    scores[i] = weight;
    sum += weight;
  }
  sum = group_sum(sum);

  vec4 result[quads];
  [[unroll]] for (uint n = 0; n < quads; n++) result[n] = vec4(0);
  for (uint first = slice; first < count;) {
    [[unroll]] for (uint u = 0; u < unroll; u++)
      if (first + u * slices < count)
        [[unroll]] for (uint n = 0; n < quads; n++) result[n] += scores[first + u * slices] * quad_of(values[u], n);
    first += unroll * slices;
    if (first < count) load_values(first, slices, own_column);
  }
  [[unroll]] for (uint n = 0; n < quads; n++) partial[id * quads + n] = result[n];
  barrier();
  float normalise = 1;
  if (!several) {
    if (has_sinks) normalise = add_sink(args.sums.v[head], maximum, sum);
    normalise *= reciprocal_of(sum);
  } else if (id == 0) {
    put_sum(result_row, maximum, sum);
  }
  for (int c = int(id); c < value_width; c += int(threads)) {
    float value = 0;
    for (uint i = 0; i < own_count; i++)
      value += scores[count + i] * own_values[(own_begin - shift + int(i)) * value_vectors * quads + c / 4][c % 4];
    for (uint n = 0; n < slices; n++) value += partial[n * column_threads * quads + c / 4][c % 4];
    args.result.v[result_row * value_width + c] = value * normalise;
  }
}
