#include "shaders/gated_delta_rule/delta_sizes.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace vkformer {

namespace {

/// Sums of a line are shuffles where full subgroups hold all its sharers.
constexpr uint32_t most_sharers = 8;
constexpr int64_t widest = 256;

}  // namespace

DeltaProblem::DeltaProblem(const Node& node, size_t x)
    : heads{.key_heads = node.integer("key_heads"),
            .heads = node.integer("heads"),
            .key_width = node.integer("key_width"),
            .value_width = node.integer("value_width"),
            .values_first = node.flag("values_first"),
            .corrects = node.flag("corrects")},
      batches(node.in(x)[0]),
      positions(node.in(x)[1]) {}

Attributes DeltaProblem::attributes(const DeltaHeads& heads) {
  return {{"key_heads", static_cast<double>(heads.key_heads)}, {"heads", static_cast<double>(heads.heads)},
          {"key_width", static_cast<double>(heads.key_width)}, {"value_width", static_cast<double>(heads.value_width)},
          {"values_first", heads.values_first ? 1.0 : 0.0},    {"corrects", heads.corrects ? 1.0 : 0.0}};
}

DeltaSizes DeltaProblem::sizes(bool texts, bool skip) const {
  return {.positions = static_cast<uint>(positions),
          .key_heads = static_cast<uint>(heads.key_heads),
          .heads = static_cast<uint>(heads.heads),
          .key_width = static_cast<uint>(heads.key_width),
          .value_width = static_cast<uint>(heads.value_width),
          .rules = (texts ? delta_has_texts : 0) | (heads.corrects ? delta_corrects : 0) |
                   (heads.values_first ? delta_values_first : 0) | (skip ? delta_skips : 0)};
}

void check_delta_inputs(const Node& node, size_t x) {
  const size_t texts = x + 2, skip = x + 3;
  const std::string_view op = node.op->name;
  check(node.in(x).rank() == 3 && node.in(x).elements() > 0, "[{}] x is {}, needs [B, T, columns]", op,
        node.in(x).to_string());
  const DeltaProblem p(node, x);
  const DeltaHeads& h = p.heads;
  check(h.key_heads >= 1 && h.heads >= 1 && h.heads % h.key_heads == 0 && h.key_width >= 1 && h.value_width >= 1,
        "[{}] {} value heads of {} can't share {} key heads of {} evenly", op, h.heads, h.value_width, h.key_heads,
        h.key_width);
  check(h.key_width <= widest && h.value_width <= widest, "[{}] heads are {} and {} wide; at most {} are possible", op,
        h.key_width, h.value_width, widest);
  check(h.key_heads <= node.in(x).columns() && h.heads <= node.in(x).columns() && h.columns() == node.in(x).columns(),
        "[{}] x is {}, its heads have {} columns", op, node.in(x).to_string(), h.columns());
  check(node.in(x + 1) == node.in(x).with_columns(2 * h.heads), "[{}] gates is {}, needs two of each of {} heads", op,
        node.in(x + 1).to_string(), h.heads);
  for (const size_t i : {x, x + 1})
    check(node.input_types[i].dtype == DType::f32, "[{}] x or gates is {}, needs f32", op,
          name_of(node.input_types[i].dtype));
  check(!node.has_input(texts) || node.input_types[texts] == TensorType{{p.batches, p.positions}, DType::i32},
        "[{}] texts is {}, needs i32 [{}, {}]", op, node.in(texts).to_string(), p.batches, p.positions);
  check(!node.has_input(skip) || node.input_types[skip] == TensorType{Shape{h.heads}},
        "[{}] skip is {}, needs f32 [{}]", op, node.in(skip).to_string(), h.heads);
  const int64_t most = std::max(node.in(x).elements(), p.rows() * h.heads * std::max(h.key_width, h.value_width));
  check(most < int64_t{1} << 31, "[{}] x is {}; kernels address at most 2^31 - 1 elements", op, node.in(x).to_string());
}

Region delta_optional(const Recorder& recorder, const Node& node, size_t i, size_t gates) {
  return recorder.region(node.inputs[node.has_input(i) ? i : gates]);
}

DeltaColumns delta_columns(const DeltaHeads& heads, int64_t h) {
  const int64_t of_key = h / (heads.heads / heads.key_heads) * heads.key_width, of_value = h * heads.value_width;
  if (heads.values_first) return {heads.values() + heads.keys() + of_key, heads.values() + of_key, of_value};
  return {of_key, heads.keys() + of_key, 2 * heads.keys() + of_value};
}

