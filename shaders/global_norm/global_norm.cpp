#include "shaders/global_norm/global_norm.h"

#include <cmath>

#include "shaders/common/stream.h"
#include "shaders/global_norm/global_norm.args.h"

namespace vkformer {
namespace {

Types infer(const Node& node) {
  check(!node.inputs.empty(), "[global_norm] needs at least one block");
  for (size_t i = 0; i < node.inputs.size(); ++i)
    check(node.has_input(i) && node.input_types[i].dtype == DType::f32, "[global_norm] block {} is {}", i,
          node.has_input(i) ? "not f32" : "absent");
  return {{{1}, DType::f32}};
}

// On GPUs a workgroup walks further than in other stream kernels: one workgroup must then add up all partial sums.
Stream stream_of_block(const DeviceFacts& facts, int64_t elements) {
  Stream stream = stream_over(facts, elements);
  if (!facts.is_cpu()) stream.span *= 8;
  return stream;
}

int64_t partial_sums(const Node& node, const DeviceFacts& facts) {
  int64_t count = 0;
  for (const TensorType& type : node.input_types) count += stream_groups(stream_of_block(facts, type.elements()));
  return count;
}

int64_t scratch(const Node& node, const DeviceFacts& facts, std::string_view) { return 4 * partial_sums(node, facts); }

void record(Recorder& r, const Node& node) {
  uint64_t offset = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Stream stream = stream_of_block(r.device(), node.in(i).elements());
    const uint32_t groups = stream_groups(stream);
    const Region partial = r.scratch_region(offset, uint64_t{4} * groups);
    Launch launch = stream_launch(r, "global_norm", stream, {false});
    launch.reads = {r.region(node.inputs[i])};
    launch.writes = {partial};
    r.dispatch(launch, GlobalNormArgs{r.address(node.inputs[i]), partial.address, stream, groups});
    offset += partial.bytes;
  }
  Stream all = stream_over(r.device(), static_cast<int64_t>(offset / 4));
  all.span = std::max(all.elements / 4, 1u);
  Launch launch = stream_launch(r, "global_norm", all, {true});
  launch.reads = {r.scratch_region(0, offset)};
  launch.writes = {r.region(node.outputs[0])};
  launch.cost = {.bytes = static_cast<double>(offset), .flops = static_cast<double>(offset) / 4};
  r.dispatch(launch, GlobalNormArgs{r.scratch(), r.address(node.outputs[0]), all, 1});
}

void reference(const Node& node, Inputs inputs, Outputs outputs) {
  double sum = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    for (const double x : inputs[i]->data) sum += x * x;
  outputs[0][0] = std::sqrt(sum);
}

std::vector<Case> cases() {
  std::vector<Case> cases;
  const auto add = [&](std::initializer_list<Shape> shapes) {
    Case next{.inputs = {}, .attributes = {}, .reduction = 0};
    for (const Shape& shape : shapes) {
      next.inputs.push_back({{shape}});
      next.reduction += shape.elements();
    }
    cases.push_back(next);
  };
  add({{1}});
  add({{3}, {1}, {5}});
  add({{2, 4}, {7, 149}});
  add({{3, 4271}, {4096}, {1}});
  add({{50021}});
  return cases;
}

Cost cost(const Node& node) {
  double elements = 0;
  for (const TensorType& type : node.input_types) elements += static_cast<double>(type.elements());
  return {.bytes = 4 * elements, .flops = 2 * elements};
}

const Op global_norm_op = {.name = "global_norm",
                           .infer = infer,
                           .record = record,
                           .reference = reference,
                           .cases = cases,
                           .cost = cost,
                           .candidates = stream_candidates,
                           .room = stream_room,
                           .scratch = scratch};

}  // namespace

Value global_norm(Graph& graph, const Values& blocks) { return graph.apply(global_norm_op, blocks); }

}  // namespace vkformer

VKFORMER_OPS(global_norm, &vkformer::global_norm_op)
