#include "shaders/join/join.h"

#include "runtime/store_layout.h"
#include "shaders/common/stream.h"

namespace vkformer {
namespace {

Types infer(const Node& node) {
  check(!node.inputs.empty(), "[join] needs at least one part");
  for (size_t i = 0; i < node.inputs.size(); ++i)
    check(node.has_input(i) && node.input_types[i].dtype == DType::f32, "[join] part {} is {}", i,
          node.has_input(i) ? "not f32" : "absent");
  return {{{join_elements(node.input_types)}, DType::f32}};
}

std::vector<int64_t> places(const Node& node) { return join_offsets(node.input_types); }

void record(Recorder& r, const Node& node) {
  const uint64_t block = r.address(node.outputs[0]);
  const std::vector<int64_t> offsets = places(node);
  for (size_t i = 0; i < offsets.size(); ++i) {
    const Region source = r.region(node.inputs[i]);
    const auto bytes = static_cast<uint64_t>(node.input_types[i].bytes());
    const Region target{block + static_cast<uint64_t>(offsets[i]), bytes};
    if (source.address != target.address) stream_copy(r, {source.address, bytes}, target);
    const uint64_t gap = static_cast<uint64_t>(align_part(node.input_types[i].bytes())) - bytes;
    if (gap > 0) r.fill({target.address + bytes, gap}, 0);
  }
}

void reference(const Node& node, Inputs inputs, Outputs outputs) {
  const std::vector<int64_t> offsets = places(node);
  for (size_t i = 0; i < offsets.size(); ++i)
    for (int64_t k = 0; k < node.in(i).elements(); ++k) outputs[0][offsets[i] / 4 + k] = (*inputs[i])[k];
}

// Every gap from 0 to 3 elements, at the end as well; a single part; scalars.
std::vector<Case> cases() {
  std::vector<Case> cases;
  const auto add = [&](std::initializer_list<Shape> shapes) {
    Case next{.inputs = {}, .attributes = {}};
    for (const Shape& shape : shapes) next.inputs.push_back({{shape}});
    cases.push_back(next);
  };
  add({{5}});
  add({{1}, {1}, {1}});
  add({{4}, {2, 3, 1}, {7}, {1}, {2, 2}});
  add({{13, 17}, {31}, {1, 1}, {8, 4}, {101, 3}});
  return cases;
}

// In the place the plan gives them, parts cost nothing to join.
Cost cost(const Node&) { return {}; }

const Op join_op = {.name = "join",
                    .infer = infer,
                    .record = record,
                    .reference = reference,
                    .cases = cases,
                    .cost = cost,
                    .places = places};

}  // namespace

std::vector<int64_t> join_offsets(const Types& parts) {
  std::vector<int64_t> offsets;
  int64_t end = 0;
  for (const TensorType& part : parts) {
    offsets.push_back(end);
    end += align_part(part.bytes());
  }
  return offsets;
}

int64_t join_elements(const Types& parts) {
  int64_t bytes = 0;
  for (const TensorType& part : parts) bytes += align_part(part.bytes());
  return bytes / 4;
}

Value join(Graph& graph, const Values& parts) { return graph.apply(join_op, parts); }

}  // namespace vkformer

VKFORMER_OPS(join, &vkformer::join_op)
