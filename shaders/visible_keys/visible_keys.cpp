#include "shaders/visible_keys/visible_keys.h"

#include "shaders/common/stream.h"
#include "shaders/visible_keys/visible_keys.args.h"

namespace vkformer {

namespace {

MaskRule rule_of(const Node& node) { return static_cast<MaskRule>(node.integer("rule")); }

Types infer(const Node& node) {
  const Shape& numbers = node.in(0);
  check(node.input_types[0].dtype == DType::i32 && numbers.rank() == 2,
        "[visible_keys] numbers is {} {}, needs i32 [B, T]", name_of(node.input_types[0].dtype), numbers.to_string());
  const Shape visible{numbers[0], numbers[1], numbers[1]};
  check(visible.elements() < int64_t{1} << 31, "[visible_keys] {} has 2^31 elements or more", visible.to_string());
  return {{visible, DType::i32}};
}

void record(Recorder& recorder, const Node& node) {
  const DeviceFacts& facts = recorder.device();
  const int64_t elements = node.out(0).elements();
  const uint32_t lanes = stream_workgroup(facts), span = facts.is_cpu() ? 1024 : lanes;
  recorder.dispatch(
      {.kernel = "visible_keys", .constants = {lanes}, .groups = spread_groups(facts, groups_for(elements, span))},
      VisibleKeysArgs{.numbers = recorder.address(node.inputs[0]),
                      .visible = recorder.address(node.outputs[0]),
                      .elements = static_cast<uint>(elements),
                      .positions = static_cast<uint>(node.in(0)[1]),
                      .span = span,
                      .rule = static_cast<uint>(rule_of(node))});
}

bool sees(MaskRule rule, double query, double key, bool self) {
  switch (rule) {
    case MaskRule::same: return key != 0 && key == query;
    case MaskRule::present_or_self: return key != 0 || self;
    case MaskRule::earlier: return key < 0 || key < query;
    case MaskRule::earlier_or_self: return key < 0 || key < query || self;
  }
  return false;
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t batches = node.in(0)[0], positions = node.in(0)[1];
  const auto number = [&](int64_t b, int64_t t) { return (*in[0])[b * positions + t]; };
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t t = 0; t < positions; ++t)
      for (int64_t s = 0; s < positions; ++s)
        out[0][(b * positions + t) * positions + s] = sees(rule_of(node), number(b, t), number(b, s), s == t);
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const MaskRule rule : {MaskRule::same, MaskRule::present_or_self, MaskRule::earlier, MaskRule::earlier_or_self})
    for (const Shape& numbers : {Shape{1, 1}, Shape{3, 2}, Shape{2, 17}, Shape{5, 61}, Shape{1, 131}})
      list.push_back({.inputs = {{.type = {numbers, DType::i32}, .low = -1, .high = 3}},
                      .attributes = {{"rule", static_cast<double>(rule)}}});
  return list;
}

Cost cost(const Node& node) { return {.bytes = 4 * static_cast<double>(node.out(0).elements()), .flops = 0}; }

const Op visible_keys_op = {
    .name = "visible_keys", .infer = infer, .record = record, .reference = reference, .cases = cases, .cost = cost};

}  // namespace

Value visible_keys(Graph& graph, Value numbers, MaskRule rule) {
  return graph.apply(visible_keys_op, {numbers}, {{"rule", static_cast<double>(rule)}});
}

}  // namespace vkformer

VKFORMER_OPS(visible_keys, &vkformer::visible_keys_op)
