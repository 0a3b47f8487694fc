#ifndef VKFORMER_PHILOX_GLSL
#define VKFORMER_PHILOX_GLSL
// Philox4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
// The same bits as philox4x32_10 of runtime/random.h.

uvec4 philox4x32_10(uvec4 counter, uvec2 key) {
  [[unroll]] for (int round = 0; round < 10; round++) {
    uint high_x, low_x, high_z, low_z;
    umulExtended(0xD2511F53u, counter.x, high_x, low_x);
    umulExtended(0xCD9E8D57u, counter.z, high_z, low_z);
    counter = uvec4(high_z ^ counter.y ^ key.x, low_z, high_x ^ counter.w ^ key.y, low_x);
    key += uvec2(0x9E3779B9u, 0xBB67AE85u);
  }
  return counter;
}

// Uniform in [0, 1): the high 24 bits of each word, exact in f32.
vec4 philox_uniform(uvec4 words) { return vec4(words >> 8) * 5.9604644775390625e-8; }

#endif
