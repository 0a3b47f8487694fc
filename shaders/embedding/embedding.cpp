#include "shaders/embedding/embedding.h"

#include "runtime/encoding/encoding.h"
#include "shaders/common/block_variants.h"
#include "shaders/common/rows.h"
#include "shaders/embedding/embedding.args.h"
#include "shaders/embedding/embedding_backward.h"
#include "shaders/reshape/reshape.h"

namespace vkformer {

namespace {

/// The row of the reference's tensor `data` [.., columns], or nullptr where it has none.
const double* row_of(const HostTensor& data, int64_t index, int64_t columns) {
  const bool known = index >= 0 && index < data.type.shape.rows();
  return known ? data.data.data() + index * columns : nullptr;
}

constexpr std::string_view blocks_kernel = "blocks";

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  if (is_blocks(node.input_types[0].dtype)) return {blocks_kernel};
  return row_candidates(facts, node.out(0).columns(), RowUse::move, node.input_types[0].dtype);
}

// --- embedding: table, ids, position_table?, position? -> y ---

Types infer(const Node& node) {
  const Shape &table = node.in(0), &ids = node.in(1);
  check(table.rank() == 2 && table[0] >= 1 && table[1] >= 1, "[embedding] table is {}, needs [V, C]",
        table.to_string());
  check(node.input_types[0].dtype != DType::i32, "[embedding] table is i32, it must have floats");
  check(!node.has_input(2) || node.input_types[2].dtype == DType::f32,
        "[embedding] position_table is not f32; only the table may have 16-bit floats or blocks");
  check_ids(node, 1);
  check(ids.rank() < Shape::max_rank, "[embedding] ids is {}, needs fewer dimensions", ids.to_string());
  if (node.has_input(2))
    check(node.in(2).rank() == 2 && node.in(2)[0] >= 1 && node.in(2)[1] == table[1],
          "[embedding] position_table is {}, table needs [P, {}]", node.in(2).to_string(), table[1]);
  check(node.has_input(2) || !node.has_input(3), "[embedding] a position needs a position_table");
  check_position(node, 3, ids.rows());
  const int64_t first = node.integer("first_position"), position_rows = node.has_input(2) ? node.in(2)[0] : 0;
  check(first == 0 || (first > 0 && first < position_rows),
        "[embedding] first_position is {}, position_table has {} rows", first, position_rows);
  std::vector<int64_t> y(ids.dimensions().begin(), ids.dimensions().end());
  y.push_back(table[1]);
  return {{Shape(y)}};
}

/// Whole rows of quads: every tensor starts at 16 bytes.
void record_blocks(Recorder& recorder, const Node& node, const EmbeddingArgs& args) {
  const int64_t columns = node.in(0)[1], tokens = node.in(1).elements();
  check(args.y % 16 == 0 && args.position_table % 16 == 0, "[embedding] a matrix does not start at 16 bytes");
  recorder.dispatch({.kernel = "embedding_blocks",
                     .variant = variant_of_blocks(node.input_types[0].dtype),
                     .constants = {node.has_input(2)},
                     .groups = spread_groups(recorder.device(), groups_for(tokens * columns / 4, 64))},
                    EmbeddingBlocksArgs{.table = args.table,
                                        .ids = args.ids,
                                        .position_table = args.position_table,
                                        .position = args.position,
                                        .y = args.y,
                                        .tokens = static_cast<uint>(tokens),
                                        .columns = static_cast<uint>(columns),
                                        .positions = args.positions,
                                        .table_rows = args.table_rows,
                                        .position_rows = args.position_rows,
                                        .offsets = args.offsets,
                                        .first_position = args.first_position,
                                        .scale = args.scale});
}

void record(Recorder& recorder, const Node& node) {
  const Shape &table = node.in(0), &ids = node.in(1);
  const int64_t tokens = ids.elements(), columns = table[1];
  // What is absent is not used, but CPU drivers may read it.
  const auto address = [&](size_t i) { return recorder.address(node.inputs[node.has_input(i) ? i : i % 2]); };
  const uint64_t y = recorder.address(node.outputs[0]);
  // Of narrower values than f32 a word holds two and more (tables of all layers' inputs: 262144 rows of 10752).
  const int bits = node.input_types[0].dtype == DType::f32 ? 31 : 32;
  check(table.elements() < int64_t{1} << bits,
        "[embedding] the table {} has 2^{} elements or more; kernels address less than 2^31 of f32, 2^32 of fewer bits",
        table.to_string(), bits);
  if (node.has_input(2)) check_rows("embedding", node.in(2)[0], columns);
  const Rows shared = share_rows(recorder.device(), tokens, columns);
  const EmbeddingArgs args{.table = address(0),
                           .ids = address(1),
                           .position_table = address(2),
                           .position = address(3),
                           .y = y,
                           .rows = shared,
                           .positions = static_cast<uint>(ids[-1]),
                           .table_rows = static_cast<int>(table[0]),
                           .position_rows = node.has_input(2) ? static_cast<int>(node.in(2)[0]) : 0,
                           .offsets = node.has_input(3) ? static_cast<uint>(node.in(3).elements()) : 0,
                           .first_position = static_cast<uint>(node.integer("first_position")),
                           .scale = static_cast<float>(node.number("scale"))};
  if (recorder.candidate() == blocks_kernel) return record_blocks(recorder, node, args);
  recorder.dispatch(row_launch(recorder, "embedding", RowUse::move, shared, columns, {address(0), address(2), y},
                               {node.has_input(2)}),
                    args);
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  Values gradients(node.inputs.size());
  if (!upstream[0]) return gradients;
  // Read before add(): the node may move while the graph grows.
  const Values inputs = node.inputs;
  const double rows = static_cast<double>(node.in(0)[0]);
  const double position_rows = node.has_input(2) ? static_cast<double>(node.in(2)[0]) : 0;
  const double positions = static_cast<double>(node.in(1)[-1]);
  const double first = node.number("first_position"), scale = node.number("scale");
  gradients[0] = graph.apply(embedding_backward_op, {upstream[0], inputs[1]}, {{"rows", rows}, {"scale", scale}});
  if (inputs[2])
    gradients[2] = graph.apply(position_backward_op, {upstream[0], inputs[3]},
                               {{"rows", position_rows}, {"positions", positions}, {"first_position", first}});
  return gradients;
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t tokens = node.in(1).elements(), positions = node.in(1)[-1], columns = node.in(0)[1];
  for (int64_t n = 0; n < tokens; ++n) {
    const double* row = row_of(*in[0], static_cast<int64_t>((*in[1])[n]), columns);
    const int64_t position = node.integer("first_position") + position_of(in[3], n / positions) + n % positions;
    const double* added = in[2] ? row_of(*in[2], position, columns) : nullptr;
    for (int64_t c = 0; c < columns; ++c)
      out[0][n * columns + c] = (row ? node.number("scale") * row[c] : 0) + (added ? added[c] : 0);
  }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](int64_t rows, int64_t columns, Shape ids, int64_t position_rows, int64_t offsets,
                       double first_position = 0, double scale = 1) {
    list.push_back({.inputs = {{.type = {Shape{rows, columns}}},
                               ids_below(ids, rows),
                               {.type = {Shape{position_rows, columns}}, .absent = position_rows == 0},
                               offsets_between(-3, 5, offsets)},
                    .attributes = {{"first_position", first_position}, {"scale", scale}}});
  };
  add(1, 1, {1}, 0, 0);
  add(5, 7, {7}, 0, 0);
  add(257, 7, {1031}, 0, 0);
  add(65, 130, {3, 17}, 0, 0, 0, 8);
  add(7, 130, {2, 3, 5}, 11, 0, 2);
  add(31, 130, {4, 13}, 13, 1);
  add(31, 130, {4, 13}, 13, 4, 2, -0.3);
  add(1009, 7, {67}, 7, 1);
  add(5, 7, {2, 3, 5}, 7, 6);
  add(3, 1031, {1}, 1, 1);
  // Ids that the table does not have: positions alone.
  add(1, 130, {4, 13}, 13, 4, 2);
  list.back().inputs[1] = ids_below({4, 13}, 3);
  for (DType half : {DType::f16, DType::bf16}) {
    add(65, 64, {3, 17}, 0, 0, 0, 8);
    list.back().inputs[0].type.dtype = half;
    add(7, 127, {2, 3, 5}, 11, 0, 2);
    list.back().inputs[0].type.dtype = half;
  }
  // Encoded blocks of every type.
  for (DType type : block_types) {
    add(17, 512, {3, 5}, type == DType::q8_0 ? 11 : 0, type == DType::q8_0, 0, 8);
    list.back().inputs[0].type.dtype = type;
  }
  // Small values: of f16 themselves and of a block's scale, below 2^-14, they must not be flushed.
  for (const auto& [type, largest] : {std::pair(DType::f16, 5e-5), std::pair(DType::q6_k, 1e-3)}) {
    add(17, 512, {3, 5}, 0, 0, 0, 64);
    list.back().inputs[0] = {.type = {{17, 512}, type}, .low = -largest, .high = largest};
  }
  return list;
}

