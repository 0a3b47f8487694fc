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

// Columns of an invocation, THREADS apart, whose loads are under way together. Gains are sent for with the row if those
// are all.
const uint COLUMNS_OF_ONE = (NORMED_COLUMNS + THREADS - 1) / THREADS;
const uint TOGETHER = COLUMNS_OF_ONE < 8 ? COLUMNS_OF_ONE : 8;
const bool all_together = COLUMNS_OF_ONE == TOGETHER;

float gains[TOGETHER], shifts[TOGETHER];
void load_gains(uint first) {
  [[unroll]] for (uint i = 0; i < TOGETHER; i++) {
    const uint at = min(invocation() + (first + i) * THREADS, args.k - 1);
    gains[i] = args.gain.v[at];
    shifts[i] = (args.flags & MATMUL_SHIFT) != 0 ? args.shift.v[at] : 0;
  }
}

// for each column k of this invocation, the `i`-th of those together
#define EACH_COLUMN(first, i, k, action)                                                \
  [[unroll]] for (uint i = 0; i < TOGETHER; i++) {                                      \
    const uint k = invocation() + (first + i) * THREADS;                                \
    if (k < args.k) action                                                              \
  }
#define NORMED(r, k) normed[(r) * (NORMED_COLUMNS / 4) + normed_place((k) / 4)][(k) % 4]

void norm_rows(uint a_base) {
  float means[ROWS], factors[ROWS];
  [[unroll]] for (uint r = 0; r < ROWS; r++) means[r] = factors[r] = 0;
  if (all_together) load_gains(0);
  for (uint first = 0; first < COLUMNS_OF_ONE; first += TOGETHER) {
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
      float x[TOGETHER];
      [[unroll]] for (uint i = 0; i < TOGETHER; i++)
        x[i] = a_one(a_base + r * args.k + min(invocation() + (first + i) * THREADS, args.k - 1));
      EACH_COLUMN(first, i, k, {
        NORMED(r, k) = x[i];
        means[r] += x[i];
      })
    }
  }
  if (NORM == MATMUL_NORM_LAYER) {
    add_up(means);
    [[unroll]] for (uint r = 0; r < ROWS; r++) means[r] /= args.k;
  } else {
    [[unroll]] for (uint r = 0; r < ROWS; r++) means[r] = 0;
  }
  // From deviations, so that a large mean costs no accuracy.
  for (uint first = 0; first < COLUMNS_OF_ONE; first += TOGETHER) {
    [[unroll]] for (uint r = 0; r < ROWS; r++)
      EACH_COLUMN(first, i, k, {
        const float deviation = NORMED(r, k) - means[r];
        factors[r] += deviation * deviation;
      })
  }
  add_up(factors);
  [[unroll]] for (uint r = 0; r < ROWS; r++) factors[r] = 1 / sqrt(factors[r] / args.k + args.epsilon);
  for (uint first = 0; first < COLUMNS_OF_ONE; first += TOGETHER) {
    if (!all_together) load_gains(first);
    [[unroll]] for (uint r = 0; r < ROWS; r++)
      EACH_COLUMN(first, i, k,
                  { NORMED(r, k) = (NORMED(r, k) - means[r]) * factors[r] * (args.gain_offset + gains[i]) + shifts[i]; })
  }
  const uint behind = args.k + invocation();
  if (behind < NORMED_COLUMNS)
    [[unroll]] for (uint r = 0; r < ROWS; r++) NORMED(r, behind) = 0;
  barrier();
}
