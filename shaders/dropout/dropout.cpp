#include "shaders/dropout/dropout.h"

#include <cmath>

#include "runtime/random.h"
#include "shaders/common/stream.h"
#include "shaders/dropout/dropout.args.h"
#include "shaders/elementwise/elementwise.h"

namespace vkformer {
namespace {

Types infer(const Node& node) {
  check(node.inputs.size() <= 3 && node.has_input(0) && node.has_input(1), "[dropout] takes x, seed and a residual");
  check(node.input_types[0].dtype != DType::i32, "[dropout] x is i32, it must have floats");
  check(node.input_types[1] == TensorType{{2}, DType::i32}, "[dropout] seed is {} {}, not i32 [2]",
        name_of(node.input_types[1].dtype), node.in(1).to_string());
  if (node.has_input(2))
    check(node.input_types[2] == node.input_types[0], "[dropout] residual is {} {}, x is {}",
          name_of(node.input_types[2].dtype), node.in(2).to_string(), node.in(0).to_string());
  const double p = node.number("p");
  check(p >= 0 && p < 1, "[dropout] p = {} is outside 0 <= p < 1", p);
  const int64_t stream = node.integer("stream");
  check(stream >= 0 && stream < int64_t{1} << 32, "[dropout] stream {} is outside 0 .. 2^32 - 1", stream);
  return {node.input_types[0]};
}

void record(Recorder& r, const Node& node) {
  const double p = node.number("p");
  const DropoutArgs args{.x = r.address(node.inputs[0]),
                         .y = r.address(node.outputs[0]),
                         .residual = node.has_input(2) ? r.address(node.inputs[2]) : 0,
                         .seed = r.address(node.inputs[1]),
                         .stream = stream_over(r.device(), node.out(0).elements()),
                         .key = static_cast<uint32_t>(node.integer("stream")),
                         // n 2^-24 >= p for an integer n is n >= ceil(p 2^24), exactly.
                         .threshold = static_cast<uint32_t>(std::ceil(p * 0x1p24)),
                         .scale = static_cast<float>(1 / (1 - p))};
  r.dispatch(stream_launch(r, "dropout", args.stream, {args.residual != 0}), args);
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  if (!upstream[0]) return {};
  Values gradients{graph.apply(*node.op, {upstream[0], node.inputs[1]}, node.attributes), {}};
  if (node.has_input(2)) gradients.push_back(upstream[0]);
  return gradients;
}

void reference(const Node& node, Inputs inputs, Outputs outputs) {
  const double p = node.number("p");
  const auto seed = static_cast<uint32_t>(static_cast<int64_t>((*inputs[1])[0]));
  const auto step = static_cast<uint32_t>(static_cast<int64_t>((*inputs[1])[1]));
  const auto stream = static_cast<uint32_t>(node.integer("stream"));
  const HostTensor* residual = inputs.size() > 2 ? inputs[2] : nullptr;
  for (int64_t i = 0; i < node.out(0).elements(); ++i) {
    const std::array<uint32_t, 4> words = philox4x32_10({static_cast<uint32_t>(i / 4), 0, step, 0}, {seed, stream});
    const double u = uniform(words[static_cast<size_t>(i % 4)]);
    outputs[0][i] = (u >= p ? (*inputs[0])[i] / (1 - p) : 0) + (residual ? (*residual)[i] : 0);
  }
}

std::vector<Case> cases() {
  const CaseInput seed{{{2}, DType::i32}, -1e9, 1e9};
  std::vector<Case> cases;
  const auto add = [&](const Shape& shape, double p, double stream, DType dtype = DType::f32) {
    for (const bool adds : {false, true})
      cases.push_back({.inputs = {{{shape, dtype}}, seed, {.type = {shape, dtype}, .absent = !adds}},
                       .attributes = {{"p", p}, {"stream", stream}}});
  };
  for (const Shape& shape : {Shape{1}, Shape{2}, Shape{7}, Shape{2, 4}, Shape{7, 149}, Shape{3, 4271}})
    add(shape, 0.1, 3);
  add({13, 17}, 0.5, 4294967295);
  add({7, 149}, 0.99, 0);
  add({13, 17}, 0, 1);
  // At 22 and 26 the two elements of the last word meet different fates.
  for (const int64_t elements : {1, 2, 7, 22, 26, 12813}) add({elements}, 0.5, 3, DType::f16);
  add({3, 4271}, 0.5, 3, DType::bf16);
  cases.pop_back();  // its residual is read as x is
  return cases;
}

Cost cost(const Node& node) {
  const auto elements = static_cast<double>(node.out(0).elements());
  const auto tensor = static_cast<double>(node.output_types[0].bytes());
  return {.bytes = (node.has_input(2) ? 3 : 2) * tensor, .flops = elements};
}

const Op dropout_op = {.name = "dropout",
                       .infer = infer,
                       .record = record,
                       .gradient = gradient,
                       .reference = reference,
                       .cases = cases,
                       .cost = cost,
                       .candidates = typed_stream_candidates,
                       .room = stream_room,
                       .half_inputs = 0b101,
                       .in_place = true,
                       .addend = 2};

}  // namespace

Value dropout(Graph& graph, Value x, double p, Value seed, int64_t stream, Value residual) {
  if (p == 0) return residual ? add(graph, x, residual) : x;
  return graph.apply(dropout_op, {x, seed, residual}, {{"p", p}, {"stream", static_cast<double>(stream)}});
}

}  // namespace vkformer

VKFORMER_OPS(dropout, &vkformer::dropout_op)
