#include "shaders/embedding/embedding_backward.h"

#include <algorithm>

#include "shaders/common/rows.h"
#include "shaders/common/stream.h"
#include "shaders/embedding/embedding.args.h"
#include "shaders/embedding/embedding.h"
#include "shaders/reshape/reshape.h"

namespace vkformer {

void check_ids(const Node& node, size_t input) {
  check(node.input_types[input].dtype == DType::i32 && node.in(input).rank() >= 1, "[{}] ids is {} {}, needs i32 [..]",
        node.op->name, name_of(node.input_types[input].dtype), node.in(input).to_string());
}

void check_position(const Node& node, size_t input, int64_t batch) {
  if (!node.has_input(input)) return;
  const TensorType& type = node.input_types[input];
  check(type.dtype == DType::i32 && (type.shape == Shape{1} || type.shape == Shape{batch}),
        "[{}] position is {} {}, needs i32 [1] or [{}]", node.op->name, name_of(type.dtype), type.shape.to_string(),
        batch);
}

int64_t position_of(const HostTensor* position, int64_t row) {
  if (!position) return 0;
  return static_cast<int64_t>((*position)[position->type.shape.elements() == 1 ? 0 : row]);
}

CaseInput offsets_between(double low, double high, int64_t count) {
  return {.type = {Shape{std::max<int64_t>(count, 1)}, DType::i32}, .low = low, .high = high, .absent = count == 0};
}

CaseInput ids_below(Shape shape, int64_t rows) {
  // One id too low and one too high: such rows count as zeros.
  return {.type = {shape, DType::i32}, .low = -1, .high = static_cast<double>(rows)};
}

namespace {

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, node.out(0).columns(), RowUse::move);
}

// --- embedding_backward: upstream, ids, total? -> dtable ---

Types infer_backward(const Node& node) {
  check_ids(node, 1);
  check(node.in(0).rank() >= 1 && node.in(0).rows() == node.in(1).elements(),
        "[embedding_backward] upstream is {}, ids is {}", node.in(0).to_string(), node.in(1).to_string());
  const Shape table{node.integer("rows"), node.in(0).columns()};
  if (node.has_input(2))
    check(node.in(2) == table, "[embedding_backward] total is {}, dtable {}", node.in(2).to_string(),
          table.to_string());
  return {{table}};
}

// Each workgroup looks through the ids; a workgroup for each token stops early when its id has occurred before.
std::vector<std::string_view> candidates_backward(const Node& node, const DeviceFacts& facts) {
  const bool small_table = node.integer("rows") <= 2 * node.in(1).elements();
  std::vector<std::string_view> names;
  for (bool by_row : {small_table, !small_table})
    for (std::string_view form : row_candidates(facts, node.out(0).columns(), RowUse::move))
      names.push_back(form == "workgroup" ? (by_row ? "rows" : "tokens") : (by_row ? "rows_int64" : "tokens_int64"));
  return names;
}

void record_backward(Recorder& recorder, const Node& node) {
  const int64_t rows = node.integer("rows"), columns = node.in(0).columns(), tokens = node.in(1).elements();
  const bool by_token = recorder.candidate().substr(0, 6) == "tokens";
  const uint64_t upstream = recorder.address(node.inputs[0]);
  const Region dtable = recorder.region(node.outputs[0]);
  check_rows("embedding_backward", rows, columns);
  check_rows("embedding_backward", tokens, columns);
  // The kernel adds to what is there, and touches only rows that occur.
  if (!node.has_input(2))
    recorder.fill(dtable, 0);
  else if (const Region total = recorder.region(node.inputs[2]); total.address != dtable.address)
    stream_copy(recorder, total, dtable);
  const uint32_t tests =
      std::clamp(2048 / row_lanes(recorder.device(), columns, RowUse::move, recorder.candidate()), 1u, 32u);
  const uint32_t at_once = recorder.device().is_cpu() ? 1 : 4;  // a GPU waits for several rows as long as for one
  const Rows searched{.count = static_cast<uint>(by_token ? tokens : rows), .per_group = 1};
  recorder.dispatch(row_launch(recorder, "embedding_backward", RowUse::move, searched, columns,
                               {upstream, dtable.address}, {tests, at_once}),
                    EmbeddingBackwardArgs{.upstream = upstream,
                                          .ids = recorder.address(node.inputs[1]),
                                          .dtable = dtable.address,
                                          .tokens = static_cast<uint>(tokens),
                                          .table_rows = static_cast<int>(rows),
                                          .scale = static_cast<float>(node.number("scale"))});
}

void reference_backward(const Node& node, Inputs in, Outputs out) {
  const int64_t tokens = node.in(1).elements(), columns = node.in(0).columns();
  for (int64_t i = 0; node.has_input(2) && i < node.out(0).elements(); ++i) out[0][i] = (*in[2])[i];
  for (int64_t n = 0; n < tokens; ++n) {
    const auto id = static_cast<int64_t>((*in[1])[n]);
    if (id < 0 || id >= node.integer("rows")) continue;
    for (int64_t c = 0; c < columns; ++c) out[0][id * columns + c] += node.number("scale") * (*in[0])[n * columns + c];
  }
}

// Row n of the upstream went to row ids[n]; its gradient comes back from there.
Values gradient_backward(Graph& graph, const Node& node, std::span<const Value> upstream) {
  Values gradients(node.inputs.size());
  if (!upstream[0]) return gradients;
  const bool added = node.has_input(2);
  const Shape shape = node.in(0);
  const Value rows = embedding(graph, upstream[0], node.inputs[1], {.scale = node.number("scale")});
  gradients[0] = reshape(graph, rows, shape);
  if (added) gradients[2] = upstream[0];
  return gradients;
}

