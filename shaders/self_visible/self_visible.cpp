#include "shaders/self_visible/self_visible.h"

#include "shaders/common/stream.h"
#include "shaders/self_visible/self_visible.args.h"

namespace vkformer {

namespace {

Types infer(const Node& node) {
  const Shape& mask = node.in(0);
  check(node.input_types[0].dtype == DType::i32 && mask.rank() == 2, "[self_visible] mask is {} {}, needs i32 [B, T]",
        name_of(node.input_types[0].dtype), mask.to_string());
  const Shape visible{mask[0], mask[1], mask[1]};
  check(visible.elements() < int64_t{1} << 31, "[self_visible] {} has 2^31 elements or more", visible.to_string());
  return {{visible, DType::i32}};
}

void record(Recorder& recorder, const Node& node) {
  const DeviceFacts& facts = recorder.device();
  const int64_t elements = node.out(0).elements();
  const uint32_t lanes = stream_workgroup(facts), span = facts.is_cpu() ? 1024 : lanes;
  recorder.dispatch(
      {.kernel = "self_visible", .constants = {lanes}, .groups = spread_groups(facts, groups_for(elements, span))},
      SelfVisibleArgs{.mask = recorder.address(node.inputs[0]),
                      .visible = recorder.address(node.outputs[0]),
                      .elements = static_cast<uint>(elements),
                      .positions = static_cast<uint>(node.in(0)[1]),
                      .span = span});
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t batches = node.in(0)[0], positions = node.in(0)[1];
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t t = 0; t < positions; ++t)
      for (int64_t s = 0; s < positions; ++s)
        out[0][(b * positions + t) * positions + s] = s == t || (*in[0])[b * positions + s] != 0;
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const Shape& mask : {Shape{1, 1}, Shape{3, 2}, Shape{2, 17}, Shape{5, 61}, Shape{1, 131}})
    list.push_back({.inputs = {{.type = {mask, DType::i32}, .low = -1, .high = 1}}, .attributes = {}});
  return list;
}

Cost cost(const Node& node) { return {.bytes = 4 * static_cast<double>(node.out(0).elements()), .flops = 0}; }

const Op self_visible_op = {
    .name = "self_visible", .infer = infer, .record = record, .reference = reference, .cases = cases, .cost = cost};

}  // namespace

Value self_visible(Graph& graph, Value mask) { return graph.apply(self_visible_op, {mask}); }

}  // namespace vkformer

VKFORMER_OPS(self_visible, &vkformer::self_visible_op)
