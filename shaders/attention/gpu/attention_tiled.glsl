// For GPUs: products of tiles of 32 x 32 or 64 x 64 from shared memory, without subgroup operations. An invocation holds
// rows y + lines i and columns x + across j of a tile, its share: r x c sums are r + c loads from shared memory for r c
// multiply-adds. Heads are staged in slices and chunks of columns, so shared memory does not grow with the head width.
#include "shaders/attention/attention.glsl"
#ifdef HALF
#include "shaders/common/half.glsl"
#endif
layout(constant_id = ATTENTION_EXTRA) const int chunk = 32;     // columns of a head that are summed together, 32 or 64
layout(constant_id = ATTENTION_EXTRA + 1) const int tile = 32;  // queries and keys, 32 or 64
// Of the columns of a result; a workgroup sums those of one part. Very wide heads have more sums than registers hold.
layout(constant_id = ATTENTION_EXTRA + 2) const int column_parts = 1;

layout(constant_id = 0) const uint workgroup = 128;  // the local size

const int threads = int(workgroup);
const int across = threads > 64 ? 16 : 8;  // invocations along a row
const int lines = threads / across;
const int row_count = tile / lines;
const int column_count = tile / across;
const int chunk_count = chunk / across;
// Of a part.
const int key_chunks = (head_width + chunk * column_parts - 1) / (chunk * column_parts);
const int value_chunks = (value_width + chunk * column_parts - 1) / (chunk * column_parts);

// Scores are sums over slices of the heads' columns; sums over a tile's keys (or queries) come in strips of these. Both
// are as many floats.
const int slice = tile > 32 ? 32 : chunk;
const int key_slices = (head_width + slice - 1) / slice;
const int value_slices = (value_width + slice - 1) / slice;
const int strip = tile * slice / chunk;
const int staged = tile * slice;

const int slice_floats = tile * (slice + 1), strip_floats = strip * (chunk + 1), weight_floats = tile * (tile + 1);
const int columns_at = 0;
const int rows_at = slice_floats > strip_floats ? slice_floats : strip_floats;
// Weights lie where the rows of scores were, which are staged again for the next tile, unless the kernel keeps those.
#ifndef ROWS_STAY
#define ROWS_STAY false
#endif
const int weights_at = rows_at + (ROWS_STAY ? slice_floats : 0);
const int larger_floats = weight_floats > slice_floats ? weight_floats : slice_floats;
const int shared_floats = rows_at + (ROWS_STAY ? slice_floats + weight_floats : larger_floats);
shared float tiles[shared_floats];

// Of a launch over blocks of rows; parts of a block are neighbours, as they read the same rows.
int block_index() { return int(gl_WorkGroupID.x) / column_parts; }
int column_part() { return int(gl_WorkGroupID.x) % column_parts; }

int x() { return int(gl_LocalInvocationIndex) % across; }
int y() { return int(gl_LocalInvocationIndex) / across; }
int row_of(int i) { return y() + lines * i; }
int column_of(int j) { return x() + across * j; }
// Of a chunk. Words of 16-bit floats are written whole, so that an invocation has pairs of neighbours there.
#ifdef HALF
int chunk_column_of(int j) { return 2 * (x() + across * (j / 2)) + j % 2; }
#else
int chunk_column_of(int j) { return column_of(j); }
#endif

// How rows are staged: those of keys, values and what is of their type from HALF's words, all else from floats. glslang
// does not tell functions apart by types of references, so they have names of their own.
#if !defined(HALF) || defined(FLOAT_QUERIES)
const int float_batch = tile > 32 ? 8 : 512 / threads;
#define STAGE stage_floats
#define STAGE_SOURCE Floats
#define STAGE_LOADED float
#define STAGE_COLUMNS 1
#define STAGE_BATCH float_batch
#include "shaders/attention/gpu/attention_stage.glsl"
#undef STAGE
#undef STAGE_SOURCE
#undef STAGE_LOADED
#undef STAGE_COLUMNS
#undef STAGE_BATCH
#define STAGE_REALS stage_floats
#define STAGE_KEYS stage_floats
#endif
#ifdef HALF
const int words = staged / 2 / threads, word_batch = words < 8 ? words : 8;
#define STAGE stage_halves
#define STAGE_SOURCE Halves
#define STAGE_LOADED uint
#define STAGE_COLUMNS 2
#define STAGE_BATCH word_batch
#include "shaders/attention/gpu/attention_stage.glsl"
#undef STAGE_KEYS
#define STAGE_KEYS stage_halves
#ifndef FLOAT_QUERIES
#define STAGE_REALS stage_halves
#endif
#endif

