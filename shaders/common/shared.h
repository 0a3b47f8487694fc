#ifndef VKFORMER_SHARED_H
#define VKFORMER_SHARED_H
// The types that <op>.args.h headers use, read by C++ and GLSL alike. A pointer is the device address of the first
// element; in C++ it is a plain 64-bit number.

#ifdef __cplusplus
#include <cstdint>
namespace vkformer {
using uint = uint32_t;
using Floats = uint64_t;      ///< address of f32
using FloatPairs = uint64_t;  ///< address of f32 read two at a time; must be 8-byte aligned
using FloatQuads = uint64_t;  ///< address of f32 read four at a time; must be 16-byte aligned
using Ints = uint64_t;        ///< address of i32
using Halves = uint64_t;      ///< address of 16-bit floats, read as words of two; must be 4-byte aligned
using HalfQuads = uint64_t;   ///< address of 16-bit floats read four at a time; must be 8-byte aligned
using HalfPacks = uint64_t;   ///< address of 16-bit floats read eight at a time; must be 16-byte aligned
using Reals = uint64_t;       ///< Halves in variants compiled with HALF, Floats in the others
using RealQuads = uint64_t;   ///< HalfQuads or FloatQuads, likewise
using KeyReals = uint64_t;    ///< Reals, but Halves beside Floats in variants compiled with FLOAT_QUERIES
using KeyVectors = uint64_t;  ///< HalfPacks in variants compiled with HALF, FloatQuads in the others
using RowFloats = uint64_t;   ///< of f32 beside Reals in rows.glsl: FloatPairs or Floats, likewise
}  // namespace vkformer
#define VKFORMER_SHARED_BEGIN namespace vkformer {
#define VKFORMER_SHARED_END }
#else
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_control_flow_attributes : require
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Floats { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer FloatPairs { vec2 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer FloatQuads { vec4 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Ints { int v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Halves { uint v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer HalfQuads { uvec2 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer HalfPacks { uvec4 v[]; };
#ifdef HALF
#define KeyReals Halves
#define KeyVectors HalfPacks
#else
#define KeyReals Floats
#define KeyVectors FloatQuads
#endif
#if defined(HALF) && !defined(FLOAT_QUERIES)
#define Reals Halves
#define RealQuads HalfQuads
#define RowFloats FloatPairs
#else
#define Reals Floats
#define RealQuads FloatQuads
#define RowFloats Floats
#endif
#define VKFORMER_SHARED_BEGIN
#define VKFORMER_SHARED_END
// Push constants: PUSH(LayerNormArgs) makes the fields available as `args.x`.
#define PUSH(Args) \
  layout(push_constant, scalar) uniform Push { Args args; }
#endif
#endif