std::vector<std::string_view> delta_candidates(const Node& node, const DeviceFacts& facts) {
  const Shape& x = node.in(node.op == &gated_delta_rule_backward_op ? 1 : 0);
  if (x[0] > facts.max_workgroups[2] || node.integer("heads") > facts.max_workgroups[1]) return {};
  if (facts.subgroup_shuffle && facts.full_subgroups) return {"subgroup", "workgroup"};
  return {"workgroup"};
}

Launch delta_launch(const Recorder& recorder, std::string_view kernel, const DeltaProblem& problem,
                    const DeltaLines& lines, std::string_view variant) {
  const DeviceFacts& facts = recorder.device();
  const bool subgroup = recorder.candidate() == "subgroup";
  const uint32_t sharers = subgroup ? std::min(most_sharers, std::bit_floor(facts.roomy_subgroup())) : most_sharers;
  const uint32_t invocations = std::max(facts.largest_group(facts.is_cpu() ? 32 : 128), sharers);
  // As many positions as 16 KiB hold, which every device has.
  const int64_t quads = (lines.columns + 4 * sharers - 1) / (4 * sharers) * sharers;
  const int64_t bytes = 16 * quads * lines.staged + 4 * lines.kept * (invocations / sharers) + 12;
  const int64_t room = (int64_t{16} << 10) - (subgroup ? 0 : 16 * invocations);
  const auto steps = static_cast<uint32_t>(std::clamp<int64_t>(room / bytes, 1, 16));
  const auto positions = static_cast<uint32_t>(std::min<int64_t>(problem.positions, 16));
  return {.kernel = kernel,
          .variant = variant.empty() ? recorder.candidate() : variant,
          .constants = {invocations, sharers, static_cast<uint32_t>(lines.columns),
                        std::min(std::bit_floor(steps), std::bit_ceil(positions))},
          .groups = {lines.times * groups_for(lines.lines, invocations / sharers),
                     static_cast<uint32_t>(problem.heads.heads), static_cast<uint32_t>(problem.batches)},
          .subgroup_size = subgroup ? facts.roomy_subgroup() : 0};
}

// Lines of one value, in rows that are skipped or not, of less than a quad, of several quads for each sharer; heads
// that share keys; more positions than are staged at a time, and than the sums of decays have invocations; both rules
// and both orders of columns.
std::span<const DeltaCase> delta_cases() {
  static constexpr DeltaCase cases[] = {
      {23, 1, {1, 1, 1, 1}, true},
      {2, 17, {1, 2, 7, 7}},
      {1, 37, {2, 2, 7, 7}, true},
      {2, 19, {1, 3, 64, 7}, true},
      {1, 131, {1, 1, 7, 64}},
      {1, 17, {1, 2, 130, 130}},
      {3, 67, {2, 4, 7, 7}, true},
      {2, 19, {2, 6, 7, 64, true, false}, true, true},
      {1, 37, {1, 2, 64, 7, true, false}, false, true},
      {1, 17, {1, 2, 7, 7, true}, true, true},
  };
  return cases;
}

// Keys whose squares sum to less than 2, so that what is corrected does not grow.
Case delta_case(const DeltaCase& problem, int64_t reduction) {
  const DeltaHeads& heads = problem.heads;
  const double most = std::min(1.0, std::sqrt(3 / static_cast<double>(heads.key_width)));
  const auto rows = [&](int64_t columns) { return Shape{problem.batches, problem.positions, columns}; };
  const bool narrow = std::max(heads.key_width, heads.value_width) <= 7;
  return {.inputs = {{.type = {rows(heads.columns())}, .low = -most, .high = most},
                     {.type = {rows(2 * heads.heads)}, .low = -1, .high = 0},
                     {.type = {Shape{problem.batches, problem.positions}, DType::i32},
                      .low = 0,
                      .high = 2,
                      .absent = !problem.texts},
                     {.type = {Shape{heads.heads}}, .absent = !problem.skip}},
          .attributes = DeltaProblem::attributes(heads),
          .reduction = reduction,
          .spared = narrow ? std::vector<std::string_view>() : std::vector<std::string_view>{"workgroup"}};
}

}  // namespace vkformer
