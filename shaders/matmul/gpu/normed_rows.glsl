// Rows of a, normed, in shared memory: every workgroup norms them for itself, since K values from a cache cost less
// than a dispatch and a barrier. Expects `args` (MatmulVectorArgs), the kernel's constants, invocation() and group_sums.

shared vec4 normed[NORM != 0 ? ROWS * NORMED_COLUMNS / 4 : 1];  // [row][quad], zeros behind K

// Where a row's quad lies. Lanes that unpack blocks read quads 4, 8 or 16 apart: those go to different banks.
#ifdef BLOCKS
uint normed_place(uint quad) { return quad ^ (quad / 8 & 7u); }
#else
uint normed_place(uint quad) { return quad; }
#endif

// sums[r] over all invocations, in a fixed order.
void add_up(inout float sums[ROWS]) {
  const uint id = invocation();
  barrier();  // what was there has been read
  [[unroll]] for (uint r = 0; r < ROWS; r++) {
    [[unroll]] for (uint step = 1; step < SUBGROUP; step *= 2) sums[r] += subgroupShuffleXor(sums[r], step);
    if (id % SUBGROUP == 0) group_sums[id / SUBGROUP * ROWS + r] = sums[r];
  }
  barrier();
  [[unroll]] for (uint r = 0; r < ROWS; r++) {
    sums[r] = 0;
    for (uint s = 0; s < THREADS / SUBGROUP; s++) sums[r] += group_sums[s * ROWS + r];
  }
}

void norm_rows(uint a_base) {
  const uint id = invocation();
  float means[ROWS], factors[ROWS];
  [[unroll]] for (uint r = 0; r < ROWS; r++) means[r] = factors[r] = 0;
  if (NORM == MATMUL_NORM_LAYER) {
    for (uint k = id; k < args.k; k += THREADS) {
      [[unroll]] for (uint r = 0; r < ROWS; r++) means[r] += a_one(a_base + r * args.k + k);
    }
    add_up(means);
    [[unroll]] for (uint r = 0; r < ROWS; r++) means[r] /= args.k;
  }
  // From deviations, so that a large mean costs no accuracy.
  for (uint k = id; k < args.k; k += THREADS) {
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
      const float deviation = a_one(a_base + r * args.k + k) - means[r];
      factors[r] += deviation * deviation;
    }
  }
  add_up(factors);
  [[unroll]] for (uint r = 0; r < ROWS; r++) factors[r] = 1 / sqrt(factors[r] / args.k + args.epsilon);
  for (uint k = id; k < NORMED_COLUMNS; k += THREADS) {
    const bool inside = k < args.k;
    const uint at = min(k, args.k - 1);
    const float gain = inside ? args.gain_offset + args.gain.v[at] : 0;
    const float shift = inside && (args.flags & MATMUL_SHIFT) != 0 ? args.shift.v[at] : 0;
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
      const float value = (a_one(a_base + r * args.k + at) - means[r]) * factors[r] * gain + shift;
      normed[r * (NORMED_COLUMNS / 4) + normed_place(k / 4)][k % 4] = inside ? value : 0;
    }
  }
  barrier();
}
