#include "shaders/draw/draw.h"

#include <algorithm>
#include <cmath>

#include "runtime/recorder.h"
#include "shaders/draw/draw.args.h"
#include "shaders/top_k/top_k.h"

namespace vkformer {

namespace {

constexpr int64_t columns_of_settings = 5;

Types infer(const Node& node) {
  const Shape &values = node.in(0), &indices = node.in(1), &settings = node.in(2), &counts = node.in(3);
  const int64_t rows = values.rank() == 2 ? values[0] : 0;
  const auto is = [&](size_t i, DType type) { return node.input_types[i].dtype == type; };
  check(rows > 0 && values.columns() <= most_top_k && is(0, DType::f32) && indices == values && is(1, DType::i32) &&
            settings == Shape{rows, columns_of_settings} && is(2, DType::f32) && counts == Shape{rows} &&
            is(3, DType::i32),
        "[draw] values are {}, indices {}, settings {}, counts {}; it needs f32 [R, k], k up to {}, i32 [R, k], f32 "
        "[R, {}] and i32 [R]",
        values.to_string(), indices.to_string(), settings.to_string(), counts.to_string(), most_top_k,
        columns_of_settings);
  return {{{rows, 1}, DType::i32}};
}

void record(Recorder& recorder, const Node& node) {
  const auto address = [&](size_t i) { return recorder.address(node.inputs[i]); };
  const int64_t rows = node.in(0)[0];
  const uint32_t threads = std::min(recorder.device().max_workgroup_size, 64u);
  recorder.dispatch({.kernel = "draw",
                     .constants = {threads},
                     .groups = spread_groups(recorder.device(), static_cast<uint64_t>(rows))},
                    DrawArgs{.values = address(0),
                             .indices = address(1),
                             .settings = address(2),
                             .counts = address(3),
                             .drawn = recorder.address(node.outputs[0]),
                             .rows = static_cast<uint>(rows),
                             .columns = static_cast<uint>(node.in(0).columns())});
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t columns = node.in(0).columns();
  for (int64_t row = 0; row < node.in(0)[0]; ++row) {
    const int64_t start = row * columns;
    const auto setting = [&](int64_t i) { return (*in[2])[row * columns_of_settings + i]; };
    const auto weight = [&](int64_t i, double temperature) {
      return std::exp(((*in[0])[start + i] - (*in[0])[start]) / temperature);
    };
    const auto sum = [&](int64_t count, double temperature) {
      double total = 0;
      for (int64_t i = 0; i < count; ++i) total += weight(i, temperature);
      return total;
    };
    int64_t kept = std::clamp(static_cast<int64_t>((*in[3])[row]), int64_t{1}, columns);
    const double wanted = setting(2) * sum(kept, setting(0));
    int64_t count = 0;
    for (double reached = 0; count < kept && reached < wanted; ++count) reached += weight(count, setting(0));
    if (setting(2) < 1) kept = std::max<int64_t>(count, 1);
    for (count = 1; count < kept && weight(count, setting(0)) >= setting(3);) ++count;
    double rest = setting(4) * sum(count, setting(1)) - 1;
    int64_t place = 0;
    while (rest >= 0 && place + 1 < count) rest -= weight(++place, setting(1));
    out[0][row] = (*in[1])[start + place];
  }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](int64_t rows, int64_t columns, double least, double most) {
    list.push_back(
        {.inputs = {{.type = {Shape{rows, columns}}, .low = -2, .high = 2},
                    {.type = {Shape{rows, columns}, DType::i32}, .low = 0, .high = 50000},
                    {.type = {Shape{rows, columns_of_settings}}, .low = least, .high = most},
                    {.type = {Shape{rows}, DType::i32}, .low = -1, .high = static_cast<double>(columns + 1)}}});
  };
  add(1, 1, 0.1, 1);
  add(67, 7, 0.05, 1);
  add(31, 67, 0.1, 0.9);
  add(31, 256, 0.9, 1);
  return list;
}

Cost cost(const Node& node) { return {.bytes = 8 * static_cast<double>(node.in(0).elements()), .flops = 0}; }

const Op draw_op = {
    .name = "draw", .infer = infer, .record = record, .reference = reference, .cases = cases, .cost = cost};

}  // namespace

Value draw(Graph& graph, Value values, Value indices, Value settings, Value counts) {
  return graph.apply(draw_op, {values, indices, settings, counts});
}

}  // namespace vkformer

VKFORMER_OPS(draw, &vkformer::draw_op)
