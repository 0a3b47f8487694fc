#include "shaders/matmul/gpu/vector.h"

#include <algorithm>
#include <map>

#include "runtime/encoding/encoding.h"
#include "shaders/matmul/gpu/matmul_vector.args.h"

namespace vkformer {

namespace {

constexpr int64_t most_rows = 8;
/// With 1024 invocations some of Apple's and Adreno's find no registers.
constexpr uint32_t most_threads = 512;
/// Bytes of a workgroup's shared memory that sums may take, and all of it: several workgroups share a core.
constexpr int64_t most_sum_bytes = 16384, most_shared_bytes = 32768;
/// What the kernel's normed rows take where none are normed, and slots of sums.
constexpr int64_t least_normed_bytes = 16, slot_bytes = 8 * MATMUL_MOST_SLOTS;

/// How a workgroup's invocations share its part of the product out.
struct Teams {
  uint32_t threads = 256;
  uint32_t subgroup = 1;  ///< 1: sums meet in shared memory alone
  uint32_t team = 32;     ///< invocations that cut K among themselves
  uint32_t columns = 4;   ///< of a team

  uint32_t teams() const { return threads / team; }
  /// Invocations of a subgroup and team, whose sums meet by shuffles.
  uint32_t met(bool transpose_b) const {
    return transpose_b ? std::min(team, subgroup) : std::max(subgroup / teams(), 1u);
  }
  int64_t sum_bytes(const MatmulProblem& p) const { return int64_t{4} * threads / met(p.transpose_b) * p.m * columns; }
};

/// Values of a row of b that an invocation reads at a time: 16 bytes, of blocks those of their codes (blocks.glsl).
int64_t grain_of(DType dtype) {
  if (!is_blocks(dtype)) return 16 / size_of(dtype);
  if (dtype == DType::q8_0) return 16;
  return dtype == DType::q2_k || dtype == DType::q3_k ? 64 : 32;
}

/// Types whose codes lie in several places: their values take more registers than others'.
bool is_scattered(DType type) {
  return type == DType::q2_k || type == DType::q3_k || type == DType::q5_k || type == DType::q6_k;
}
/// A subgroup so wide has the registers of two (Adreno's).
bool is_wide(const DeviceFacts& facts) { return facts.roomy_subgroup() >= 128; }

/// Columns of a team for which vendors' compilers find registers beside so many rows (docs/vendors.md).
uint32_t most_columns(const MatmulProblem& p, const DeviceFacts& facts) {
  if (is_blocks(p.b_type) && is_wide(facts)) return p.m > 2 || grain_of(p.b_type) == 64 ? 1 : 2;
  if (is_blocks(p.b_type) && facts.lanes_share_registers() && p.m > 2) return p.m > 4 ? 1 : 2;
  return p.m > 4 || is_scattered(p.b_type) ? 2 : 4;
}

/// b transposed: several columns a team spare loads of a, several invocations a column keep the memory busy, with four
/// loads of 16 bytes each under way.
void share_transposed(Teams& shared, const MatmulProblem& p, const DeviceFacts& facts, int64_t wanted, bool gated) {
  const int64_t columns = gated ? p.n / 2 : p.n, grain = grain_of(p.b_type);
  const uint32_t least = gated ? 2 : 1;
  const auto invocations = [&] { return p.batch * groups_for(p.n, shared.columns) * shared.team; };
  shared.columns = std::max(std::min(most_columns(p, facts), columns >= 4 ? 4u : 2u), least);
  while (shared.columns > least && invocations() < wanted) shared.columns /= 2;
  while (shared.team < shared.threads && invocations() < wanted && 2 * shared.team * grain <= p.k) shared.team *= 2;
}

/// b as it is: so many teams that they read at least 32 bytes side by side; then longer ones, each of which has a quad
/// of rows of b and more for every invocation.
void share_plain(Teams& shared, const MatmulProblem& p, int64_t wanted, uint32_t most) {
  const auto groups = [&] { return p.batch * groups_for(p.n, 4 * shared.teams()); };
  shared.team = shared.threads / 16;
  while (4 * shared.teams() * size_of(p.b_type) > 32 && groups() * shared.threads < wanted) shared.team *= 2;
  while (shared.threads < most && groups() * shared.threads < wanted && 8 * shared.team <= p.k)
    shared.threads *= 2, shared.team *= 2;
}

Teams share(const MatmulProblem& p, const DeviceFacts& facts, bool gated) {
  const int64_t wanted = 512 * facts.usual_cores();
  Teams shared{.subgroup = facts.roomy_subgroup()};
  if (p.transpose_b)
    share_transposed(shared, p, facts, wanted, gated);
  else
    share_plain(shared, p, wanted, facts.largest_group(is_wide(facts) && p.m > 2 ? 256 : most_threads));
  while (shared.sum_bytes(p) > most_sum_bytes) shared.threads /= 2, shared.team /= 2;
  return shared;
}

/// Columns of a normed row in shared memory.
int64_t normed_columns(const MatmulProblem& p) { return (p.k + 7) / 8 * 8; }

/// Of f32 rows.
std::string_view summed_variant_of(const MatmulProblem& p) {
  static const auto names = [] {
    std::map<DType, std::string> all;
    std::vector<DType> types{DType::f32, DType::f16, DType::bf16};
    types.insert(types.end(), std::begin(block_types), std::end(block_types));
    for (const DType type : types) all[type] = fmt::format("{}_summed", variant_of(MatmulProblem{.b_type = type}));
    return all;
  }();
  return names.at(p.b_type);
}

}  // namespace

bool vector_legal(const MatmulProblem& p, const DeviceFacts& facts) {
  const bool many_blocks = is_blocks(p.b_type) && is_wide(facts) && p.m > (grain_of(p.b_type) == 64 ? 1 : 4);
  return !p.transpose_a && p.m <= most_rows && !many_blocks && (p.transpose_b || !is_blocks(p.b_type)) &&
         facts.subgroup_shuffle && facts.largest_group(256) == 256 &&
         facts.shared_memory >= most_sum_bytes + least_normed_bytes + slot_bytes;
}

bool normed_vector_legal(const MatmulProblem& p, const DeviceFacts& facts, bool gated) {
  if (!vector_legal(p, facts) || p.batch > 1 || (gated && !p.transpose_b)) return false;
  const int64_t bytes = share(p, facts, gated).sum_bytes(p) + 4 * p.m * normed_columns(p);
  return bytes <= std::min<int64_t>(facts.shared_memory, most_shared_bytes);
}

void record_vector(Recorder& recorder, const MatmulWork& work, const VectorNeighbours& neighbours) {
  const DeviceFacts& facts = recorder.device();
  const MatmulProblem& p = work.p;
  const MatmulArgs& whole = work.args;
  const Teams shared = share(p, facts, neighbours.gated);
  const int64_t grain = p.transpose_b ? grain_of(p.b_type) : 4;
  const bool a_aligned = work.a_aligned(4) && p.k % grain == 0;
  const int64_t own = shared.teams() * shared.columns;  // columns of b that a workgroup reads
  const MatmulVectorArgs args{.a = whole.a,
                              .a_quads = whole.a,
                              .b = whole.b,
                              .b_quads = whole.b,
                              .b_vectors = whole.b,
                              .y = whole.y,
                              .pre_activation = whole.pre_activation,
                              .bias = whole.bias,
                              .residual = whole.residual,
                              .gain = neighbours.weights ? neighbours.weights : neighbours.gain,
                              .shift = neighbours.shift,
                              .chosen = neighbours.chosen,
                              .n = whole.n,
                              .k = whole.k,
                              .batch = whole.batch,
                              .scale = whole.scale,
                              .gain_offset = neighbours.gain_offset,
                              .epsilon = neighbours.epsilon,
                              .flags = whole.flags | (neighbours.shift ? MATMUL_SHIFT : 0),
                              .slots = neighbours.slots};
  recorder.dispatch({.kernel = "matmul_vector",
                     .variant = neighbours.weights ? summed_variant_of(p) : variant_of(p),
                     .constants = {shared.threads, work.activation, whole.m, p.transpose_b, a_aligned,
                                   work.b_aligned(grain), shared.subgroup, shared.team, shared.columns, neighbours.norm,
                                   neighbours.norm ? static_cast<uint32_t>(normed_columns(p)) : 8, neighbours.gated,
                                   neighbours.chosen != 0},
                     .groups = spread_groups(facts, static_cast<uint64_t>(p.batch * groups_for(p.n, own))),
                     .subgroup_size = shared.subgroup > 1 ? shared.subgroup : 0},
                    args);
}

}  // namespace vkformer