// Slice `n` of the columns of rows `first` .. as the rows or the columns of a tile of scores.
void stage_rows(Reals from, int base, int stride, int first, int end, int n, int columns) {
  STAGE_REALS(rows_at, slice, from, base, stride, first, end, n * slice, columns);
}
void stage_columns(KeyReals from, int base, int stride, int first, int end, int n, int columns) {
  STAGE_KEYS(columns_at, slice, from, base, stride, first, end, n * slice, columns);
}
// Chunk `n` of the columns of rows `first` .., which weights multiply.
void stage_strip(KeyReals from, int base, int stride, int first, int end, int n, int columns) {
  STAGE_KEYS(columns_at, chunk, from, base, stride, first, end, n * chunk, columns);
}

// The loops below are unrolled by this much and no more: some drivers take a minute to compile 32 steps.
const int steps = 4;

// product += rows * transpose(columns), of a slice
void add_scores(inout float product[row_count][column_count]) {
  [[dont_unroll]] for (int first = 0; first < slice; first += steps) {
    [[unroll]] for (int c = first; c < first + steps; c++) {
      float a[row_count];
      [[unroll]] for (int i = 0; i < row_count; i++) a[i] = tiles[rows_at + row_of(i) * (slice + 1) + c];
      [[unroll]] for (int j = 0; j < column_count; j++) {
        const float b = tiles[columns_at + column_of(j) * (slice + 1) + c];
        [[unroll]] for (int i = 0; i < row_count; i++) product[i][j] += a[i] * b;
      }
    }
  }
}

// Where a weight of the tile lies.
int weight_at(int row, int column) { return weights_at + row * (tile + 1) + column; }

// Puts scores where weights will be. From there every invocation takes its own, `rows_together` rows of its share at a
// time: unrolled for a whole share, the rules of scores would be more code than instruction caches hold.
void put_scores(float product[row_count][column_count]) {
  [[unroll]] for (int i = 0; i < row_count; i++)
    [[unroll]] for (int j = 0; j < column_count; j++)
      tiles[weight_at(row_of(i), column_of(j))] = product[i][j] * args.source.scale;
}
const int rows_together = 2;

// product += the weights of a strip that begins at column `begin` of the tile * the strip
void add_weighted(inout float product[row_count][chunk_count], int begin) {
  [[dont_unroll]] for (int first = 0; first < strip; first += steps) {
    [[unroll]] for (int s = first; s < first + steps; s++) {
      float a[row_count];
      [[unroll]] for (int i = 0; i < row_count; i++) a[i] = tiles[weight_at(row_of(i), begin + s)];
      [[unroll]] for (int j = 0; j < chunk_count; j++) {
        const float b = tiles[columns_at + s * (chunk + 1) + chunk_column_of(j)];
        [[unroll]] for (int i = 0; i < row_count; i++) product[i][j] += a[i] * b;
      }
    }
  }
}

// Writes this invocation's columns of chunk `n`, times `factor`, to the row of so many columns that begins at `base`.
void store_chunk(Reals to, int base, int n, int columns, float values[chunk_count], float factor) {
  [[unroll]] for (int j = 0; j < chunk_count; j++) {
    const int c = n * chunk + chunk_column_of(j);
    if (c >= columns) continue;
#if defined(HALF) && !defined(FLOAT_QUERIES)
    if (j % 2 == 0) to.v[(base + c) / 2] = pack_halves(factor * vec2(values[j], values[j + 1]));
#else
    to.v[base + c] = factor * values[j];
#endif
  }
}
