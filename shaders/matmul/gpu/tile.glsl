// What kernels for GPUs with tiles in shared memory have in common: a workgroup owns a TILE x TILE block of outputs,
// walks K in slices staged through shared memory, and each invocation keeps 4 BLOCK_ROWS x 4 BLOCK_COLUMNS outputs in
// registers: the larger its share, the fewer loads from shared memory for a multiply-add. The next slice is loaded into
// registers while the current one is multiplied. Needs no subgroup operations.
// Expects operands.glsl, `args` with m, n and k, and which of the stored rows of A and of B is meant:
//   uint a_row(uint i);  // i: a row of the product, or with TRANSPOSE_A a value of k
//   uint b_row(uint i);  // i: a value of k, or with TRANSPOSE_B a column of the product
// Both are also asked for rows past the end, of which nothing is used.

layout(local_size_x_id = 1) in;
layout(constant_id = 1) const uint INVOCATIONS = 256;  // TILE / 4 / BLOCK_ROWS * TILE / 4 / BLOCK_COLUMNS
layout(constant_id = 2) const uint TILE = 64;
layout(constant_id = 3) const uint BLOCK_ROWS = 1;
layout(constant_id = 4) const uint BLOCK_COLUMNS = 1;
layout(constant_id = 5) const uint SLICE = 16;  // values of k staged at a time
// Values of k in straight code: NVIDIA's compiler unrolls nothing here by itself (36 TFLOP/s of an H200 became 44), and
// software drivers would compile it for seconds.
layout(constant_id = 6) const uint STRAIGHT = 1;
layout(constant_id = 7) const bool TRANSPOSE_A = false;
layout(constant_id = 8) const bool TRANSPOSE_B = false;
layout(constant_id = 9) const bool ALIGNED_A = false;   // stored rows of A start at whole quads and are made of them
layout(constant_id = 10) const bool ALIGNED_B = false;  // the same of B

const uint QUADS = TILE / 4;    // of one k in a staged slice
const uint STRIDE = QUADS + 1;  // the padding keeps neighbouring k in different banks
const uint LOADS = SLICE * QUADS / INVOCATIONS;
const uint DOWN = QUADS / BLOCK_ROWS, ACROSS = QUADS / BLOCK_COLUMNS;  // the invocations' rectangle
// Operands of which a row is one k's worth of the tile are staged as they lie; quads along k are turned.
const bool TURN_A = !TRANSPOSE_A && ALIGNED_A, TURN_B = TRANSPOSE_B && ALIGNED_B;

shared vec4 slice_a[SLICE * STRIDE];  // [k][rows / 4]
shared vec4 slice_b[SLICE * STRIDE];  // [k][columns / 4]

uint a_row(uint i);
uint b_row(uint i);
// The elements of row and column (of k) of the operands.
uint a_at(uint row, uint k) { return TRANSPOSE_A ? a_row(k) * args.m + row : a_row(row) * args.k + k; }
uint b_at(uint column, uint k) { return TRANSPOSE_B ? b_row(column) * args.k + k : b_row(k) * args.n + column; }

// The outputs that are summed: rows from first_row to end_row, columns from first_column on, values of k up to end_k.
uint first_row, end_row, first_column, end_k;

// Quads on their way: 16-bit values as they are stored, values past the end whatever they are. Both are seen to when
// quads are staged, a slice later: compilers wait for a load where its value is first touched, and NVIDIA's did so before
// it sent for the next. Blocks are decoded and unaligned halves joined as they are loaded, and do wait; so does what must
// know from a table which rows to load.

// The elements of a row (column) and k, of the first where there is none.
uint safe_a_at(uint row, uint k) {
  const uint at = a_at(row, k);
  return row < end_row && k < end_k ? at : 0;
}
uint safe_b_at(uint column, uint k) {
  const uint at = b_at(column, k);
  return column < args.n && k < end_k ? at : 0;
}

// Which k and which quad of a slice load `i` of this invocation brings: neighbours read neighbouring addresses.
uvec2 slot(uint i, const bool k_contiguous) {
  const uint id = i * INVOCATIONS + gl_LocalInvocationIndex;
  return k_contiguous ? uvec2(id % SLICE, id / SLICE) : uvec2(id / QUADS, id % QUADS);
}

// The same of a load of four k: which k and which row (or column) of the slice.
uvec2 turned_slot(uint i) {
  const uint id = i * INVOCATIONS + gl_LocalInvocationIndex;
  return uvec2(id % (SLICE / 4) * 4, id / (SLICE / 4));
}

StoredA load_quad_a(uint i, uint k) {
  if (ALIGNED_A) {
    const uvec2 at = TURN_A ? turned_slot(i) : slot(i, false) * uvec2(1, 4);
    return a_stored(safe_a_at(first_row + at.y, k + at.x) / 4);
  }
  const uvec2 at = slot(i, !TRANSPOSE_A);
  uint from[4];
  [[unroll]] for (uint e = 0; e < 4; e++) from[e] = safe_a_at(first_row + 4 * at.y + e, k + at.x);
  return a_gathered(from);
}

