#include "shaders/same_text/same_text.h"

#include "shaders/common/stream.h"
#include "shaders/same_text/same_text.args.h"

namespace vkformer {

namespace {

Types infer(const Node& node) {
  const Shape& texts = node.in(0);
  check(node.input_types[0].dtype == DType::i32 && texts.rank() == 2, "[same_text] texts is {} {}, needs i32 [B, T]",
        name_of(node.input_types[0].dtype), texts.to_string());
  const Shape visible{texts[0], texts[1], texts[1]};
  check(visible.elements() < int64_t{1} << 31, "[same_text] {} has 2^31 elements or more", visible.to_string());
  return {{visible, DType::i32}};
}

void record(Recorder& recorder, const Node& node) {
  const DeviceFacts& facts = recorder.device();
  const int64_t elements = node.out(0).elements();
  const uint32_t lanes = stream_workgroup(facts), span = facts.is_cpu() ? 1024 : lanes;
  recorder.dispatch(
      {.kernel = "same_text", .constants = {lanes}, .groups = spread_groups(facts, groups_for(elements, span))},
      SameTextArgs{.texts = recorder.address(node.inputs[0]),
                      .visible = recorder.address(node.outputs[0]),
                      .elements = static_cast<uint>(elements),
                      .positions = static_cast<uint>(node.in(0)[1]),
                      .span = span});
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t batches = node.in(0)[0], positions = node.in(0)[1];
  const auto text = [&](int64_t b, int64_t t) { return (*in[0])[b * positions + t]; };
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t t = 0; t < positions; ++t)
      for (int64_t s = 0; s < positions; ++s)
        out[0][(b * positions + t) * positions + s] = text(b, t) != 0 && text(b, s) == text(b, t);
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const Shape& texts : {Shape{1, 1}, Shape{3, 2}, Shape{2, 17}, Shape{5, 61}, Shape{1, 131}})
    list.push_back({.inputs = {{.type = {texts, DType::i32}, .low = 0, .high = 3}}, .attributes = {}});
  return list;
}

Cost cost(const Node& node) { return {.bytes = 4 * static_cast<double>(node.out(0).elements()), .flops = 0}; }

const Op same_text_op = {
    .name = "same_text", .infer = infer, .record = record, .reference = reference, .cases = cases, .cost = cost};

}  // namespace

Value same_text(Graph& graph, Value texts) { return graph.apply(same_text_op, {texts}); }

}  // namespace vkformer

VKFORMER_OPS(same_text, &vkformer::same_text_op)
