// How matmul kernels read their operands, f32 or 16-bit floats: -DA_HALF and -DB_HALF say which operand is one, -DHALF
// of which type. a_one(i) is element i, a_pair(i) elements 2 i and 2 i + 1, a_quad(i) elements 4 i to 4 i + 3; the last
// two need aligned rows. a_stored(i) is such a quad as it is stored, a_gathered(at) one of any four elements; nothing waits
// for them before stored_values() makes floats of them. With -DINT64 they travel as 64-bit words, half the price on drivers that load lane by lane.
// Expects `args` (MatmulArgs); with -DWITHOUT_PAIRS there are no pairs. With -DBLOCKS b is encoded blocks, read by
// blocks.glsl alone.
#if defined(A_HALF) || defined(B_HALF)
#include "shaders/common/half.glsl"
#endif
#ifdef INT64
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer LongWords { uint64_t v[]; };
#define WORDS_AT(data, i) unpackUint2x32(LongWords(data).v[i])
#endif

#ifdef WITHOUT_PAIRS
#define PAIR_OF(name, value)
#else
#define PAIR_OF(name, value) vec2 name##_pair(uint i) { return value; }
#endif

vec4 stored_values(vec4 quad) { return quad; }
#ifdef HALF
vec4 stored_values(uvec2 quad) { return half_quad(quad); }
#endif

#define FLOAT_OPERAND(name)                                                                      \
  float name##_one(uint i) { return args.name.v[i]; }                                            \
  PAIR_OF(name, FLOAT_PAIR(args.name##_pairs, i))                                                \
  vec4 name##_stored(uint i) { return args.name##_quads.v[i]; }                                  \
  vec4 name##_quad(uint i) { return name##_stored(i); }                                          \
  vec4 name##_gathered(uint at[4]) {                                                             \
    return vec4(args.name.v[at[0]], args.name.v[at[1]], args.name.v[at[2]], args.name.v[at[3]]); \
  }

#define HALF_OPERAND(name)                                                  \
  float name##_one(uint i) { return half_at(args.name, i); }                \
  PAIR_OF(name, unpack_halves(args.name##_pairs.v[i]))                      \
  uvec2 name##_stored(uint i) { return HALF_QUAD(args.name##_quads, i); }   \
  vec4 name##_quad(uint i) { return half_quad(name##_stored(i)); }          \
  uvec2 name##_gathered(uint at[4]) { return gathered_halves(args.name, at); }

#ifdef INT64
#define FLOAT_PAIR(data, i) uintBitsToFloat(WORDS_AT(data, i))
#define HALF_QUAD(data, i) WORDS_AT(data, i)
#else
#define FLOAT_PAIR(data, i) data.v[i]
#define HALF_QUAD(data, i) data.v[i]
#endif

#ifdef A_HALF
#define StoredA uvec2
HALF_OPERAND(a)
#else
#define StoredA vec4
FLOAT_OPERAND(a)
#endif
#ifdef BLOCKS
#define StoredB vec4 /* decoded where they are loaded */
#include "shaders/common/blocks.glsl"
#elif defined(B_HALF)
#define StoredB uvec2
HALF_OPERAND(b)
#else
#define StoredB vec4
FLOAT_OPERAND(b)
#endif
