// What kernels for matrix cores need of the language. Expects HALF, the type of their operands' elements.
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#if HALF == 2
#extension GL_EXT_bfloat16 : require
#define ELEMENT bfloat16_t
#else
#define ELEMENT float16_t
#endif
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
