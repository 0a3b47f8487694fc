#include "shaders/last_visible/last_visible.h"

#include "shaders/common/stream.h"
#include "shaders/last_visible/last_visible.args.h"

namespace vkformer {

namespace {

Types infer(const Node& node) {
  const Shape& mask = node.in(0);
  check(node.input_types[0].dtype == DType::i32 && mask.rank() == 2, "[last_visible] mask is {} {}, needs i32 [B, T]",
        name_of(node.input_types[0].dtype), mask.to_string());
  return {{{mask[0], 1}, DType::i32}};
}

void record(Recorder& recorder, const Node& node) {
  const DeviceFacts& facts = recorder.device();
  const Shape& mask = node.in(0);
  const uint32_t lanes = stream_workgroup(facts);
  recorder.dispatch(
      {.kernel = "last_visible", .constants = {lanes}, .groups = spread_groups(facts, groups_for(mask[0], lanes))},
      LastVisibleArgs{.mask = recorder.address(node.inputs[0]),
                      .last = recorder.address(node.outputs[0]),
                      .rows = static_cast<uint>(mask[0]),
                      .positions = static_cast<uint>(mask[1])});
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t rows = node.in(0)[0], positions = node.in(0)[1];
  for (int64_t b = 0; b < rows; ++b) {
    int64_t last = 0;
    for (int64_t t = 0; t < positions; ++t)
      if ((*in[0])[b * positions + t] != 0) last = t;
    out[0][b] = static_cast<double>(b * positions + last);
  }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const Shape& mask : {Shape{1, 1}, Shape{3, 2}, Shape{2, 17}, Shape{301, 5}})
    list.push_back({.inputs = {{.type = {mask, DType::i32}, .low = 0, .high = 1}}});
  return list;
}

Cost cost(const Node& node) { return {.bytes = 4 * static_cast<double>(node.in(0).elements()), .flops = 0}; }

const Op last_visible_op = {
    .name = "last_visible", .infer = infer, .record = record, .reference = reference, .cases = cases, .cost = cost};

}  // namespace

Value last_visible(Graph& graph, Value mask) { return graph.apply(last_visible_op, {mask}); }

}  // namespace vkformer

VKFORMER_OPS(last_visible, &vkformer::last_visible_op)
