#version 460
// needs: cooperative_matrix
// needs bf16: bfloat16
// variant f16: -DHALF=1
// variant bf16: -DHALF=2
// Products on matrix cores with nothing to wait for: all operands and sums stay in registers.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#if HALF == 2
#extension GL_EXT_bfloat16 : require
#define ELEMENT bfloat16_t
#else
#define ELEMENT float16_t
#endif
#include "shaders/roof/roof.args.h"
#include "shaders/common/half.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint INVOCATIONS = 128;
layout(constant_id = 1) const uint SUBGROUP = 32;
layout(constant_id = 2) const uint ROWS = 16;
layout(constant_id = 3) const uint COLUMNS = 16;
layout(constant_id = 4) const uint DEPTH = 16;
PUSH(RoofMatrixArgs);

#define Sums coopmat<float, gl_ScopeSubgroup, ROWS, COLUMNS, gl_MatrixUseAccumulator>
#define FactorA coopmat<ELEMENT, gl_ScopeSubgroup, ROWS, DEPTH, gl_MatrixUseA>
#define FactorB coopmat<ELEMENT, gl_ScopeSubgroup, DEPTH, COLUMNS, gl_MatrixUseB>

shared float strips[INVOCATIONS / SUBGROUP * ROWS * COLUMNS];

void main() {
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint own = group * (INVOCATIONS / SUBGROUP) + gl_SubgroupID;
  const FactorA a = FactorA(ELEMENT(half_at(args.x, min(own, args.elements - 1))));
  const FactorB b = FactorB(ELEMENT(args.factor));
  Sums c[ROOF_CHAINS];  // that do not depend on each other
  [[unroll]] for (uint i = 0; i < ROOF_CHAINS; i++) c[i] = Sums(float(i));
  for (uint k = 0; k < args.steps; k += DEPTH) {
    [[unroll]] for (uint i = 0; i < ROOF_CHAINS; i++) c[i] = coopMatMulAdd(a, b, c[i]);
  }
  [[unroll]] for (uint i = 1; i < ROOF_CHAINS; i++) c[0] += c[i];
  const uint strip = gl_SubgroupID * ROWS * COLUMNS;
  coopMatStore(c[0], strips, strip, COLUMNS, gl_CooperativeMatrixLayoutRowMajor);
  subgroupBarrier();
  if (gl_SubgroupInvocationID == 0 && own < args.elements) args.y.v[own] = strips[strip];
}
