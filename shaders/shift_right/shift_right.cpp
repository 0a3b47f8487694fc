#include "shaders/shift_right/shift_right.h"

#include "shaders/common/stream.h"
#include "shaders/shift_right/shift_right.args.h"

namespace vkformer {

namespace {

Types infer(const Node& node) {
  const Shape& ids = node.in(0);
  check(node.input_types[0].dtype == DType::i32 && ids.rank() == 2, "[shift_right] ids is {} {}, needs i32 [B, T]",
        name_of(node.input_types[0].dtype), ids.to_string());
  return {node.input_types[0]};
}

void record(Recorder& recorder, const Node& node) {
  const DeviceFacts& facts = recorder.device();
  const Shape& ids = node.in(0);
  const uint32_t lanes = stream_workgroup(facts);
  recorder.dispatch({.kernel = "shift_right",
                     .constants = {lanes},
                     .groups = spread_groups(facts, groups_for(ids.elements(), lanes))},
                    ShiftRightArgs{.ids = recorder.address(node.inputs[0]),
                                   .shifted = recorder.address(node.outputs[0]),
                                   .elements = static_cast<uint>(ids.elements()),
                                   .positions = static_cast<uint>(ids[1]),
                                   .first = static_cast<int>(node.integer("first"))});
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t positions = node.in(0)[1];
  for (int64_t i = 0; i < node.in(0).elements(); ++i)
    out[0][i] = i % positions == 0 ? static_cast<double>(node.integer("first")) : (*in[0])[i - 1];
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const Shape& ids : {Shape{1, 1}, Shape{3, 2}, Shape{2, 17}, Shape{5, 131}})
    list.push_back({.inputs = {{.type = {ids, DType::i32}, .low = 0, .high = 50}}, .attributes = {{"first", 7.0}}});
  return list;
}

Cost cost(const Node& node) { return {.bytes = 8 * static_cast<double>(node.in(0).elements()), .flops = 0}; }

const Op shift_right_op = {
    .name = "shift_right", .infer = infer, .record = record, .reference = reference, .cases = cases, .cost = cost};

}  // namespace

Value shift_right(Graph& graph, Value ids, int32_t first) {
  return graph.apply(shift_right_op, {ids}, {{"first", static_cast<double>(first)}});
}

}  // namespace vkformer

VKFORMER_OPS(shift_right, &vkformer::shift_right_op)
