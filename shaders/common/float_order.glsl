// The order of floats for kernels that choose the largest: a total one, so that every element has a place of its own.

// Ordered as floats are, -0 as 0, NaN above all.
uint key_of(float x) {
  const uint bits = floatBitsToUint(x), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0xffffffffu;
  return magnitude == bits || magnitude == 0 ? magnitude | 0x80000000u : ~bits;
}

// Of {key, index}: the larger first, of equal ones that with the lower index.
bool before(uvec2 a, uvec2 b) { return a.x > b.x || (a.x == b.x && a.y < b.y); }
