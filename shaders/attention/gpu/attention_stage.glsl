// How rows of one type are staged; attention_tiled.glsl includes it once for each that it needs, with STAGE_SOURCE, what a
// load gives (STAGE_LOADED), its columns (STAGE_COLUMNS) and the loads of an invocation that are under way together.
//
// Copies rows `first` .. of a matrix, `width` of its columns from `column` on, to `place`; zeros where there is none.
// Nothing is done to what is loaded before all loads are sent: compilers wait for a load where its value is first touched.
void STAGE(int place, const int width, STAGE_SOURCE from, int base, int stride, int first, int end, int column,
           int columns) {
  const int loads = width / STAGE_COLUMNS, batch = STAGE_BATCH;
  const int c = int(gl_LocalInvocationIndex) % loads * STAGE_COLUMNS, step = threads / loads;
  const bool in_row = column + c < columns;
  for (int r = int(gl_LocalInvocationIndex) / loads; r < staged / width; r += batch * step) {
    STAGE_LOADED values[batch];
    [[unroll]] for (int i = 0; i < batch; i++) {
      const int row = first + r + step * i;
      values[i] = from.v[in_row && row < end ? (base + row * stride + column + c) / STAGE_COLUMNS : 0];
    }
    [[unroll]] for (int i = 0; i < batch; i++) {
      const int row = r + step * i, at = place + row * (width + 1) + c;
      const STAGE_LOADED value = in_row && first + row < end ? values[i] : 0;
#if STAGE_COLUMNS == 2
      const vec2 pair = unpack_halves(value);
      tiles[at] = pair.x;
      tiles[at + 1] = pair.y;
#else
      tiles[at] = value;
#endif
    }
  }
}