Cost cost(const Node& node) {
  const auto y = static_cast<double>(node.out(0).elements());
  const double position = node.has_input(2) ? static_cast<double>(node.in(1)[-1] * node.in(0)[1]) : 0;
  return {.bytes = 4 * (2 * y + position + static_cast<double>(node.in(1).elements())),
          .flops = node.has_input(2) ? y : 0};
}

const Op embedding_op = {.name = "embedding",
                         .infer = infer,
                         .record = record,
                         .gradient = gradient,
                         .reference = reference,
                         .cases = cases,
                         .cost = cost,
                         .candidates = candidates,
                         .room = row_room,
                         .half_inputs = 0b1,
                         .block_inputs = 0b1};

}  // namespace

bool is_embedding(const Node& node) { return node.op == &embedding_op; }

Value embedding(Graph& graph, Value table, Value ids, const EmbeddingOptions& options) {
  if (options.position && graph.shape(options.position).rank() > 1) {  // each id is a sequence
    const Shape shape = graph.shape(ids);
    EmbeddingOptions rows = options;
    rows.position = reshape(graph, options.position, {graph.shape(options.position).elements()});
    const Value y = embedding(graph, table, reshape(graph, ids, {shape.elements(), 1}), rows);
    std::vector<int64_t> dimensions(shape.dimensions().begin(), shape.dimensions().end());
    dimensions.push_back(graph.shape(table)[1]);
    return reshape(graph, y, Shape(dimensions));
  }
  return graph.apply(embedding_op, {table, ids, options.position_table, options.position},
                     {{"first_position", static_cast<double>(options.first_position)}, {"scale", options.scale}});
}

Value scatter_rows(Graph& graph, Value x, Value ids, int64_t rows) {
  return graph.apply(embedding_backward_op, {x, ids}, {{"rows", static_cast<double>(rows)}, {"scale", 1}});
}

}  // namespace vkformer

VKFORMER_OPS(embedding, &vkformer::embedding_op, &vkformer::embedding_backward_op, &vkformer::position_backward_op)
