#include "shaders/cache_write/cache_write.h"

#include "runtime/recorder.h"
#include "shaders/cache_write/cache_write.args.h"

namespace vkformer {

namespace {

constexpr int64_t span = 512;  // columns a workgroup copies

// --- cache_write: cache [B, S, C], source [B, T, columns], position -> the cache ---

Types infer(const Node& node) {
  const Shape &cache = node.in(0), &source = node.in(1);
  const int64_t column = node.integer("column");
  check(cache.rank() == 3 && source.rank() == 3 && cache[0] == source[0],
        "[cache_write] cache is {}, source {}; they must be [B, S, C] and [B, T, columns]", cache.to_string(),
        source.to_string());
  check(column >= 0 && column + cache.columns() <= source.columns(),
        "[cache_write] columns {} to {} are not all in source {}", column, column + cache.columns(),
        source.to_string());
  check(cache.elements() < int64_t{1} << 31 && source.elements() < int64_t{1} << 31,
        "[cache_write] cache {} or source {} has 2^31 elements or more", cache.to_string(), source.to_string());
  check(node.input_types[2] == TensorType{{1}, DType::i32}, "[cache_write] position is {}, it must be i32 [1]",
        node.in(2).to_string());
  return {node.input_types[0]};
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  const bool fits = node.in(1)[1] <= facts.max_workgroups[1] && node.in(1)[0] <= facts.max_workgroups[2];
  return fits ? std::vector<std::string_view>{"cache_write"} : std::vector<std::string_view>{};
}

void record(Recorder& recorder, const Node& node) {
  const Shape &cache = node.in(0), &source = node.in(1);
  const CacheWriteArgs args{
      .source = recorder.address(node.inputs[1]) + static_cast<uint64_t>(4 * node.integer("column")),
      .cache = recorder.address(node.inputs[0]),
      .position = recorder.address(node.inputs[2]),
      .queries = static_cast<int>(source[1]),
      .keys = static_cast<int>(cache[1]),
      .columns = static_cast<int>(cache[2]),
      .stride = static_cast<int>(source[2])};
  recorder.dispatch({.kernel = "cache_write",
                     .constants = {64, static_cast<uint32_t>(span)},
                     .groups = {groups_for(cache[2], span), groups_for(source[1], 1), groups_for(source[0], 1)}},
                    args);
}

void reference(const Node& node, Inputs in, Outputs out) {
  const Shape &cache = node.in(0), &source = node.in(1);
  for (int64_t b = 0; b < source[0]; ++b)
    for (int64_t t = 0; t < source[1]; ++t) {
      const int64_t s = static_cast<int64_t>((*in[2])[0]) + t;
      if (s < 0 || s >= cache[1]) continue;
      for (int64_t c = 0; c < cache[2]; ++c)
        out[0][(b * cache[1] + s) * cache[2] + c] =
            (*in[1])[(b * source[1] + t) * source[2] + node.integer("column") + c];
    }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](Shape cache, Shape source, double column, double low, double high) {
    list.push_back(
        {.inputs = {{.type = {cache}}, {.type = {source}}, {.type = {{1}, DType::i32}, .low = low, .high = high}},
         .attributes = {{"column", column}}});
  };
  add({1, 1, 1}, {1, 1, 1}, 0, 0, 0);
  add({2, 11, 7}, {2, 3, 22}, 9, 0, 8);
  add({3, 5, 1031}, {3, 1, 1031}, 0, 0, 4);
  add({2, 5, 6}, {2, 4, 12}, 6, 3, 3);   // the last rows fall outside
  add({1, 3, 4}, {1, 7, 4}, 0, -3, -3);  // the first and the last rows do
  add({1, 3, 4}, {1, 2, 4}, 0, 1 << 30, 1 << 30);
  return list;
}

Cost cost(const Node& node) {
  return {.bytes = 8 * static_cast<double>(node.in(1).rows() * node.in(0).columns()), .flops = 0};
}

const Op cache_write_op{.name = "cache_write",
                        .infer = infer,
                        .record = record,
                        .reference = reference,
                        .cases = cases,
                        .cost = cost,
                        .candidates = candidates,
                        .aliases = {0}};

}  // namespace

bool is_cache_write(const Node& node) { return node.op == &cache_write_op; }

Value cache_write(Graph& graph, Value cache, CacheSource source, Value position) {
  return graph.apply(cache_write_op, {cache, source.value, position}, {{"column", static_cast<double>(source.column)}});
}

}  // namespace vkformer

VKFORMER_OPS(cache_write, &vkformer::cache_write_op)
