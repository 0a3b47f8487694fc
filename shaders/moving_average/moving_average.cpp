#include "shaders/moving_average/moving_average.h"

#include <cmath>

#include "shaders/common/stream.h"
#include "shaders/moving_average/moving_average.args.h"

namespace vkformer {
namespace {

Types infer(const Node& node) {
  check(node.inputs.size() == 3 && node.has_input(0) && node.has_input(1) && node.has_input(2),
        "[moving_average] takes average, x and rate");
  for (const size_t i : {0u, 1u})
    check(node.input_types[i].dtype == DType::f32, "[moving_average] {} is not f32", i == 0 ? "average" : "x");
  check(node.in(0).elements() == node.in(1).elements(), "[moving_average] average {} and x {} differ in size",
        node.in(0).to_string(), node.in(1).to_string());
  check(node.input_types[2] == TensorType{{1}, DType::f32}, "[moving_average] rate is {} {}, not f32 [1]",
        name_of(node.input_types[2].dtype), node.in(2).to_string());
  return {node.input_types[0]};
}

void record(Recorder& r, const Node& node) {
  const MovingAverageArgs args{.average = r.address(node.inputs[0]),
                               .x = r.address(node.inputs[1]),
                               .rate = r.address(node.inputs[2]),
                               .stream = stream_over(r.device(), node.out(0).elements())};
  r.dispatch(stream_launch(r, "moving_average", args.stream), args);
}

void reference(const Node& node, Inputs inputs, Outputs outputs) {
  const double rate = (*inputs[2])[0];
  for (int64_t i = 0; i < node.out(0).elements(); ++i)
    outputs[0][i] = rate < 1 ? std::lerp((*inputs[0])[i], (*inputs[1])[i], rate) : (*inputs[1])[i];
}

std::vector<Case> cases() {
  std::vector<Case> cases;
  for (const double rate : {0.001, 0.25, 1.0})
    for (const Shape& shape : {Shape{1}, Shape{3}, Shape{2, 4}, Shape{7, 149}, Shape{3, 4271}})
      cases.push_back({.inputs = {{{shape}}, {{Shape{shape.elements()}}}, {{{1}}, rate, rate}}, .attributes = {}});
  return cases;
}

Cost cost(const Node& node) {
  const auto elements = static_cast<double>(node.out(0).elements());
  return {.bytes = 12 * elements, .flops = 3 * elements};
}

const Op moving_average_op = {.name = "moving_average",
                              .infer = infer,
                              .record = record,
                              .reference = reference,
                              .cases = cases,
                              .cost = cost,
                              .candidates = stream_candidates,
                              .room = stream_room,
                              .aliases = {0}};

}  // namespace

Value moving_average(Graph& graph, Value average, Value x, Value rate) {
  return graph.apply(moving_average_op, {average, x, rate});
}

}  // namespace vkformer

VKFORMER_OPS(moving_average, &vkformer::moving_average_op)