std::vector<Case> cases_backward() {
  std::vector<Case> list;
  const auto add = [&](int64_t rows, int64_t columns, int64_t tokens, double scale = 1, bool total = false) {
    list.push_back({.inputs = {{.type = {Shape{tokens, columns}}},
                               ids_below({tokens}, rows),
                               {.type = {Shape{rows, columns}}, .absent = !total}},
                    .attributes = {{"rows", static_cast<double>(rows)}, {"scale", scale}},
                    .reduction = tokens});
  };
  // More than one list of ids: from 257 on CPUs, from 2049 on GPUs.
  for (int64_t tokens : {1, 67, 2053}) add(1, 1, tokens);
  for (int64_t tokens : {7, 769, 2053}) add(65, 7, tokens);
  for (int64_t tokens : {1, 67, 769}) add(1009, 7, tokens, -3);
  add(65, 130, 769);
  add(29, 130, 31, 22.5);
  add(3, 1031, 11);
  add(1009, 7, 67, 2, true);
  add(65, 130, 769, 1, true);
  add(3, 1031, 11, -1, true);
  add(1, 1, 1, 1, true);
  add(70001, 1, 13);  // more workgroups than fit along one axis
  return list;
}

Cost cost_backward(const Node& node) {
  const auto elements = static_cast<double>(node.in(0).elements());
  // Added to a total, only rows that occur are read and written.
  const double table = node.has_input(2) ? 2 * elements : static_cast<double>(node.out(0).elements());
  return {.bytes = 4 * (elements + static_cast<double>(node.in(1).elements()) + table), .flops = elements};
}

// --- position_backward: upstream, position? -> dtable ---

Types infer_position(const Node& node) {
  const int64_t positions = node.integer("positions");
  check(node.in(0).rank() >= 1 && positions >= 1 && node.in(0).rows() % positions == 0,
        "[position_backward] upstream is {}, which is not a batch of {} positions", node.in(0).to_string(), positions);
  check_position(node, 1, node.in(0).rows() / positions);
  return {{Shape{node.integer("rows"), node.in(0).columns()}}};
}

void record_position(Recorder& recorder, const Node& node) {
  const int64_t rows = node.integer("rows"), positions = node.integer("positions"), columns = node.in(0).columns();
  const uint64_t upstream = recorder.address(node.inputs[0]), dtable = recorder.address(node.outputs[0]);
  check_rows("position_backward", node.in(0).rows(), columns);
  const int64_t batch = node.in(0).rows() / positions, offsets = node.has_input(1) ? node.in(1).elements() : 0;
  const Rows shared = share_rows(recorder.device(), rows, columns);
  recorder.dispatch(
      row_launch(recorder, "position_backward", RowUse::move, shared, columns, {upstream, dtable}, {offsets > 1}),
      PositionBackwardArgs{.upstream = upstream,
                           .position = node.has_input(1) ? recorder.address(node.inputs[1]) : upstream,
                           .dtable = dtable,
                           .rows = shared,
                           .batch = static_cast<uint>(batch),
                           .positions = static_cast<uint>(positions),
                           .offsets = static_cast<uint>(offsets),
                           .first_position = static_cast<uint>(node.integer("first_position"))});
}

void reference_position(const Node& node, Inputs in, Outputs out) {
  const int64_t positions = node.integer("positions"), columns = node.in(0).columns();
  for (int64_t n = 0; n < node.in(0).rows(); ++n) {
    const int64_t row = node.integer("first_position") + position_of(in[1], n / positions) + n % positions;
    if (row < 0 || row >= node.integer("rows")) continue;
    for (int64_t c = 0; c < columns; ++c) out[0][row * columns + c] += (*in[0])[n * columns + c];
  }
}

std::vector<Case> cases_position() {
  std::vector<Case> list;
  const auto add = [&](int64_t batch, int64_t positions, int64_t columns, int64_t rows, int64_t offsets,
                       int64_t first_position = 0) {
    list.push_back({.inputs = {{.type = {Shape{batch, positions, columns}}}, offsets_between(-2, 3, offsets)},
                    .attributes = {{"rows", static_cast<double>(rows)},
                                   {"positions", static_cast<double>(positions)},
                                   {"first_position", static_cast<double>(first_position)}},
                    .reduction = batch});
  };
  add(1, 1, 1, 1, 0);
  add(7, 5, 7, 11, 0);
  add(7, 5, 7, 11, 1);
  add(101, 2, 130, 67, 0, 2);
  add(7, 5, 130, 11, 1);
  add(2, 3, 1031, 3, 0, 1);
  add(7, 5, 7, 11, 7);  // each row of the batch at its own position
  add(3, 13, 130, 7, 3, 2);
  add(2, 1, 130, 5, 2, 1);
  return list;
}

Cost cost_position(const Node& node) {
  const auto elements = static_cast<double>(node.in(0).elements());
  return {.bytes = 4 * (elements + static_cast<double>(node.out(0).elements())), .flops = elements};
}

}  // namespace

const Op embedding_backward_op = {.name = "embedding_backward",
                                  .infer = infer_backward,
                                  .record = record_backward,
                                  .gradient = gradient_backward,
                                  .reference = reference_backward,
                                  .cases = cases_backward,
                                  .cost = cost_backward,
                                  .candidates = candidates_backward,
                                  .room = row_room,
                                  .addend = 2,
                                  .addend_in_place = true};

const Op position_backward_op = {.name = "position_backward",
                                 .infer = infer_position,
                                 .record = record_position,
                                 .reference = reference_position,
                                 .cases = cases_position,
                                 .cost = cost_position,
                                 .candidates = candidates,
                                 .room = row_room};

}  // namespace vkformer
