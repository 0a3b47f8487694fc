#include "shaders/accumulate/accumulate.h"

#include "shaders/accumulate/accumulate.args.h"
#include "shaders/common/stream.h"

namespace vkformer {
namespace {

Types infer(const Node& node) {
  check(node.inputs.size() == 3 && node.has_input(0) && node.has_input(1) && node.has_input(2),
        "[accumulate] takes sum, x and first");
  for (const size_t i : {0u, 1u})
    check(node.input_types[i].dtype == DType::f32, "[accumulate] {} is not f32", i == 0 ? "sum" : "x");
  check(node.in(0).elements() == node.in(1).elements(), "[accumulate] sum {} and x {} differ in size",
        node.in(0).to_string(), node.in(1).to_string());
  check(node.input_types[2] == TensorType{{1}, DType::i32}, "[accumulate] first is {} {}, not i32 [1]",
        name_of(node.input_types[2].dtype), node.in(2).to_string());
  return {node.input_types[0]};
}

void record(Recorder& r, const Node& node) {
  const AccumulateArgs args{.sum = r.address(node.inputs[0]),
                            .x = r.address(node.inputs[1]),
                            .first = r.address(node.inputs[2]),
                            .stream = stream_over(r.device(), node.out(0).elements())};
  r.dispatch(stream_launch(r, "accumulate", args.stream), args);
}

void reference(const Node& node, Inputs inputs, Outputs outputs) {
  const bool first = (*inputs[2])[0] != 0;
  for (int64_t i = 0; i < node.out(0).elements(); ++i)
    outputs[0][i] = first ? (*inputs[1])[i] : (*inputs[0])[i] + (*inputs[1])[i];
}

std::vector<Case> cases() {
  std::vector<Case> cases;
  for (const double first : {0, 1})
    for (const Shape& shape : {Shape{1}, Shape{3}, Shape{2, 4}, Shape{7, 149}, Shape{3, 4271}})
      cases.push_back(
          {.inputs = {{{shape}}, {{Shape{shape.elements()}}}, {{{1}, DType::i32}, first, first}}, .attributes = {}});
  return cases;
}

Cost cost(const Node& node) {
  const auto elements = static_cast<double>(node.out(0).elements());
  return {.bytes = 12 * elements, .flops = elements};
}

const Op accumulate_op = {.name = "accumulate",
                          .infer = infer,
                          .record = record,
                          .reference = reference,
                          .cases = cases,
                          .cost = cost,
                          .candidates = stream_candidates,
                          .room = stream_room,
                          .aliases = {0}};

}  // namespace

Value accumulate(Graph& graph, Value sum, Value x, Value first) { return graph.apply(accumulate_op, {sum, x, first}); }

}  // namespace vkformer

VKFORMER_OPS(accumulate, &vkformer::accumulate_op)
