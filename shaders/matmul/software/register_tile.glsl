// What the kernels with tiles in registers share: where a tile lies, its columns of B, and its stores. One subgroup owns
// ROWS x (COLUMNS * SUBGROUP) outputs, and a lane COLUMNS of them in each row.
// Expects `args` (MatmulArgs), operands.glsl, epilogue.glsl and the constants SUBGROUP, ROWS, COLUMNS, STEP,
// TRANSPOSE_B, PAIRS_B and ADD_RESIDUAL.

const uint B_UNIT = PAIRS_B ? 2 : 1;
// A lane of B's registers holds neighbouring columns when they were loaded as a pair.
const bool PAIRED_COLUMNS = PAIRS_B && !TRANSPOSE_B;

float c[ROWS * COLUMNS];
float b[STEP * COLUMNS];  // [step][column]
uint first_row, first_column, columns[COLUMNS];
uint a_first, b_first, y_first;  // where this product's matrices start, in elements
// Where this lane's columns of B start, and the step from one k to the next where k is not contiguous, in pairs if
// PAIRS_B. Columns past the edge are clamped to it, as rows are; their results are never stored.
uint b_at[COLUMNS], b_step;
uint first_k, end_k;

// Four values from pair `at` + i on. Rows of floats are aligned to pairs, those of halves to quads.
#ifdef B_HALF
vec4 b_four(uint at, uint i) { return b_quad((at + i) / 2); }
#else
vec4 b_four(uint at, uint i) { return vec4(b_pair(at + i), b_pair(at + (i + 1))); }
#endif

uint row_tiles() { return (args.m + ROWS - 1) / ROWS; }
uint column_tiles() { return (args.n + COLUMNS * SUBGROUP - 1) / (COLUMNS * SUBGROUP); }
uint tile_number() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }
bool has_tile() { return tile_number() < row_tiles() * column_tiles() * args.batch * args.splits; }

void start_tile() {
  uint group = tile_number();
  first_row = group % row_tiles() * ROWS;
  group /= row_tiles();
  first_column = group % column_tiles() * COLUMNS * SUBGROUP;
  group /= column_tiles();
  const uint lane = gl_SubgroupInvocationID, product = group % args.batch, split = group / args.batch;
  a_first = product * args.m * args.k;
  b_first = product * args.n * args.k;
  y_first = group * args.m * args.n;
  first_k = split * args.k_per_split;
  end_k = min(first_k + args.k_per_split, args.k);

  [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
    columns[t] = first_column + (PAIRED_COLUMNS ? 2 * (t / 2 * SUBGROUP + lane) + t % 2 : t * SUBGROUP + lane);
    const uint column = min(columns[t], PAIRED_COLUMNS ? args.n - 2 : args.n - 1);
    b_at[t] = (b_first + column * (TRANSPOSE_B ? args.k : 1)) / B_UNIT;
  }
  b_step = args.n / B_UNIT;
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; i++) c[i] = 0;
}

// `steps` (STEP or 1) values of k into b.
void load_b(uint k, const uint steps) {
  [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
    if (PAIRS_B && TRANSPOSE_B && steps > 1) {
      [[unroll]] for (uint h = 0; h < steps; h += 4) {
        const vec4 four = b_four(b_at[t], (k + h) / 2);
        [[unroll]] for (uint i = 0; i < 4; i++) b[(h + i) * COLUMNS + t] = four[i];
      }
    } else if (!PAIRED_COLUMNS) {
      [[unroll]] for (uint h = 0; h < steps; h++) {
        b[h * COLUMNS + t] = b_one(b_at[t] * B_UNIT + (TRANSPOSE_B ? k + h : (k + h) * b_step));
      }
    } else if (t % 2 == 0) {
      [[unroll]] for (uint h = 0; h < steps; h++) {
        const vec2 pair = b_pair(b_at[t] + (k + h) * b_step);
        b[h * COLUMNS + t] = pair.x, b[h * COLUMNS + t + 1] = pair.y;
      }
    }
  }
}

void store_tile() {
  // Rows past the edge are stored on top of the last one, which itself comes after them: no branches.
  [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
    if (columns[t] < args.n) {
      const float bias = bias_of(columns[t]);
      [[unroll]] for (uint i = 1; i <= ROWS; i++) {
        const uint row = min(first_row + ROWS - i, args.m - 1);
        const uint index = y_first + row * args.n + columns[t];
        const float value = args.scale * c[(ROWS - i) * COLUMNS + t] + bias;
        args.y.v[index] = ADD_RESIDUAL ? value + args.residual.v[index] : value;
      }
    }
  }
  if (ACTIVATION == activation_none) return;
  for (uint row = first_row; row < min(first_row + ROWS, args.m); row++) {
    [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
      const uint index = y_first + row * args.n + columns[t];
      if (columns[t] < args.n) store_finished(index, args.y.v[index]);
    }
  }
}
