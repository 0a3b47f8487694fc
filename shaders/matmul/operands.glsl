// How matmul kernels read their operands, f32 or 16-bit floats: -DA_HALF and -DB_HALF say which operand is one, -DHALF
// of which type. a_one(i) is element i, a_pair(i) elements 2 i and 2 i + 1, a_quad(i) elements 4 i to 4 i + 3; the last
// two need aligned rows. With -DINT64 they travel as 64-bit words, half the price on drivers that load lane by lane.
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

#define FLOAT_OPERAND(name)                           \
  float name##_one(uint i) { return args.name.v[i]; } \
  PAIR_OF(name, FLOAT_PAIR(args.name##_pairs, i))     \
  vec4 name##_quad(uint i) { return args.name##_quads.v[i]; }

#define HALF_OPERAND(name)                                   \
  float name##_one(uint i) { return half_at(args.name, i); } \
  PAIR_OF(name, unpack_halves(args.name##_pairs.v[i]))       \
  vec4 name##_quad(uint i) { return half_quad(HALF_QUAD(args.name##_quads, i)); }

#ifdef INT64
#define FLOAT_PAIR(data, i) uintBitsToFloat(WORDS_AT(data, i))
#define HALF_QUAD(data, i) WORDS_AT(data, i)
#else
#define FLOAT_PAIR(data, i) data.v[i]
#define HALF_QUAD(data, i) data.v[i]
#endif

#ifdef A_HALF
HALF_OPERAND(a)
#else
FLOAT_OPERAND(a)
#endif
#ifdef BLOCKS
#include "shaders/common/blocks.glsl"
#elif defined(B_HALF)
HALF_OPERAND(b)
#else
FLOAT_OPERAND(b)
#endif
