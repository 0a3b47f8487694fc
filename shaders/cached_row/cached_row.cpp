#include "shaders/cached_row/cached_row.h"

#include <algorithm>
#include <cmath>

#include "runtime/half.h"
#include "runtime/op.h"
#include "runtime/recorder.h"
#include "shaders/cache_write/cache_write.h"
#include "shaders/cached_row/cached_row.args.h"
#include "shaders/common/result_type.h"
#include "shaders/head_norm/head_norm.h"
#include "shaders/rope/rope.h"

namespace vkformer {

namespace {

enum Input : size_t { in_x, in_gain, in_table, in_first, in_cache, in_position };

// --- cached_row: x, gain, table, first?, cache, position -> the cache ---

Types infer(const Node& node) {
  const Shape &x = node.in(in_x), &cache = node.in(in_cache), &table = node.in(in_table);
  const DType type = node.input_types[in_cache].dtype;
  check(x.rank() == 3 && x[1] == 1 && cache.rank() == 3 && cache[0] == x[0] && cache[2] == x[2] && x.elements() > 0 &&
            cache.elements() > 0 && node.input_types[in_x].dtype == DType::f32 && (type == DType::f32 || is_half(type)),
        "[cached_row] x is {} {}, cache {} {}; they must be f32 [B, 1, C] and floats [B, S, C]",
        name_of(node.input_types[in_x].dtype), x.to_string(), name_of(type), cache.to_string());
  check(!is_half(type) || x[2] % 2 == 0, "[cached_row] the cache is {}, whose words hold two columns: {} must be even",
        name_of(type), x[2]);
  const int64_t normed = node.in(in_gain).columns(), column = node.integer("column");
  check(node.in(in_gain).rank() == 1 && table.rank() == 2 && table[0] >= 1 && table[1] >= 2 && table[1] % 2 == 0 &&
            normed >= 1 && normed <= column && column + table[1] <= x[2],
        "[cached_row] {} normed columns and {} from {} on that turn are not apart and in x {}", normed, table[1],
        column, x.to_string());
  for (const size_t input : {in_first, in_position})
    check((input == in_first && !node.has_input(input)) || node.input_types[input] == TensorType{{1}, DType::i32} ||
              node.input_types[input] == TensorType{{x[0]}, DType::i32},
          "[cached_row] a position is {}, it must be i32 [1] or [{}]", node.in(input).to_string(), x[0]);
  check(cache.elements() < int64_t{1} << 31 && x.elements() < int64_t{1} << 31,
        "[cached_row] cache {} or x {} has 2^31 elements or more", cache.to_string(), x.to_string());
  return {node.input_types[in_cache]};
}

uint32_t threads_of(const DeviceFacts& facts) { return facts.largest_group(256); }

bool is_legal(int64_t rows, const DeviceFacts& facts) { return rows <= facts.max_workgroups[0]; }

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return is_legal(node.in(in_x)[0], facts) ? std::vector<std::string_view>{"cached_row"}
                                           : std::vector<std::string_view>{};
}

void record(Recorder& recorder, const Node& node) {
  const Shape &x = node.in(in_x), &table = node.in(in_table);
  const bool has_first = node.has_input(in_first);
  recorder.dispatch({.kernel = "cached_row",
                     .variant = name_of(node.input_types[in_cache].dtype),
                     .constants = {threads_of(recorder.device())},
                     .groups = {static_cast<uint32_t>(x[0]), 1, 1}},
                    CachedRowArgs{.x = recorder.address(node.inputs[in_x]),
                                  .gain = recorder.address(node.inputs[in_gain]),
                                  .table = recorder.address(node.inputs[in_table]),
                                  .firsts = recorder.address(node.inputs[has_first ? in_first : in_position]),
                                  .cache = recorder.address(node.inputs[in_cache]),
                                  .position = recorder.address(node.inputs[in_position]),
                                  .columns = static_cast<int>(x[2]),
                                  .normed = static_cast<int>(node.in(in_gain)[0]),
                                  .keys = static_cast<int>(node.in(in_cache)[1]),
                                  .positions = static_cast<int>(node.in(in_position)[0]),
                                  .column = static_cast<int>(node.integer("column")),
                                  .half_width = static_cast<int>(table[1] / 2),
                                  .table_rows = static_cast<int>(table[0]),
                                  .first_count = has_first ? static_cast<int>(node.in(in_first)[0]) : 0,
                                  .interleaved = node.flag("interleaved"),
                                  .gain_offset = static_cast<float>(node.number("gain_offset")),
                                  .epsilon = static_cast<float>(node.number("epsilon"))});
}

void reference(const Node& node, Inputs in, Outputs out) {
  const HostTensor &x = *in[in_x], &gain = *in[in_gain], &table = *in[in_table];
  const int64_t columns = node.in(in_x)[2], normed = node.in(in_gain)[0], keys = node.in(in_cache)[1];
  const int64_t column = node.integer("column"), half = node.in(in_table)[1] / 2;
  const DType type = node.input_types[in_cache].dtype;
  const auto of_row = [&](size_t input, int64_t b) {
    return node.has_input(input) ? static_cast<int64_t>((*in[input])[node.in(input)[0] > 1 ? b : 0]) : 0;
  };
  for (int64_t b = 0; b < node.in(in_x)[0]; ++b) {
    const int64_t position = of_row(in_position, b), from = b * columns;
    if (position < 0 || position >= keys) continue;
    std::vector<double> row(x.data.begin() + from, x.data.begin() + from + columns);
    double squares = 0;
    for (int64_t c = 0; c < normed; ++c) squares += x[from + c] * x[from + c];
    const double rms = std::sqrt(squares / static_cast<double>(normed) + node.number("epsilon"));
    for (int64_t c = 0; c < normed; ++c)
      row[static_cast<size_t>(c)] = x[from + c] / rms * (node.number("gain_offset") + gain[c]);
    const int64_t angles = std::clamp<int64_t>(of_row(in_first, b), 0, node.in(in_table)[0] - 1) * 2 * half;
    for (int64_t i = 0; i < half; ++i) {
      const bool neighbours = node.flag("interleaved");
      const int64_t first = column + (neighbours ? 2 * i : i), second = column + (neighbours ? 2 * i + 1 : i + half);
      const double cosine = table[angles + i], sine = table[angles + half + i];
      row[static_cast<size_t>(first)] = x[from + first] * cosine - x[from + second] * sine;
      row[static_cast<size_t>(second)] = x[from + second] * cosine + x[from + first] * sine;
    }
    for (int64_t c = 0; c < columns; ++c)
      out[0][(b * keys + position) * columns + c] =
          round_to(type, saturated(row[static_cast<size_t>(c)], most_of(type)));
  }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  struct Positions {
    int64_t count = 1;
    double low = 0, high = 0;
  };
  const auto add = [&](const Shape& cache, int64_t normed, int64_t column, int64_t turned, Positions position,
                       bool interleaved, DType type = DType::f32, double gain_offset = 0) {
    const bool first = column > normed;
    list.push_back({.inputs = {{.type = {{cache[0], 1, cache[2]}}},
                               {.type = {{normed}}, .low = 0.5 - gain_offset, .high = 1.5 - gain_offset},
                               {.type = {{13, turned}}},
                               {.type = {{position.count}, DType::i32}, .low = -1, .high = 14, .absent = !first},
                               {.type = {cache, type}},
                               {.type = {{position.count}, DType::i32}, .low = position.low, .high = position.high}},
                    .attributes = {{"column", static_cast<double>(column)},
                                   {"interleaved", interleaved},
                                   {"gain_offset", gain_offset},
                                   {"epsilon", 0.25}},
                    .reduction = normed});
  };
  add({1, 1, 3}, 1, 1, 2, {}, false);
  add({2, 11, 75}, 67, 69, 6, {.count = 2, .low = -1, .high = 11}, true);
  add({3, 5, 576}, 512, 512, 64, {.high = 4}, false, DType::f32, 1);
  add({2, 7, 576}, 512, 512, 64, {.count = 2, .high = 6}, true, DType::f16);
  add({1, 7, 302}, 259, 262, 36, {.high = 6}, false, DType::bf16);
  add({1, 7, 6}, 3, 4, 2, {.low = 7, .high = 7}, false, DType::f16);  // behind the cache's end
  return list;
}

Cost cost(const Node& node) {
  const auto x = static_cast<double>(node.in(in_x).elements());
  return {.bytes = x * static_cast<double>(4 + size_of(node.input_types[in_cache].dtype)), .flops = 4 * x};
}

const Op cached_row_op = {.name = "cached_row",
                          .infer = infer,
                          .record = record,
                          .reference = reference,
                          .cases = cases,
                          .cost = cost,
                          .candidates = candidates,
                          .room = [](std::string_view) { return KernelRoom::gpu; },
                          .aliases = {in_cache},
                          .half_inputs = 1u << in_cache};

}  // namespace

