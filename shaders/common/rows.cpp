#include "shaders/common/rows.h"

#include <algorithm>
#include <bit>

#include "runtime/quirks.h"

namespace vkformer {

namespace {

/// Pairs of columns that an invocation of a CPU may hold: with more the code gets too long.
constexpr uint32_t cpu_pairs = 64;

/// Whether one subgroup can take a row whose lanes own `pairs` pairs of columns each. A GPU's lanes have registers to
/// hold 16: at 17 compilers spill (Apple's, NVK). Where lanes share a thread's registers, rows of 128 columns spill
/// already (Intel), and a required size takes away the driver's own way out, a narrower one.
bool subgroup_legal(const DeviceFacts& facts, uint32_t pairs, RowUse use) {
  if (use == RowUse::move || !facts.subgroup_shuffle || !facts.full_subgroups) return false;
  if (facts.is_cpu()) return use == RowUse::stream || pairs <= cpu_pairs;
  return !facts.lanes_share_registers() && pairs <= (use == RowUse::stream ? 32 : 16);
}

/// Whether it should. A CPU driver runs a workgroup's subgroups one after another, so more than one only costs
/// barriers. A GPU hides its memory's latency with several subgroups a row once a row is long; and what a row holds
/// takes registers from other subgroups: at 12 pairs NVIDIA's multiprocessors keep 12 instead of 48 (NVK).
bool subgroup_pays(const DeviceFacts& facts, uint32_t pairs, RowUse use) {
  return facts.is_cpu() || pairs <= (use == RowUse::hold ? 4 : 16);
}

Rows rows_of(int64_t rows, int64_t per_group) {
  check(rows < int64_t{1} << 31, "one tensor has {} rows; kernels address at most 2^31 - 1 elements", rows);
  return {.count = static_cast<uint>(rows), .per_group = static_cast<uint>(std::max<int64_t>(per_group, 1))};
}

}  // namespace

std::vector<std::string_view> row_candidates(const DeviceFacts& facts, int64_t columns, RowUse use, DType type) {
  const bool half = is_half(type), f16 = type == DType::f16;
  const bool int64 = !half && columns % 2 == 0 && facts.int64 && !packed_stores_abort(facts);
  const uint32_t pairs = row_pairs(columns, std::max(facts.subgroup_size, 1u));
  const bool subgroup = subgroup_legal(facts, pairs, use), prefer_subgroup = subgroup_pays(facts, pairs, use);
  std::vector<std::string_view> names;
  const auto add = [&](bool legal, std::string_view plain, std::string_view wide) {
    if (!legal) return;
    if (int64 && facts.is_cpu()) names.push_back(wide);
    names.push_back(plain);
    if (int64 && !facts.is_cpu()) names.push_back(wide);
  };
  const auto typed = [&](std::string_view floats, std::string_view f16s, std::string_view bf16s) {
    return !half ? floats : f16 ? f16s : bf16s;
  };
  const std::string_view by_subgroup = typed("subgroup", "subgroup_f16", "subgroup_bf16");
  if (prefer_subgroup) add(subgroup, by_subgroup, "subgroup_int64");
  if (use == RowUse::hold && !facts.is_cpu() && facts.subgroup_shuffle && facts.full_subgroups &&
      facts.roomy_subgroup() >= 4)  // their sums have places for no more subgroups
    names.push_back(typed("subgroups", "subgroups_f16", "subgroups_bf16"));
  else
    add(true, typed("workgroup", "workgroup_f16", "workgroup_bf16"), "workgroup_int64");
  if (!prefer_subgroup) add(subgroup, by_subgroup, "subgroup_int64");
  return names;
}

KernelRoom row_room(std::string_view candidate) {
  return candidate.ends_with("_int64") ? KernelRoom::cpu : KernelRoom::any;
}

uint32_t row_lanes(const DeviceFacts& facts, int64_t columns, RowUse use, std::string_view candidate) {
  // Up to eight columns a lane, where the workgroup may be so large: their loads are under way together, and more rows
  // at a time.
  if (candidate.starts_with("subgroups"))
    return std::clamp(std::bit_ceil(groups_for(columns, 8)), std::max(facts.roomy_subgroup(), 64u),
                      facts.largest_group(256));
  if (candidate.starts_with("subgroup")) return facts.subgroup_size;
  const uint32_t most = std::bit_floor(std::min(facts.max_workgroup_size, 256u));
  if (!facts.is_cpu()) return std::clamp(std::bit_ceil(groups_for(columns, 4)), 64u, most);
  const uint32_t least = std::bit_ceil(std::max(facts.subgroup_size, 4u));
  if (use != RowUse::hold) return least;
  return std::clamp(std::bit_ceil(groups_for(columns, 2 * cpu_pairs)), least, most);
}

Rows share_rows(const DeviceFacts& facts, int64_t rows, int64_t columns) {
  return rows_of(rows, facts.is_cpu() ? std::min(2048 / std::max<int64_t>(columns, 1), rows / 16) : 1);
}

Rows share_rows_in_parts(const DeviceFacts& facts, int64_t rows) {
  return rows_of(rows, groups_for(rows, facts.is_cpu() ? 16 : 512));
}

void check_whole_words(const Node& node, std::string_view name, const TensorType& type) {
  check(!is_half(type.dtype) || type.shape.columns() % 2 == 0,
        "[{}] {} is {} {}; rows of 16-bit floats are written as words of two and need an even number of columns",
        node.op->name, name, name_of(type.dtype), type.shape.to_string());
}

void check_rows(std::string_view kernel, int64_t rows, int64_t columns) {
  check(rows * columns < int64_t{1} << 31, "[{}] {} rows of {} columns; kernels address at most 2^31 - 1 elements",
        kernel, rows, columns);
}

Launch row_launch(const Recorder& recorder, std::string_view kernel, RowUse use, const Rows& rows, int64_t columns,
                  std::initializer_list<uint64_t> matrices, std::initializer_list<uint32_t> constants, int64_t groups) {
  check_rows(kernel, rows.count * groups, columns);
  const std::string_view variant = recorder.candidate();
  const uint32_t lanes = row_lanes(recorder.device(), columns, use, variant);
  // As few pairs past the end as possible.
  const uint32_t pairs = row_pairs(columns, lanes), steps = groups_for(pairs, 8);
  // Words of two floats. All tensors start at 16 bytes but parts of joint ones, which are not rows.
  const bool half = variant.ends_with("f16");
  const bool paired = (half || variant.ends_with("_int64")) && columns % 2 == 0 &&
                      std::ranges::all_of(matrices, [](uint64_t at) { return at % 8 == 0; });
  check(paired || !half || columns % 2 != 0, "[{}] a matrix does not start at 8 bytes", kernel);
  Launch launch{.kernel = kernel,
                .variant = variant,
                .constants = {lanes, static_cast<uint32_t>(columns), paired, groups_for(pairs, steps)},
                .groups = spread_groups(recorder.device(), row_groups(rows) * static_cast<uint64_t>(groups)),
                .subgroup_size = variant.starts_with("subgroups")  ? recorder.device().roomy_subgroup()
                                 : variant.starts_with("subgroup") ? lanes
                                                                   : 0};
  launch.constants.insert(launch.constants.end(), constants);
  return launch;
}

}  // namespace vkformer
