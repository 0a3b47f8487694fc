#include "shaders/cache_write/cache_write.h"

#include "runtime/half.h"
#include "runtime/recorder.h"
#include "shaders/cache_write/cache_write.args.h"
#include "shaders/common/result_type.h"

namespace vkformer {

namespace {

constexpr int64_t span = 512;  // words a workgroup writes

// --- cache_write: cache [B, S, C], source [B, T, columns] of its type or f32, position -> the cache ---

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
  const DType type = node.input_types[0].dtype, from = node.input_types[1].dtype;
  check((type == DType::f32 || is_half(type)) && (from == type || from == DType::f32),
        "[cache_write] source is {}, cache {}; a source is of its cache's type or f32", name_of(from), name_of(type));
  check(
      !is_half(type) || (cache.columns() % 2 == 0 && (from != type || (column % 2 == 0 && source.columns() % 2 == 0))),
      "[cache_write] the cache is {}, whose words hold two columns: its {} columns, and of such a source {} the {} and "
      "the first one, {}, must be even",
      name_of(type), cache.columns(), source.to_string(), source.columns(), column);
  check(node.input_types[2] == TensorType{{1}, DType::i32} || node.input_types[2] == TensorType{{cache[0]}, DType::i32},
        "[cache_write] position is {}, it must be i32 [1] or [{}]", node.in(2).to_string(), cache[0]);
  return {node.input_types[0]};
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  const bool fits = node.in(1)[1] <= facts.max_workgroups[1] && node.in(1)[0] <= facts.max_workgroups[2];
  return fits ? std::vector<std::string_view>{"cache_write"} : std::vector<std::string_view>{};
}

void record(Recorder& recorder, const Node& node) {
  const Shape &cache = node.in(0), &source = node.in(1);
  const DType type = node.input_types[0].dtype, from = node.input_types[1].dtype;
  const int64_t words = cache[2] * size_of(type) / 4;
  const CacheWriteArgs args{
      .source = recorder.address(node.inputs[1]) + static_cast<uint64_t>(size_of(from) * node.integer("column")),
      .cache = recorder.address(node.inputs[0]),
      .position = recorder.address(node.inputs[2]),
      .queries = static_cast<int>(source[1]),
      .keys = static_cast<int>(cache[1]),
      .words = static_cast<int>(words),
      .stride = static_cast<int>(source[2] * size_of(from) / 4),
      .positions = static_cast<int>(node.in(2)[0])};
  recorder.dispatch({.kernel = "cache_write",
                     .variant = from == type ? "f32" : name_of(type),
                     .constants = {64, static_cast<uint32_t>(span)},
                     .groups = {groups_for(words, span), groups_for(source[1], 1), groups_for(source[0], 1)}},
                    args);
}

void reference(const Node& node, Inputs in, Outputs out) {
  const Shape &cache = node.in(0), &source = node.in(1);
  const DType type = node.input_types[0].dtype;
  const double most = most_of(type);
  for (int64_t b = 0; b < source[0]; ++b)
    for (int64_t t = 0; t < source[1]; ++t) {
      const int64_t s = static_cast<int64_t>((*in[2])[node.in(2)[0] > 1 ? b : 0]) + t;
      if (s < 0 || s >= cache[1]) continue;
      for (int64_t c = 0; c < cache[2]; ++c)
        out[0][(b * cache[1] + s) * cache[2] + c] =
            round_to(type, saturated((*in[1])[(b * source[1] + t) * source[2] + node.integer("column") + c], most));
    }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](Shape cache, Shape source, double column, double low, double high, DType type = DType::f32,
                       DType from = DType::f32, double size = 1, bool own_positions = false) {
    list.push_back({.inputs = {{.type = {cache, type}},
                               {.type = {source, from}, .low = -size, .high = size},
                               {.type = {{own_positions ? cache[0] : 1}, DType::i32}, .low = low, .high = high}},
                    .attributes = {{"column", column}}});
  };
  add({1, 1, 1}, {1, 1, 1}, 0, 0, 0);
  add({2, 11, 7}, {2, 3, 22}, 9, 0, 8);
  add({3, 5, 1031}, {3, 1, 1031}, 0, 0, 4);
  add({2, 5, 6}, {2, 4, 12}, 6, 3, 3);   // the last rows fall outside
  add({1, 3, 4}, {1, 7, 4}, 0, -3, -3);  // the first and the last rows do
  add({1, 3, 4}, {1, 2, 4}, 0, 1 << 30, 1 << 30);
  add({2, 11, 6}, {2, 3, 23}, 9, 0, 8, DType::f16, DType::f32, 131008);  // half of them too large
  add({3, 5, 1034}, {3, 1, 1035}, 1, 0, 4, DType::bf16);
  add({2, 5, 6}, {2, 4, 14}, 8, 3, 3, DType::f16, DType::f16);
  add({5, 7, 6}, {5, 2, 6}, 0, -1, 7, DType::f32, DType::f32, 1, true);
  return list;
}

Cost cost(const Node& node) {
  const int64_t bytes = size_of(node.input_types[0].dtype) + size_of(node.input_types[1].dtype);
  return {.bytes = static_cast<double>(bytes * node.in(1).rows() * node.in(0).columns()), .flops = 0};
}

const Op cache_write_op{.name = "cache_write",
                        .infer = infer,
                        .record = record,
                        .reference = reference,
                        .cases = cases,
                        .cost = cost,
                        .candidates = candidates,
                        .aliases = {0},
                        .half_inputs = 0b11};

}  // namespace

bool is_cache_write(const Node& node) { return node.op == &cache_write_op; }

Value cache_write(Graph& graph, Value cache, CacheSource source, Value position) {
  return graph.apply(cache_write_op, {cache, source.value, position}, {{"column", static_cast<double>(source.column)}});
}

}  // namespace vkformer

VKFORMER_OPS(cache_write, &vkformer::cache_write_op)
