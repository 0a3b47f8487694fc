// Touching what later steps read. Where k is a row of B, or of a transposed A, each lane-by-lane load reads one line of
// cache, prefetchers don't follow such loads, and few of them are under way at a time: the kernel waits for the next
// cache. Here each lane reads one value of another line, so that one load brings as many lines as there are lanes: 1.3
// times the speed of [384, 2048] x [2048, 1536], transposed A, on lavapipe.
// Worth it when A is transposed or B large beside the arithmetic on it; with many rows of an untransposed A it costs a
// twentieth.
// Expects TOUCH (whether to), TRANSPOSE_A, register_tile.glsl and what that expects.

const uint LINE_BYTES = 64, STEPS_AHEAD = 2;
#ifdef A_HALF
const uint A_LINE = LINE_BYTES / 2;
#else
const uint A_LINE = LINE_BYTES / 4;
#endif
#ifdef B_HALF
const uint B_LINE = LINE_BYTES / 2;
#else
const uint B_LINE = LINE_BYTES / 4;
#endif
const uint A_LINES = (ROWS + A_LINE - 1) / A_LINE, B_LINES = (COLUMNS * SUBGROUP + B_LINE - 1) / B_LINE;
const uint A_TOUCHES = (STEP * A_LINES + SUBGROUP - 1) / SUBGROUP;
const uint B_TOUCHES = (STEP * B_LINES + SUBGROUP - 1) / SUBGROUP;

uint touched = 0;
uint a_touch[A_TOUCHES], b_touch[B_TOUCHES];  // what this lane reads, from where a step's first k lies

void start_touching() {
  if (TRANSPOSE_A) {
    [[unroll]] for (uint i = 0; i < A_TOUCHES; i++) {
      const uint line = i * SUBGROUP + gl_SubgroupInvocationID;
      const uint row = min(first_row + line % A_LINES * A_LINE, args.m - 1);
      a_touch[i] = a_first + min(line / A_LINES, STEP - 1) * args.m + row;
    }
  }
  if (!TRANSPOSE_B) {
    [[unroll]] for (uint i = 0; i < B_TOUCHES; i++) {
      const uint line = i * SUBGROUP + gl_SubgroupInvocationID;
      const uint column = min(first_column + line % B_LINES * B_LINE, args.n - 1);
      b_touch[i] = b_first + min(line / B_LINES, STEP - 1) * args.n + column;
    }
  }
}

// The lines of a step that comes STEPS_AHEAD after the one at k, or of the last one.
void touch(uint k) {
  if (!TOUCH) return;
  const uint ahead = min(k + STEP * STEPS_AHEAD, args.k - STEP);
  if (TRANSPOSE_A) {
    [[unroll]] for (uint i = 0; i < A_TOUCHES; i++) touched ^= floatBitsToUint(a_one(a_touch[i] + ahead * args.m));
  }
  if (!TRANSPOSE_B) {
    [[unroll]] for (uint i = 0; i < B_TOUCHES; i++) touched ^= floatBitsToUint(b_one(b_touch[i] + ahead * args.n));
  }
}

// Never stores anything, which compilers can't know.
void keep_touched() {
  if (TOUCH && args.m == 0) args.y.v[0] = uintBitsToFloat(touched);
}
