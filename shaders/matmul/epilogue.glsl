// What every matmul kernel does with a finished sum: y = activation(scale * sum + bias) + residual.
// Expects `args` (MatmulArgs) and the specialization constant ACTIVATION. With -DY_HALF y, the value before the
// activation and the residual are 16-bit floats of type HALF; rows of y are then whole words.
#include "shaders/common/activation.glsl"
#ifdef Y_HALF
#include "shaders/common/half.glsl"
#endif

float bias_of(uint column) { return (args.flags & MATMUL_BIAS) != 0 ? args.bias.v[column] : 0.0; }
// Of four neighbours; past the last column, of that.
vec4 bias_quad(uint column) {
  vec4 quad = vec4(0);
  if ((args.flags & MATMUL_BIAS) != 0)
    [[unroll]] for (uint i = 0; i < 4; i++) quad[i] = args.bias.v[min(column + i, args.n - 1)];
  return quad;
}

// Four neighbours in a row of y, or in what lies like it, of which `count` (one or more) are in the row. Rows that start
// at whole quads are accessed in such.
#ifdef Y_HALF
#define Y_QUAD uvec2
uint stored(vec2 pair) {
  return pack_halves((args.flags & MATMUL_SATURATED) != 0 ? within_half(pair) : pair);
}
vec2 load_pair(Halves from, uint index, uint count) { return unpack_halves(from.v[index / 2]); }
void store_pair(Halves to, uint index, vec2 pair, uint count) { to.v[index / 2] = stored(pair); }
vec4 values_of(uvec2 words) { return half_quad(words); }
uvec2 stored(vec4 quad) { return uvec2(stored(quad.xy), stored(quad.zw)); }
#else
#define Y_QUAD vec4
vec2 load_pair(Floats from, uint index, uint count) {
  return vec2(from.v[index], from.v[count > 1 ? index + 1 : index]);
}
void store_pair(Floats to, uint index, vec2 pair, uint count) {
  to.v[index] = pair.x;
  if (count > 1) to.v[index + 1] = pair.y;
}
vec4 values_of(vec4 quad) { return quad; }
vec4 stored(vec4 quad) { return quad; }
#endif

vec4 load_quad(Y_ELEMENTS from, uint index, uint count, const bool whole) {
  if (whole) return values_of(Y_QUADS(from).v[index / 4]);
  const vec2 first = load_pair(from, index, count);
  return count > 2 ? vec4(first, load_pair(from, index + 2, count - 2)) : vec4(first, 0, 0);
}
void store_quad(Y_ELEMENTS to, uint index, vec4 quad, uint count, const bool whole) {
  if (whole) {
    Y_QUADS(to).v[index / 4] = stored(quad);
  } else {
    store_pair(to, index, quad.xy, count);
    if (count > 2) store_pair(to, index + 2, quad.zw, count - 2);
  }
}

// Of four neighbours' values before the activation, which are of y's type.
void store_finished_quad(uint index, vec4 quad, uint count, const bool whole) {
  if ((args.flags & MATMUL_PRE_ACTIVATION) != 0) store_quad(args.pre_activation, index, quad, count, whole);
  if (ACTIVATION != activation_none) {
    quad = values_of(stored(quad));
    [[unroll]] for (uint i = 0; i < 4; i++) quad[i] = activate(ACTIVATION, quad[i]);
  }
  if ((args.flags & MATMUL_RESIDUAL) != 0) quad += load_quad(args.residual, index, count, whole);
  store_quad(args.y, index, quad, count, whole);
}

#ifndef Y_HALF
float residual_of(uint index) { return (args.flags & MATMUL_RESIDUAL) != 0 ? args.residual.v[index] : 0.0; }

// With a factor for the activation: y = activation(value) * factor + residual.
void store_gated(uint index, float value, float factor, float residual) {
  if ((args.flags & MATMUL_PRE_ACTIVATION) != 0) args.pre_activation.v[index] = value;
  args.y.v[index] = activate(ACTIVATION, value) * factor + residual;
}

void store_finished(uint index, float value) { store_gated(index, value, 1, residual_of(index)); }
#endif
