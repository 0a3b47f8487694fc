#version 460
// Holds VALUES floats of an invocation at once: loads that no compiler may repeat, since what follows writes to the same
// buffer, and uses that begin with the first and the last of them. With more values than a GPU has registers, the rest has
// to go to memory. Compiled with -DVALUES=8 or 512 by tests/vendors/planted_spills.sh; part of no build.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 64) in;
layout(buffer_reference, scalar) buffer Floats { float at[]; };
layout(push_constant) uniform Arguments { Floats x; };

// Written out, not looped: drivers that do not unroll would put the array into memory without any need of registers.
#define TIMES_8(step, i) step(i) step(i + 1) step(i + 2) step(i + 3) step(i + 4) step(i + 5) step(i + 6) step(i + 7)
#define TIMES_64(step, i) TIMES_8(step, i) TIMES_8(step, i + 8) TIMES_8(step, i + 16) TIMES_8(step, i + 24) \
  TIMES_8(step, i + 32) TIMES_8(step, i + 40) TIMES_8(step, i + 48) TIMES_8(step, i + 56)
#define TIMES_512(step, i) TIMES_64(step, i) TIMES_64(step, i + 64) TIMES_64(step, i + 128) TIMES_64(step, i + 192) \
  TIMES_64(step, i + 256) TIMES_64(step, i + 320) TIMES_64(step, i + 384) TIMES_64(step, i + 448)
#if VALUES == 8
#define EACH(step) TIMES_8(step, 0)
#else
#define EACH(step) TIMES_512(step, 0)
#endif

void main() {
  const uint lane = gl_GlobalInvocationID.x;
  float held[VALUES];
#define LOAD(i) held[i] = x.at[(i) * 64 + lane];
  EACH(LOAD)
#define STORE(i) x.at[((i) * 64 + lane) ^ 1] = held[VALUES - 1 - (i)] * held[i];
  EACH(STORE)
}
