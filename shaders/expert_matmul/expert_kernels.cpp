// The kernels of expert_matmul and its gradient, and the list of pairs by expert that all but "vector" go by.

#include <algorithm>
#include <array>
#include <bit>

#include "shaders/common/block_variants.h"
#include "shaders/expert_matmul/expert_matmul.args.h"
#include "shaders/expert_matmul/expert_problem.h"
#include "shaders/matmul/gpu/matrix_layout.h"
#include "shaders/matmul/gpu/straight_code.h"
#include "shaders/matmul/gpu/vector.h"
#include "shaders/matmul/software/shared_loads.h"

namespace vkformer {

namespace {

constexpr int64_t int_bytes = size_of(DType::i32);

/// Workgroups that cover the node with blocks of rows x columns outputs: see expert_rows.glsl.
int64_t block_count(const ExpertProblem& p, int64_t rows, int64_t columns) {
  const int64_t across = groups_for(p.n, columns);
  return across * (p.backward ? p.experts * groups_for(p.m, rows) : p.pairs / rows + p.experts);
}

std::string_view variant_of(const ExpertProblem& p) {
  if (is_blocks(p.b_type)) return variant_of_blocks(p.b_type);
  return p.b_type == DType::f16 ? "f32_f16" : p.b_type == DType::bf16 ? "f32_bf16" : "f32";
}

// --- "vector": few pairs, each reads its expert's weight ---

constexpr int64_t few_pairs = 32;

/// Each pair as a product of one row.
MatmulProblem products_of(const ExpertProblem& p) {
  return {.batch = p.pairs, .m = 1, .n = p.n, .k = p.k, .transpose_b = p.transpose_b, .b_type = p.b_type};
}

bool vector_is_legal(const ExpertProblem& p, const DeviceFacts& facts) {
  return !p.backward && p.pairs <= few_pairs && vector_legal(products_of(p), facts);
}

/// Of what is not read where there is none.
uint64_t bias_address(const Recorder& recorder, const Node& node, const ExpertProblem& p) {
  return recorder.address(node.inputs[p.has_bias ? expert_bias : 0]);
}

void record_by_pair(Recorder& recorder, const Node& node, const ExpertProblem& p) {
  const MatmulProblem products = products_of(p);
  const uint64_t a = recorder.address(node.inputs[0]), b = recorder.address(node.inputs[1]);
  const MatmulWork work{.p = products,
                        .args = {.a = a,
                                 .b = b,
                                 .y = recorder.address(node.outputs[0]),
                                 .bias = bias_address(recorder, node, p),
                                 .m = 1,
                                 .n = static_cast<uint>(p.n),
                                 .k = static_cast<uint>(p.k),
                                 .batch = static_cast<uint>(p.pairs),
                                 .scale = 1,
                                 .flags = p.has_bias ? MATMUL_BIAS : 0u},
                        .activation = static_cast<uint32_t>(Activation::none)};
  record_vector(
      recorder, work,
      {.chosen = recorder.address(node.inputs[2]), .slots = p.a_by_token ? static_cast<uint32_t>(p.slots) : 1});
}

// --- tiles ---

struct ExpertTile {
  uint32_t side, quads;  ///< of outputs along each side of a workgroup's tile; of quads along an invocation's share
  uint32_t invocations() const { return side / 4 / quads * (side / 4 / quads); }
  uint32_t shared_bytes() const { return 2 * slice * (side / 4 + 1) * 16 + side * 4; }
  static constexpr uint32_t slice = 16;
};
constexpr ExpertTile tile128{128, 2}, tile64{64, 1}, tile32{32, 1};

/// Rows that an expert has on average; of the gradient, rows of its weight.
int64_t usual_rows(const ExpertProblem& p) { return p.backward ? p.m : p.pairs / p.experts; }

/// Whether rows of both operands are whole quads.
bool whole_quads(const ExpertProblem& p) {
  return (p.backward ? p.m : p.k) % 4 == 0 && (p.transpose_b ? p.k : p.n) % 4 == 0;
}

/// Mostly padding is no use; the smallest must do for everything. Shares larger than 4 x 4 spill where lanes share a
/// thread's registers, and on Apple's GPU where loads are not quads.
template <const ExpertTile& tile>
bool tile_fits(const ExpertProblem& p, const DeviceFacts& facts) {
  const bool filled = usual_rows(p) > tile.side / 4 && p.n > tile.side / 4;
  const bool roomy = tile.quads == 1 || (!facts.lanes_share_registers() && whole_quads(p));
  return (filled || &tile == &tile32) && roomy && tile.invocations() <= facts.max_workgroup_size &&
         tile.shared_bytes() <= facts.shared_memory;
}

/// Whole tiles, two workgroups for each core.
template <const ExpertTile& tile>
bool tile_pays(const ExpertProblem& p, const DeviceFacts& facts) {
  const int64_t cores = facts.usual_cores();
  return !facts.is_cpu() && usual_rows(p) >= tile.side && p.n >= tile.side &&
         block_count(p, tile.side, tile.side) >= 2 * cores;
}

/// Whether an operand's rows, which lie at multiples of their length, start at multiples of so many values.
bool aligned(uint64_t address, int64_t columns, DType type, int64_t values) {
  const auto bytes = static_cast<uint64_t>(values * size_of(type));
  return is_blocks(type) || (address % bytes == 0 && columns % values == 0);
}
bool a_aligned(const ExpertProblem& p, const ExpertMatmulArgs& args, int64_t values) {
  return aligned(args.a, p.backward ? p.m : p.k, DType::f32, values);
}
bool b_aligned(const ExpertProblem& p, const ExpertMatmulArgs& args, int64_t values) {
  return aligned(args.b, p.transpose_b ? p.k : p.n, p.b_type, values);
}

template <const ExpertTile& tile>
Launch tile_launch(const DeviceFacts& facts, const ExpertProblem& p, const ExpertMatmulArgs& args) {
  return {.kernel = "expert_tile",
          .variant = variant_of(p),
          .constants = {0, tile.invocations(), tile.side, tile.quads, tile.quads, tile.slice,
                        straight_steps(facts, tile.slice), p.backward, p.transpose_b, a_aligned(p, args, 4),
                        b_aligned(p, args, 4)},
          .groups = spread_groups(facts, static_cast<uint64_t>(block_count(p, tile.side, tile.side)))};
}

// --- matrix cores ---

/// Blocks of few rows, where an expert has few.
constexpr MatrixTile matrix32{"matrix32", 32, 64, 32, 32, 32, 2};

/// They take x of 16 bits, which is rounded for them alone, so that is where they pay. Rows are read 16 bytes at a
/// time.
template <const MatrixTile& tile>
bool matrix_fits(const ExpertProblem& p, const DeviceFacts& facts) {
  return is_half(p.a_type) && p.transpose_b && p.k % 8 == 0 && p.pairs > few_pairs && !facts.lanes_share_registers() &&
         matrix_layout(tile, facts, p.a_type) && facts.has_matrix_experts(p.a_type);
}

/// A block's time is all but the same whatever it has of rows.
bool few_rows(const ExpertProblem& p, const DeviceFacts&) { return usual_rows(p) <= 24; }

template <const MatrixTile& tile>
Launch matrix_launch(const DeviceFacts& facts, const ExpertProblem& p, const ExpertMatmulArgs&) {
  const MatrixLayout layout = *matrix_layout(tile, facts, p.a_type);
  return {.kernel = "expert_matrix",
          .variant = name_of(is_blocks(p.b_type) ? p.b_type : p.a_type),
          .constants = {0, layout.invocations(), layout.subgroup_size, tile.rows, tile.columns, layout.down,
                        layout.across, layout.shape.m, layout.shape.n, layout.shape.k, layout.slice, layout.stages},
          .groups = spread_groups(facts, static_cast<uint64_t>(block_count(p, tile.rows, tile.columns))),
          .subgroup_size = layout.subgroup_size};
}

// --- "lanes": tiles in the registers of a subgroup ---

struct LaneTile {
  uint32_t rows, columns;
};

/// As high as an expert's rows, in few sizes; of many rows as many sums as there are registers, see matmul's
/// lane_tile().
LaneTile lane_tile(const ExpertProblem& p, const DeviceFacts& facts) {
  const int64_t rows = usual_rows(p);
  if (rows < 8) return {rows < 2 ? 1u : 4u, 64};
  return facts.cpu_registers < 32 ? LaneTile{16, 32} : LaneTile{32, 64};
}

std::string_view long_word_variant_of(const ExpertProblem& p) {
  return p.b_type == DType::f16 ? "f32_f16_int64" : p.b_type == DType::bf16 ? "f32_bf16_int64" : "f32_int64";
}

bool lanes_are_legal(const ExpertProblem&, const DeviceFacts& facts) { return lanes_legal(facts); }
bool on_cpus_with_long_words(const ExpertProblem&, const DeviceFacts& facts) { return facts.is_cpu() && facts.int64; }

Launch lanes_launch(const DeviceFacts& facts, const ExpertProblem& p, const ExpertMatmulArgs& args) {
  const LaneTile tile = lane_tile(p, facts);
  return {.kernel = "expert_lanes",
          .variant = facts.int64 ? long_word_variant_of(p) : variant_of(p),
          .constants = {facts.subgroup_size, tile.rows, tile.columns / facts.subgroup_size, p.backward, p.transpose_b,
                        a_aligned(p, args, 2), b_aligned(p, args, 8 / size_of(p.b_type))},
          .groups = spread_groups(facts, static_cast<uint64_t>(block_count(p, tile.rows, tile.columns))),
          .subgroup_size = required_subgroup(facts)};
}

// --- straight from memory ---

Launch direct_launch(const DeviceFacts& facts, const ExpertProblem& p, const ExpertMatmulArgs&) {
  return {.kernel = "expert_direct",
          .variant = variant_of(p),
          .constants = {p.backward, p.transpose_b},
          .groups = spread_groups(facts, static_cast<uint64_t>(block_count(p, 16, 64)))};
}

// --- the table ---

bool always(const ExpertProblem&, const DeviceFacts&) { return true; }
bool on_gpus(const ExpertProblem&, const DeviceFacts& facts) { return !facts.is_cpu(); }
/// Kernels for CPUs do not read blocks.
bool on_gpus_or_blocks(const ExpertProblem& p, const DeviceFacts& facts) {
  return on_gpus(p, facts) || is_blocks(p.b_type);
}

/// Rows go from special to general. Those that do not go first come behind, from the last row up.
struct ExpertKernel {
  std::string_view name;
  KernelRoom room;
  bool (*legal)(const ExpertProblem&, const DeviceFacts&);
  bool (*first)(const ExpertProblem&, const DeviceFacts&);
  bool halves;  ///< whether it reads a of 16 bits, and no other
  bool blocks;  ///< whether it can read b as encoded blocks
  /// nullptr: "vector", which needs no list.
  Launch (*launch)(const DeviceFacts&, const ExpertProblem&, const ExpertMatmulArgs&);
};

constexpr ExpertKernel kernels[] = {
    {"vector", KernelRoom::gpu, vector_is_legal, on_gpus_or_blocks, false, true, nullptr},
    {"matrix32", KernelRoom::gpu, matrix_fits<matrix32>, few_rows, true, true, matrix_launch<matrix32>},
    {"matrix64", KernelRoom::gpu, matrix_fits<matrix64>, always, true, true, matrix_launch<matrix64>},
    {"tile128", KernelRoom::gpu, tile_fits<tile128>, tile_pays<tile128>, false, true, tile_launch<tile128>},
    {"tile64", KernelRoom::gpu, tile_fits<tile64>, tile_pays<tile64>, false, true, tile_launch<tile64>},
    {"tile32", KernelRoom::gpu, tile_fits<tile32>, on_gpus_or_blocks, false, true, tile_launch<tile32>},
    {"lanes", KernelRoom::cpu, lanes_are_legal, on_cpus_with_long_words, false, false, lanes_launch},
    // Without int64 it is SwiftShader, which unrolls nothing.
    {"direct", KernelRoom::any, always, always, false, false, direct_launch},
};

const ExpertKernel& kernel_named(std::string_view candidate) {
  for (const ExpertKernel& kernel : kernels)
    if (kernel.name == candidate) return kernel;
  fail("[expert_matmul] there is no kernel '{}'", candidate);
}

/// Where the list lies in the node's workspace: see ExpertOrderArgs.
struct OrderPlaces {
  int64_t tokens, offsets, end;
  explicit OrderPlaces(const ExpertProblem& p)
      : tokens(p.pairs * int_bytes), offsets(2 * tokens), end(offsets + (p.experts + 1) * int_bytes) {}
};

ExpertOrderArgs record_order(Recorder& recorder, const Node& node, const ExpertProblem& p) {
  const DeviceFacts& facts = recorder.device();
  const OrderPlaces places(p);
  const ExpertOrderArgs args{.chosen = recorder.address(node.inputs[2]),
                             .order = recorder.scratch(),
                             .tokens = recorder.scratch() + static_cast<uint64_t>(places.tokens),
                             .offsets = recorder.scratch() + static_cast<uint64_t>(places.offsets),
                             .pairs = static_cast<uint>(p.pairs),
                             .experts = static_cast<uint>(p.experts),
                             .slots = static_cast<uint>(p.slots)};
  // Of a CPU one subgroup; of a GPU as many invocations as there are pairs to test at once.
  const uint32_t lanes = facts.is_cpu() ? std::bit_ceil(std::max(facts.subgroup_size, 4u))
                                        : std::clamp(std::bit_ceil(groups_for(p.pairs, 32)), 32u,
                                                     std::bit_floor(std::min(facts.max_workgroup_size, 256u)));
  recorder.dispatch({.kernel = "expert_order",
                     .constants = {lanes, 32},
                     .groups = spread_groups(facts, static_cast<uint64_t>(p.experts)),
                     .reads = {recorder.region(node.inputs[2])},
                     .writes = {recorder.scratch_region(0, static_cast<uint64_t>(places.end))},
                     .cost = Cost{.bytes = static_cast<double>((p.experts + 2) * p.pairs * int_bytes), .flops = 0}},
                    args);
  return args;
}

}  // namespace

std::vector<std::string_view> expert_candidates(const Node& node, const DeviceFacts& facts) {
  const ExpertProblem p = expert_problem(node);
  std::vector<std::string_view> preferred, others;
  for (const ExpertKernel& kernel : kernels)
    if (kernel.halves == is_half(p.a_type) && (kernel.blocks || !is_blocks(p.b_type)) && kernel.legal(p, facts))
      (kernel.first(p, facts) ? preferred : others).push_back(kernel.name);
  preferred.insert(preferred.end(), others.rbegin(), others.rend());
  return preferred;
}

KernelRoom expert_room(std::string_view candidate) { return kernel_named(candidate).room; }

int64_t expert_scratch(const Node& node, const DeviceFacts&, std::string_view candidate) {
  return kernel_named(candidate).launch ? OrderPlaces(expert_problem(node)).end : 0;
}

void record_experts(Recorder& recorder, const Node& node) {
  const ExpertProblem p = expert_problem(node);
  for (int64_t elements : {node.in(0).elements(), node.in(1).elements(), node.out(0).elements()})
    check(elements < int64_t{1} << 31, "[{}] one tensor has {} elements; kernels address at most 2^31 - 1",
          node.op->name, elements);
  const ExpertKernel& kernel = kernel_named(recorder.candidate());
  if (!kernel.launch) return record_by_pair(recorder, node, p);
  const ExpertOrderArgs order = record_order(recorder, node, p);
  const uint64_t a = recorder.address(node.inputs[0]), b = recorder.address(node.inputs[1]);
  const ExpertMatmulArgs args{.a = a,
                              .b = b,
                              .a_pairs = a,
                              .b_pairs = b,
                              .a_quads = a,
                              .b_quads = b,
                              .y = recorder.address(node.outputs[0]),
                              .a_places = p.a_by_token ? order.tokens : order.order,
                              .b_places = p.b_by_token ? order.tokens : order.order,
                              .order = order.order,
                              .offsets = order.offsets,
                              .bias = bias_address(recorder, node, p),
                              .m = static_cast<uint>(p.m),
                              .n = static_cast<uint>(p.n),
                              .k = static_cast<uint>(p.k),
                              .pairs = static_cast<uint>(p.pairs),
                              .experts = static_cast<uint>(p.experts),
                              .has_bias = p.has_bias};
  recorder.dispatch(kernel.launch(recorder.device(), p, args), args);
}

}  // namespace vkformer
