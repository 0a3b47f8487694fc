// For GPUs: products of 32 x 32 tiles from shared memory, without subgroup operations. The workgroup is 128 or 256
// invocations in rows of 16: 256 where the sums over keys, which are in registers, would be too many for 128. An
// invocation holds rows y + lines i and columns x + 16 j of a tile. Heads are read in chunks of columns, so shared memory
// does not grow with the head width.
#include "shaders/attention/attention.glsl"
layout(constant_id = ATTENTION_EXTRA) const int chunk = 32;  // 32 or 64, what shared memory allows

layout(constant_id = 0) const uint workgroup = 128;  // the local size

const int tile = 32;
const int threads = int(workgroup);
const int lines = threads / 16;
const int row_count = tile / lines;
const int column_count = 2;
const int chunk_count = chunk / 16;
const int key_chunks = (head_width + chunk - 1) / chunk;
const int value_chunks = (value_width + chunk - 1) / chunk;

shared float row_tile[tile][chunk + 1];
shared float column_tile[tile][chunk + 1];
shared float weight_tile[tile][tile + 1];

int x() { return int(gl_LocalInvocationIndex) % 16; }
int y() { return int(gl_LocalInvocationIndex) / 16; }

// Fills a tile with chunk `n` of rows `first` .. of a matrix; zeros where there is none.
#define LOAD_TILE(target, from, first, end, base, stride, n, width)                                 \
  for (int i = int(gl_LocalInvocationIndex); i < tile * chunk; i += threads) {                      \
    const int r = (first) + i / chunk;                                                              \
    const int c = (n)*chunk + i % chunk;                                                            \
    target[i / chunk][i % chunk] = r < (end) && c < (width) ? (from).v[(base) + r * (stride) + c] : 0; \
  }

// The loops below are unrolled by this much and no more: some drivers take a minute to compile 32 steps.
const int steps = 4;

// product += row_tile * transpose(column_tile)
void add_scores(inout float product[row_count][column_count]) {
  [[dont_unroll]] for (int first = 0; first < chunk; first += steps) {
    [[unroll]] for (int c = first; c < first + steps; c++) {
      float a[row_count];
      [[unroll]] for (int i = 0; i < row_count; i++) a[i] = row_tile[y() + lines * i][c];
      [[unroll]] for (int j = 0; j < column_count; j++) {
        const float b = column_tile[x() + 16 * j][c];
        [[unroll]] for (int i = 0; i < row_count; i++) product[i][j] += a[i] * b;
      }
    }
  }
}

// product += weight_tile * column_tile
void add_weighted(inout float product[row_count][chunk_count]) {
  [[dont_unroll]] for (int first = 0; first < tile; first += steps) {
    [[unroll]] for (int s = first; s < first + steps; s++) {
      float a[row_count];
      [[unroll]] for (int i = 0; i < row_count; i++) a[i] = weight_tile[y() + lines * i][s];
      [[unroll]] for (int j = 0; j < chunk_count; j++) {
        const float b = column_tile[s][x() + 16 * j];
        [[unroll]] for (int i = 0; i < row_count; i++) product[i][j] += a[i] * b;
      }
    }
  }
}
