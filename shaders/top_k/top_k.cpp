#include "shaders/top_k/top_k.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "runtime/recorder.h"
#include "shaders/top_k/top_k.args.h"

namespace vkformer {

namespace {

uint32_t threads_of(const DeviceFacts& facts) { return std::bit_floor(std::min(facts.max_workgroup_size, 1024u)); }

/// Four times as many groups as are wanted leave about a sixth more candidates. One where one is wanted, its largest.
uint32_t groups_of(const Node& node, const DeviceFacts& facts) {
  if (node.integer("count") == 1) return 1;
  return std::min(std::bit_ceil(static_cast<uint32_t>(4 * node.integer("count"))), threads_of(facts));
}

/// Most elements of a row that may be candidates: all of as many groups as are wanted.
int64_t room_of(const Node& node, const DeviceFacts& facts) {
  const int64_t columns = node.in(0).columns();
  if (node.integer("count") == 1) return 1;
  return std::min(columns, node.integer("count") * groups_for(columns, groups_of(node, facts)));
}

// --- top_k: x -> values, indices ---

Types infer(const Node& node) {
  const Shape& x = node.in(0);
  const int64_t count = node.integer("count");
  check(node.input_types[0].dtype == DType::f32 && x.rank() >= 1 && x.elements() > 0,
        "[top_k] x is {} {}, it must be f32 [.., C]", name_of(node.input_types[0].dtype), x.to_string());
  check(count >= 1 && count <= x.columns() && count <= most_top_k,
        "[top_k] count is {}, x {} needs 1 to {}, at most {}", count, x.to_string(), x.columns(), most_top_k);
  check(x.elements() < int64_t{1} << 31, "[top_k] x is {}; kernels address at most 2^31 - 1 elements", x.to_string());
  return {{x.with_columns(count)}, {x.with_columns(count), DType::i32}};
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  const bool fits = node.integer("count") <= threads_of(facts) && 8 * (threads_of(facts) + 2) <= facts.shared_memory;
  return fits ? std::vector<std::string_view>{"top_k"} : std::vector<std::string_view>{};
}

int64_t scratch(const Node& node, const DeviceFacts& facts, std::string_view) {
  return 8 * node.in(0).rows() * room_of(node, facts);
}

void record(Recorder& recorder, const Node& node) {
  const DeviceFacts& facts = recorder.device();
  const int64_t rows = node.in(0).rows();
  recorder.dispatch({.kernel = "top_k",
                     .constants = {threads_of(facts), groups_of(node, facts)},
                     .groups = spread_groups(facts, static_cast<uint64_t>(rows))},
                    TopKArgs{.x = recorder.address(node.inputs[0]),
                             .values = recorder.address(node.outputs[0]),
                             .indices = recorder.address(node.outputs[1]),
                             .candidates = recorder.scratch(),
                             .rows = static_cast<uint>(rows),
                             .columns = static_cast<uint>(node.in(0).columns()),
                             .count = static_cast<uint>(node.integer("count")),
                             .room = static_cast<uint>(room_of(node, facts)),
                             .outputs = recorder.address(node.outputs[1]) ? 3u : 1u});
}

void reference(const Node& node, Inputs in, Outputs out) {
  const HostTensor& x = *in[0];
  const int64_t columns = node.in(0).columns(), count = node.integer("count");
  std::vector<int64_t> order(static_cast<size_t>(columns));
  for (int64_t row = 0; row < node.in(0).rows(); ++row) {
    std::iota(order.begin(), order.end(), row * columns);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return std::isnan(x[a]) ? !std::isnan(x[b]) : x[a] > x[b]; });
    for (int64_t i = 0; i < count; ++i) {
      out[0][row * count + i] = x[order[static_cast<size_t>(i)]];
      out[1][row * count + i] = static_cast<double>(order[static_cast<size_t>(i)] - row * columns);
    }
  }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](Shape x, int64_t count, double low = -1, double high = 1) {
    list.push_back(
        {.inputs = {{.type = {x}, .low = low, .high = high}}, .attributes = {{"count", static_cast<double>(count)}}});
  };
  add({1}, 1);
  add({3, 7}, 7);
  add({2, 5003}, 1);
  add({2, 2, 5003}, 7);
  add({1, 1031}, 67);
  add({3, 257}, 256, -9, -1);
  add({2, 1031}, 7, 0.5, 0.5);  // equal ones
  return list;
}

Cost cost(const Node& node) { return {.bytes = 4 * static_cast<double>(node.in(0).elements()), .flops = 0}; }

const Op top_k_op = {.name = "top_k",
                     .infer = infer,
                     .record = record,
                     .reference = reference,
                     .cases = cases,
                     .cost = cost,
                     .candidates = candidates,
                     .scratch = scratch};

}  // namespace

TopK top_k(Graph& graph, Value x, int64_t count) {
  const Values outputs = graph.add(top_k_op, {x}, {{"count", static_cast<double>(count)}});
  return {outputs[0], outputs[1]};
}

}  // namespace vkformer

VKFORMER_OPS(top_k, &vkformer::top_k_op)
