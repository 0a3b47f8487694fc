// Which pairs a workgroup takes when blocks of `height` places cover each expert's part of the list. Expert e's blocks
// are those from offsets[e] / height + e on: as many as it needs, or one more, of which none is anybody else's. So there
// are pairs / height + E blocks, whatever was chosen, and no table of them.
// Expects `args` (ExpertMatmulArgs).

uint expert;                  // whose block it is
uint first_place, end_place;  // of its pairs in the list

// Of the expert's outputs.
float bias_of(uint column) { return args.has_bias != 0 ? args.bias.v[expert * args.n + column] : 0.0; }

uint block_of(uint e, uint height) { return uint(args.offsets.v[e]) / height + e; }

// Whether block `block` has any pairs.
bool find_rows(uint block, uint height) {
  uint low = 0, high = args.experts;  // low's first block is not behind this one, high's is
  while (high - low > 1) {
    const uint middle = (low + high) / 2;
    if (block_of(middle, height) <= block) low = middle;
    else high = middle;
  }
  expert = low;
  first_place = uint(args.offsets.v[low]) + (block - block_of(low, height)) * height;
  end_place = uint(args.offsets.v[low + 1]);
  return first_place < end_place;
}
