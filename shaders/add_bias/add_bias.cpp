#include "shaders/add_bias/add_bias.h"

#include "shaders/add_bias/add_bias.args.h"
#include "shaders/column_sum/column_sum.h"
#include "shaders/common/rows.h"

namespace vkformer {
namespace {

Types infer(const Node& node) {
  const Shape &x = node.in(0), &bias = node.in(1);
  check(node.input_types[0].dtype != DType::i32 && node.input_types[1].dtype == DType::f32,
        "[add_bias] x is {} and bias {}, needs floats and f32", name_of(node.input_types[0].dtype),
        name_of(node.input_types[1].dtype));
  check(x.rank() >= 1, "[add_bias] x has no columns");
  check(bias.rank() == 1 && bias[0] == x.columns(), "[add_bias] bias is {}, x {} needs [{}]", bias.to_string(),
        x.to_string(), x.columns());
  check_whole_words(node, "x", node.input_types[0]);
  return {node.input_types[0]};
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, node.in(0).columns(), RowUse::move, node.input_types[0].dtype);
}

void record(Recorder& recorder, const Node& node) {
  const int64_t rows = node.in(0).rows(), columns = node.in(0).columns();
  const AddBiasArgs args{.x = recorder.address(node.inputs[0]),
                         .bias = recorder.address(node.inputs[1]),
                         .y = recorder.address(node.outputs[0]),
                         .rows = share_rows(recorder.device(), rows, columns)};
  recorder.dispatch(row_launch(recorder, "add_bias", RowUse::move, args.rows, columns, {args.x, args.bias, args.y}),
                    args);
}

Values gradient(Graph& graph, const Node&, std::span<const Value> upstream) {
  if (!upstream[0]) return {{}, {}};
  return {upstream[0], column_sum(graph, upstream[0])};
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t columns = node.in(0).columns();
  for (int64_t i = 0; i < node.in(0).elements(); ++i) out[0][i] = (*in[0])[i] + (*in[1])[i % columns];
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const Shape& x : {Shape{1}, Shape{5, 1}, Shape{3, 7}, Shape{2, 5, 3, 7}, Shape{1031, 7}, Shape{11, 130},
                         Shape{67, 130}, Shape{3, 1031}})
    list.push_back({.inputs = {{.type = {x}}, {.type = {Shape{x.columns()}}}}, .attributes = {}});
  for (const DType half : {DType::f16, DType::bf16})
    list.push_back({.inputs = {{.type = {{67, 130}, half}}, {.type = {Shape{130}}}}, .attributes = {}});
  return list;
}

Cost cost(const Node& node) {
  const auto elements = static_cast<double>(node.out(0).elements());
  const int64_t moved = 2 * node.output_types[0].bytes() + node.input_types[1].bytes();
  return {.bytes = static_cast<double>(moved), .flops = elements};
}

const Op add_bias_op = {.name = "add_bias",
                        .infer = infer,
                        .record = record,
                        .gradient = gradient,
                        .reference = reference,
                        .cases = cases,
                        .cost = cost,
                        .candidates = candidates,
                        .room = row_room,
                        .half_inputs = 0b1,
                        .in_place = true};

}  // namespace

Value add_bias(Graph& graph, Value x, Value bias) { return graph.apply(add_bias_op, {x, bias}); }

}  // namespace vkformer

VKFORMER_OPS(add_bias, &vkformer::add_bias_op)