Value fuse_cached_row(Graph& graph, const Node& write, const DeviceFacts& facts) {
  const Shape& row = write.in(1);
  if (facts.is_cpu() || row[1] != 1 || row[2] != write.in(0)[2] || write.input_types[1].dtype != DType::f32) return {};
  const Node* turn = source_of(graph, write.inputs[1], is_rope);
  const Node* norm = turn ? source_of(graph, turn->inputs[0], is_head_norm) : nullptr;
  if (!norm || turn->out(0) != row || norm->out(0) != row || turn->integer("heads") != 1 || turn->flag("inverse") ||
      norm->integer("heads") != 1 || norm->integer("kv_heads") + norm->integer("plain_heads") > 0 ||
      norm->input_types[0].dtype != DType::f32 || norm->in(1).columns() > turn->integer("column") ||
      !is_legal(row[0], facts))
    return {};
  const Values inputs{norm->inputs[0], norm->inputs[1], turn->inputs[1], turn->has_input(2) ? turn->inputs[2] : Value{},
                      write.inputs[0], write.inputs[2]};
  return graph.apply(cached_row_op, inputs,
                     {{"column", turn->number("column")},
                      {"interleaved", turn->number("interleaved")},
                      {"gain_offset", norm->number("gain_offset")},
                      {"epsilon", norm->number("epsilon")}});
}

}  // namespace vkformer

VKFORMER_OPS(cached_row, &vkformer::cached_row_op)
