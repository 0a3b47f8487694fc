#include "shaders/roof/roof.h"

#include "shaders/common/stream.h"
#include "shaders/matmul/gpu/matrix_layout.h"
#include "shaders/roof/roof.args.h"

namespace vkformer {
namespace {

// --- roof_copy ---

Types infer_copy(const Node& node) {
  check(node.inputs.size() == 2 && node.has_input(0) && node.has_input(1), "[roof_copy] takes target and x");
  check(node.input_types[0] == node.input_types[1] && node.input_types[0].dtype == DType::f32,
        "[roof_copy] target {} and x {} are not f32 of one shape", node.in(0).to_string(), node.in(1).to_string());
  return {node.input_types[0]};
}

std::vector<std::string_view> copy_candidates(const Node& node, const DeviceFacts& facts) {
  auto names = stream_candidates(node, facts);
  names.push_back("transfer");
  return names;
}

void record_copy(Recorder& r, const Node& node) {
  if (node.out(0).elements() == 0) return;
  if (r.candidate() == "transfer") return r.copy(r.region(node.inputs[1]), r.region(node.inputs[0]));
  const StreamCopyArgs args{.x = r.address(node.inputs[1]),
                            .y = r.address(node.inputs[0]),
                            .stream = stream_over(r.device(), node.out(0).elements())};
  r.dispatch(stream_launch(r, "stream_copy", args.stream), args);
}

void reference_copy(const Node&, Inputs inputs, Outputs outputs) { outputs[0].data = inputs[1]->data; }

std::vector<Case> cases_copy() {
  std::vector<Case> cases;
  for (const Shape& shape : {Shape{1}, Shape{3}, Shape{7, 149}, Shape{3, 4271}})
    cases.push_back({.inputs = {{{shape}}, {{shape}}}, .attributes = {}});
  return cases;
}

Cost cost_copy(const Node& node) { return {.bytes = 8 * static_cast<double>(node.out(0).elements()), .flops = 0}; }

const Op roof_copy_op = {.name = "roof_copy",
                         .infer = infer_copy,
                         .record = record_copy,
                         .reference = reference_copy,
                         .cases = cases_copy,
                         .cost = cost_copy,
                         .candidates = copy_candidates,
                         .room = stream_room,
                         .aliases = {0}};

// --- roof_multiply_add ---

Types infer_multiply_add(const Node& node) {
  check(node.inputs.size() == 1 && node.has_input(0), "[roof_multiply_add] takes x");
  check(node.input_types[0].dtype == DType::f32 && node.in(0).rank() == 2 && node.in(0)[1] == 16,
        "[roof_multiply_add] x is {} {}, not f32 [M, 16]", name_of(node.input_types[0].dtype), node.in(0).to_string());
  const int64_t steps = node.integer("steps");
  check(steps >= 0 && steps % 8 == 0, "[roof_multiply_add] steps is {}, not a multiple of 8", steps);
  return {node.input_types[0]};
}

void record_multiply_add(Recorder& r, const Node& node) {
  if (node.in(0)[0] == 0) return;
  const RoofMultiplyAddArgs args{.x = r.address(node.inputs[0]),
                                 .y = r.address(node.outputs[0]),
                                 .rows = static_cast<uint>(node.in(0)[0]),
                                 .rounds = static_cast<uint>(node.integer("steps") / 8),
                                 .factor = roof_factor,
                                 .term = roof_term};
  const uint32_t workgroup = stream_workgroup(r.device());
  r.dispatch({.kernel = "roof_multiply_add",
              .constants = {workgroup},
              .groups = spread_groups(r.device(), groups_for(args.rows, workgroup))},
             args);
}

void reference_multiply_add(const Node& node, Inputs inputs, Outputs outputs) {
  for (int64_t i = 0; i < node.out(0).elements(); ++i) {
    double value = (*inputs[0])[i];
    for (int64_t step = 0; step < node.integer("steps"); ++step)
      value = value * static_cast<double>(roof_factor) + static_cast<double>(roof_term);
    outputs[0][i] = value;
  }
}

std::vector<Case> cases_multiply_add() {
  std::vector<Case> cases;
  for (const int64_t rows : {1, 7, 257})
    for (const double steps : {0, 8, 24})
      cases.push_back({.inputs = {{{{rows, 16}}}}, .attributes = {{"steps", steps}}, .reduction = 8});
  return cases;
}

Cost cost_multiply_add(const Node& node) {
  const auto elements = static_cast<double>(node.out(0).elements());
  return {.bytes = 8 * elements, .flops = 2 * node.number("steps") * elements};
}

const Op roof_multiply_add_op = {.name = "roof_multiply_add",
                                 .infer = infer_multiply_add,
                                 .record = record_multiply_add,
                                 .reference = reference_multiply_add,
                                 .cases = cases_multiply_add,
                                 .cost = cost_multiply_add};

// --- roof_matrix ---

DType type_of(const Node& node) { return node.input_types[0].dtype; }

Types infer_matrix(const Node& node) {
  check(node.inputs.size() == 1 && node.has_input(0) && node.in(0).rank() == 1, "[roof_matrix] takes x [M]");
  check(is_half(type_of(node)), "[roof_matrix] x is {}, it must be f16 or bf16", name_of(type_of(node)));
  const int64_t steps = node.integer("steps");
  check(steps >= 0 && steps % 64 == 0, "[roof_matrix] steps is {}, not a multiple of 64", steps);
  return {{node.in(0)}};
}

std::vector<std::string_view> matrix_candidates(const Node& node, const DeviceFacts& facts) {
  const DType type = type_of(node);
  if (!matrix_layout(matrix64, facts, type) || !facts.has_matrix_cores(type)) return {};
  return {"matrix"};
}

void record_matrix(Recorder& r, const Node& node) {
  const MatrixLayout layout = *matrix_layout(matrix64, r.device(), type_of(node));
  const RoofMatrixArgs args{.x = r.address(node.inputs[0]),
                            .y = r.address(node.outputs[0]),
                            .elements = static_cast<uint>(node.in(0).elements()),
                            .steps = static_cast<uint>(node.integer("steps")),
                            .factor = roof_factor};
  constexpr uint32_t subgroups = 4;
  r.dispatch({.kernel = "roof_matrix",
              .variant = name_of(type_of(node)),
              .constants = {subgroups * layout.subgroup_size, layout.subgroup_size, layout.shape.m, layout.shape.n,
                            layout.shape.k},
              .groups = spread_groups(r.device(), groups_for(args.elements, subgroups)),
              .subgroup_size = layout.subgroup_size},
             args);
}

void reference_matrix(const Node& node, Inputs inputs, Outputs outputs) {
  for (int64_t i = 0; i < node.out(0).elements(); ++i)
    outputs[0][i] = 28 + 8 * node.number("steps") * (*inputs[0])[i] * static_cast<double>(roof_factor);
}

std::vector<Case> cases_matrix() {
  std::vector<Case> cases;
  for (const DType type : {DType::f16, DType::bf16})
    cases.push_back({.inputs = {{{{37}, type}}}, .attributes = {{"steps", 128}}, .reduction = 1024});
  return cases;
}

const Op roof_matrix_op = {.name = "roof_matrix",
                           .infer = infer_matrix,
                           .record = record_matrix,
                           .reference = reference_matrix,
                           .cases = cases_matrix,
                           .candidates = matrix_candidates,
                           .room = [](std::string_view) { return KernelRoom::gpu; },
                           .half_inputs = 0b1};

}  // namespace

Value roof_matrix(Graph& graph, Value x, int64_t steps) {
  return graph.apply(roof_matrix_op, {x}, {{"steps", static_cast<double>(steps)}});
}

double roof_matrix_flops(const Node& node, const DeviceFacts& facts) {
  const MatrixShape shape = matrix_layout(matrix64, facts, type_of(node))->shape;
  return 2.0 * ROOF_CHAINS * shape.m * shape.n * node.number("steps") * static_cast<double>(node.in(0).elements());
}

Value roof_copy(Graph& graph, Value target, Value x) { return graph.apply(roof_copy_op, {target, x}); }

Value roof_multiply_add(Graph& graph, Value x, int64_t steps) {
  return graph.apply(roof_multiply_add_op, {x}, {{"steps", static_cast<double>(steps)}});
}

}  // namespace vkformer

VKFORMER_OPS(roof, &vkformer::roof_copy_op, &vkformer::roof_multiply_add_op, &vkformer::roof_matrix_op)
