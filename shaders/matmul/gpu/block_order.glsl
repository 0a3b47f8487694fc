// Which block of which product a workgroup computes. Expects `args` (MatmulArgs), TILE_ROWS and TILE_COLUMNS.
// Rows of blocks are walked GROUP at a time, column by column: blocks that run at the same time read the same operands.
const uint GROUP = 8;

struct Block {
  uint product;  // of all batches, in each range of K; past the last one: there is nothing to do
  uint first_row, first_column;
};

Block own_block() {
  const uint row_tiles = (args.m + TILE_ROWS - 1) / TILE_ROWS;
  const uint column_tiles = (args.n + TILE_COLUMNS - 1) / TILE_COLUMNS;
  const uint id = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint block = id % (row_tiles * column_tiles);
  const uint group_row = block / (GROUP * column_tiles) * GROUP, group_rows = min(row_tiles - group_row, GROUP);
  const uint in_group = block % (GROUP * column_tiles);
  return Block(id / (row_tiles * column_tiles), (group_row + in_group % group_rows) * TILE_ROWS,
               in_group / group_rows * TILE_COLUMNS);
}
