#include "shaders/cast/cast.h"

#include "runtime/encoding/encoding.h"
#include "runtime/half.h"
#include "shaders/cast/cast.args.h"
#include "shaders/common/result_type.h"
#include "shaders/common/stream.h"

namespace vkformer {

namespace {

DType target_of(const Node& node) { return static_cast<DType>(node.integer("dtype")); }

/// Finite values beyond it become it.
float most_of(const Node& node) { return most_of(node.flag("saturated") ? target_of(node) : DType::f32); }

Types infer(const Node& node) {
  const DType from = node.input_types[0].dtype, to = target_of(node);
  check((is_half(to) && (from == DType::f32 || is_blocks(from))) || (is_half(from) && to == DType::f32),
        "[cast] from {} to {}: it goes from f32 to f16 or bf16, or back, or from blocks to one of these", name_of(from),
        name_of(to));
  return {{node.in(0), to}};
}

constexpr std::string_view blocks_kernel = "blocks";

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  if (is_blocks(node.input_types[0].dtype)) return {blocks_kernel};
  std::vector<std::string_view> names;
  const bool f16 = target_of(node) == DType::f16 || node.input_types[0].dtype == DType::f16;
  for (std::string_view access : stream_candidates(node, facts)) {
    if (access == "quads") names.push_back(f16 ? "f16_quads" : "bf16_quads");
    if (access == "words") names.push_back(f16 ? "f16_words" : "bf16_words");
  }
  return names;
}

/// For GPUs: what is decoded once for a whole product.
KernelRoom room(std::string_view candidate) {
  return candidate == blocks_kernel ? KernelRoom::gpu : stream_room(candidate);
}

void record_blocks(Recorder& r, const Node& node) {
  const Shape& shape = node.in(0);
  check(shape.elements() < int64_t{1} << 32, "[cast] {} has 2^32 elements or more", shape.to_string());
  r.dispatch({.kernel = "cast_blocks",
              .variant = name_of(node.input_types[0].dtype),
              .constants = {target_of(node) == DType::bf16},
              .groups = spread_groups(r.device(), groups_for(shape.elements() / 4, 64))},
             CastBlocksArgs{.blocks = r.address(node.inputs[0]),
                            .y = r.address(node.outputs[0]),
                            .rows = static_cast<uint>(shape.rows()),
                            .columns = static_cast<uint>(shape.columns())});
}

void record(Recorder& r, const Node& node) {
  if (r.candidate() == blocks_kernel) return record_blocks(r, node);
  const bool to_half = is_half(target_of(node));
  const uint64_t x = r.address(node.inputs[0]), y = r.address(node.outputs[0]);
  const CastArgs args{.wide = to_half ? x : y,
                      .narrow = to_half ? y : x,
                      .stream = stream_over(r.device(), node.out(0).elements()),
                      .most = most_of(node)};
  r.dispatch(stream_launch(r, "cast", args.stream, {to_half}), args);
}

// The rounding counts as the identity (the straight-through estimator). What was f32 gets an f32 gradient.
Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  if (is_blocks(node.input_types[0].dtype)) return {Value{}};
  const bool from_float = node.input_types[0].dtype == DType::f32;
  return {upstream[0] && from_float ? cast(graph, upstream[0], DType::f32) : upstream[0]};
}

void reference(const Node& node, Inputs inputs, Outputs outputs) {
  const auto most = static_cast<double>(most_of(node));
  for (int64_t i = 0; i < node.out(0).elements(); ++i)
    outputs[0][i] = round_to(target_of(node), saturated((*inputs[0])[i], most));
}

Attributes attributes_of(DType dtype, bool saturated = false) {
  return {{"dtype", static_cast<double>(dtype)}, {"saturated", saturated}};
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const Shape& shape : {Shape{1}, Shape{2}, Shape{3}, Shape{2, 4}, Shape{7, 149}, Shape{4099}, Shape{3, 4271}})
    for (DType half : {DType::f16, DType::bf16}) {
      // Finite differences of a rounding say nothing: x is data. Its range reaches the f16s below 2^-14.
      list.push_back({.inputs = {{.type = {shape}, .low = -1e-3, .high = 2, .constant = true}},
                      .attributes = attributes_of(half)});
      list.push_back(
          {.inputs = {{.type = {shape, half}, .low = -2, .high = 2}}, .attributes = attributes_of(DType::f32)});
    }
  // Nine in ten f16s are the largest ones.
  list.push_back({.inputs = {{.type = {{7, 149}}, .low = -655040, .high = 655040, .constant = true}},
                  .attributes = attributes_of(DType::f16, true)});
  for (DType blocks : block_types)
    for (DType half : {DType::f16, DType::bf16})
      if (half == DType::f16 || blocks == DType::q8_0)
        list.push_back({.inputs = {{.type = {{3, 512}, blocks}}}, .attributes = attributes_of(half)});
  return list;
}

Cost cost(const Node& node) {
  return {.bytes = static_cast<double>(node.input_types[0].bytes() + node.output_types[0].bytes()), .flops = 0};
}

const Op cast_op = {.name = "cast",
                    .infer = infer,
                    .record = record,
                    .gradient = gradient,
                    .reference = reference,
                    .cases = cases,
                    .cost = cost,
                    .candidates = candidates,
                    .room = room,
                    .half_inputs = 0b1,
                    .block_inputs = 0b1};

}  // namespace

bool is_cast(const Node& node) { return node.op == &cast_op; }

Value cast(Graph& graph, Value x, DType dtype, bool saturated) {
  if (graph.info(x).type.dtype == dtype) return x;
  return graph.add(cast_op, {x}, attributes_of(dtype, saturated))[0];
}

}  // namespace vkformer

VKFORMER_OPS(cast, &vkformer::cast_op)