StoredB load_quad_b(uint i, uint k) {
#ifdef BLOCKS  // rows of blocks are whole quads
  const uvec2 at = (TURN_B ? turned_slot(i) : slot(i, false) * uvec2(1, 4)) + uvec2(k, first_column);
  const bool inside = at.y < args.n && at.x < end_k;
  const uint row = inside ? b_row(TRANSPOSE_B ? at.y : at.x) : 0, width = TRANSPOSE_B ? args.k : args.n;
  return block_quad(args.b, row * block_row_words(width), width / BLOCK_VALUES,
                    inside ? TRANSPOSE_B ? at.x : at.y : 0);
#else
  if (ALIGNED_B) {
    const uvec2 at = TURN_B ? turned_slot(i) : slot(i, false) * uvec2(1, 4);
    return b_stored(safe_b_at(first_column + at.y, k + at.x) / 4);
  }
  const uvec2 at = slot(i, TRANSPOSE_B);
  uint from[4];
  [[unroll]] for (uint e = 0; e < 4; e++) from[e] = safe_b_at(first_column + 4 * at.y + e, k + at.x);
  return b_gathered(from);
#endif
}

// Rows and columns past the end make outputs that nobody keeps; values of k past it must not be summed.
#define STAGE(slice, quad, turn, k_contiguous)                                                           \
  if (turn) {                                                                                            \
    const uvec2 at = turned_slot(i);                                                                     \
    const vec4 values = k + at.x < end_k ? stored_values(quad) : vec4(0);                                \
    [[unroll]] for (uint e = 0; e < 4; e++) slice[(at.x + e) * STRIDE + at.y / 4][at.y % 4] = values[e]; \
  } else {                                                                                               \
    const uvec2 at = slot(i, k_contiguous);                                                              \
    slice[at.x * STRIDE + at.y] = k + at.x < end_k ? stored_values(quad) : vec4(0);                      \
  }

const uint SHARE = 4 * BLOCK_ROWS * BLOCK_COLUMNS;  // quads of outputs that an invocation has
vec4 c[SHARE];                                      // [row][quad of columns]

// Where this invocation is in their rectangle, (across, down). Every 32 are 8 x 4; lanes 2 n and 2 n + 1 read the same
// quads of B, n and n + 2 the same of A: NVIDIA's shared memory then serves 16 lanes a clock, else 8 (15 % of an H200's
// time with shares of 4 x 4).
uvec2 own_place() {
  const uint id = gl_LocalInvocationIndex, part = id / 32, parts_across = ACROSS / 8;
  return uvec2(part % parts_across * 8 + id / 2 % 8, part / parts_across * 4 + id / 16 % 2 * 2 + id % 2);
}

// Row and column of the block's quad `i`.
uint row_of(uint i) {
  const uint row = i / BLOCK_COLUMNS;
  return first_row + 4 * (row / 4 * DOWN + own_place().y) + row % 4;
}
uint column_of(uint i) { return first_column + 4 * (i % BLOCK_COLUMNS * ACROSS + own_place().x); }

// Sums the products of the values of k from `begin` on into c.
void multiply_tile(uint begin) {
  const uint across = own_place().x, down = own_place().y;
  [[unroll]] for (uint i = 0; i < SHARE; i++) c[i] = vec4(0);
  StoredA next_a[LOADS];
  StoredB next_b[LOADS];
#define LOAD_SLICE(first_k)                        \
  [[unroll]] for (uint i = 0; i < LOADS; i++) {    \
    next_a[i] = load_quad_a(i, first_k);           \
    next_b[i] = load_quad_b(i, first_k);           \
  }
  LOAD_SLICE(begin)
#ifdef BLOCKS
  const bool decodes = true;  // nothing past the end
#else
  const bool decodes = false;
#endif
  for (uint k = begin; k < end_k; k += SLICE) {
    barrier();
    [[unroll]] for (uint i = 0; i < LOADS; i++) {
      STAGE(slice_a, next_a[i], TURN_A, !TRANSPOSE_A)
      STAGE(slice_b, next_b[i], TURN_B, TRANSPOSE_B)
    }
    barrier();
    if (!decodes || k + SLICE < end_k) {
      LOAD_SLICE(k + SLICE)
    }
    for (uint part = 0; part < SLICE; part += STRAIGHT) {
      [[unroll]] for (uint step = 0; step < STRAIGHT; step++) {
        const uint row = (part + step) * STRIDE;
        vec4 b[BLOCK_COLUMNS];
        [[unroll]] for (uint j = 0; j < BLOCK_COLUMNS; j++) b[j] = slice_b[row + j * ACROSS + across];
        [[unroll]] for (uint i = 0; i < BLOCK_ROWS; i++) {
          const vec4 a = slice_a[row + i * DOWN + down];
          [[unroll]] for (uint j = 0; j < BLOCK_COLUMNS; j++) {
            c[(4 * i + 0) * BLOCK_COLUMNS + j] += a.x * b[j];
            c[(4 * i + 1) * BLOCK_COLUMNS + j] += a.y * b[j];
            c[(4 * i + 2) * BLOCK_COLUMNS + j] += a.z * b[j];
            c[(4 * i + 3) * BLOCK_COLUMNS + j] += a.w * b[j];
          }
        }
      }
    }
  }
}
