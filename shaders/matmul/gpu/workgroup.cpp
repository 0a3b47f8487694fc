#include "shaders/matmul/gpu/workgroup.h"

#include <algorithm>

namespace vkformer {

namespace {

bool offered(const WorkgroupTile& tile, const WorkgroupMatrices& matrices, DType type) {
  return std::max({tile.rows, tile.columns, tile.slice}) <= matrices.max_dimension &&
         std::ranges::any_of(matrices.granularities, [&](const WorkgroupMatrices::Granularity& g) {
           return g.shape.type == type && g.invocations == tile.invocations && tile.rows % g.shape.m == 0 &&
                  tile.columns % g.shape.n == 0 && tile.slice % g.shape.k == 0;
         });
}

std::string_view variant_without_cores(const MatmulProblem& p) {
  if (is_half(p.y_type)) return "f16_y_plain";
  return p.a_type == DType::f16 ? "f16_plain" : "bf16_plain";
}

}  // namespace

bool workgroup_legal(const WorkgroupTile& tile, const MatmulProblem& p, const DeviceFacts& facts) {
  const bool whole_vectors = p.batch == 1 || (p.m * p.k % 8 == 0 && p.k * p.n % 8 == 0 && p.m * p.n % 8 == 0);
  const bool has_results = !is_half(p.y_type) || (p.y_type == DType::f16 && facts.workgroup_matrices.f16_sums);
  return is_half(p.a_type) && has_results && whole_vectors && tile.invocations <= facts.max_workgroup_size &&
         facts.workgroup_matrices.reserved_shared <= facts.shared_memory &&
         offered(tile, facts.workgroup_matrices, p.a_type) && facts.has_workgroup_matrices(p.a_type) &&
         (facts.workgroup_matrices.plain || facts.computes_right(p.a_type, tile.name));
}

Launch workgroup_launch(const WorkgroupTile& tile, const DeviceFacts& facts, const MatmulWork& work) {
  const MatmulProblem& p = work.p;
  const bool aligned = work.a_aligned(8) && work.b_aligned(8) && work.y_aligned(8);
  return {
      .kernel = "matmul_workgroup",
      .variant = facts.workgroup_matrices.plain ? variant_without_cores(p) : variant_of(p),
      .constants = {work.activation, tile.invocations, tile.rows, tile.columns, tile.slice, p.transpose_a,
                    p.transpose_b, aligned, !is_whole(tile, p)},
      .groups = spread_groups(facts, static_cast<uint64_t>(tile_count(p, tile.rows, tile.columns) * work.args.splits))};
}

}  // namespace vkformer
