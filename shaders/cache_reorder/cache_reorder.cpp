#include "shaders/cache_reorder/cache_reorder.h"

#include <algorithm>

#include "shaders/cache_reorder/cache_reorder.args.h"
#include "shaders/common/stream.h"

namespace vkformer {
namespace {

Types infer(const Node& node) {
  const Shape& cache = node.in(0);
  const DType type = node.input_types[0].dtype;
  check((type == DType::f32 || (is_half(type) && cache.columns() % 2 == 0)) && cache.rank() == 3,
        "[cache_reorder] cache is {} {}, it must be f32 [B, S, C], or of 16 bits with an even C", name_of(type),
        cache.to_string());
  check(cache.elements() < int64_t{1} << 31, "[cache_reorder] cache {} has 2^31 elements or more", cache.to_string());
  check(node.input_types[1] == TensorType{{cache[0]}, DType::i32}, "[cache_reorder] rows is {} {}, needs i32 [{}]",
        name_of(node.input_types[1].dtype), node.in(1).to_string(), cache[0]);
  check(node.input_types[2] == TensorType{{1}, DType::i32}, "[cache_reorder] count is {} {}, needs i32 [1]",
        name_of(node.input_types[2].dtype), node.in(2).to_string());
  return {node.input_types[0]};
}

// Rows may swap places, so they are gathered aside first.
int64_t scratch(const Node& node, const DeviceFacts&, std::string_view) { return node.input_types[0].bytes(); }

void record(Recorder& recorder, const Node& node) {
  const DeviceFacts& facts = recorder.device();
  const Shape& cache = node.in(0);
  const int64_t columns = cache[2] * size_of(node.input_types[0].dtype) / 4;
  const int64_t row = cache[1] * columns;
  const bool aligned = row % 4 == 0;
  const uint32_t span = facts.is_cpu() ? 1024 : 4 * stream_workgroup(facts);
  const uint32_t chunks = std::max(groups_for(row / (aligned ? 4 : 1), span), 1u);
  const Region whole = recorder.region(node.inputs[0]), aside = recorder.scratch_region(0, whole.bytes);
  const Region rows = recorder.region(node.inputs[1]), count = recorder.region(node.inputs[2]);
  for (const bool gather : {true, false}) {
    const Region source = gather ? whole : aside, target = gather ? aside : whole;
    recorder.dispatch({.kernel = "cache_reorder",
                       .variant = recorder.candidate(),
                       .constants = {stream_workgroup(facts), aligned},
                       .groups = spread_groups(facts, static_cast<uint64_t>(cache[0]) * chunks),
                       .reads = {source, rows, count},
                       .writes = {target}},
                      CacheReorderArgs{.source = source.address,
                                       .target = target.address,
                                       .rows = rows.address,
                                       .count = count.address,
                                       .batches = static_cast<int>(cache[0]),
                                       .keys = static_cast<int>(cache[1]),
                                       .columns = static_cast<uint>(columns),
                                       .chunks = chunks,
                                       .span = span,
                                       .gather = gather});
  }
}

void reference(const Node& node, Inputs in, Outputs out) {
  const Shape& cache = node.in(0);
  const int64_t count = std::clamp<int64_t>(static_cast<int64_t>((*in[2])[0]), 0, cache[1]);
  for (int64_t b = 0; b < cache[0]; ++b) {
    const int64_t origin = std::clamp<int64_t>(static_cast<int64_t>((*in[1])[b]), 0, cache[0] - 1);
    for (int64_t s = 0; s < count; ++s)
      for (int64_t c = 0; c < cache[2]; ++c)
        out[0][(b * cache[1] + s) * cache[2] + c] = (*in[0])[(origin * cache[1] + s) * cache[2] + c];
  }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](const Shape& cache, double low, double high, DType type = DType::f32) {
    list.push_back({.inputs = {{.type = {cache, type}},
                               {.type = {{cache[0]}, DType::i32}, .low = -1, .high = static_cast<double>(cache[0])},
                               {.type = {{1}, DType::i32}, .low = low, .high = high}},
                    .attributes = {}});
  };
  add({1, 1, 1}, 1, 1);
  add({2, 1, 1}, 1, 1);
  add({5, 7, 3}, 4, 4);
  add({5, 8, 3}, 5, 5);  // rows are aligned, the end is not
  add({8, 11, 12}, 1, 10);
  add({7, 13, 5}, 0, 0);
  add({6, 13, 4}, 13, 13);
  add({4, 37, 72}, 37, 37);
  add({3, 67, 129}, 66, 66);
  add({5, 7, 6}, 3, 3, DType::f16);
  add({3, 5, 8}, 4, 4, DType::f16);
  add({3, 5, 4}, -7, -7);
  add({3, 5, 4}, 2147483647, 2147483647);
  return list;
}

/// All positions: how many there are is known only when it runs.
Cost cost(const Node& node) { return {.bytes = 4 * static_cast<double>(node.input_types[0].bytes()), .flops = 0}; }

const Op cache_reorder_op{.name = "cache_reorder",
                          .infer = infer,
                          .record = record,
                          .reference = reference,
                          .cases = cases,
                          .cost = cost,
                          .candidates = stream_candidates,
                          .room = stream_room,
                          .scratch = scratch,
                          .aliases = {0},
                          .half_inputs = 0b1};

}  // namespace

Value cache_reorder(Graph& graph, Value cache, Value rows, Value count) {
  return graph.apply(cache_reorder_op, {cache, rows, count});
}

}  // namespace vkformer

VKFORMER_OPS(cache_reorder, &vkformer::cache_reorder_op)
