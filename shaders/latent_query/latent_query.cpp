#include "shaders/latent_query/latent_query.h"

#include <algorithm>

#include "runtime/op.h"
#include "runtime/recorder.h"
#include "shaders/latent_query/latent_query.args.h"
#include "shaders/matmul/matmul.h"
#include "shaders/rope/rope.h"
#include "shaders/slice/slice.h"

namespace vkformer {

namespace {

constexpr uint32_t threads = 256, columns = 64;

enum Input : size_t { in_q, in_keys, in_table, in_position };

struct Sizes {
  int64_t heads, plain, rank, half;

  explicit Sizes(const Node& node)
      : heads(node.in(in_keys)[0]),
        plain(node.in(in_keys)[1]),
        rank(node.in(in_keys)[2]),
        half(node.in(in_table)[1] / 2) {}
  int64_t width() const { return plain + 2 * half; }
};

// --- latent_query: q, keys, table, position? -> y [H, rank + turned] ---

Types infer(const Node& node) {
  const Shape &keys = node.in(in_keys), &table = node.in(in_table);
  const DType type = node.input_types[in_keys].dtype;
  check(keys.rank() == 3 && keys.elements() > 0 && keys[2] % 4 == 0 && (type == DType::f32 || is_half(type)),
        "[latent_query] keys are {} {}, needs floats [H, plain, rank] and a rank that 4 divides", name_of(type),
        keys.to_string());
  check(table.rank() == 2 && table[0] >= 1 && table[1] >= 2 && table[1] % 2 == 0 &&
            node.input_types[in_table].dtype == DType::f32,
        "[latent_query] table is {}, needs f32 [P, turned]", table.to_string());
  const Sizes s(node);
  check(node.input_types[in_q] == TensorType{{1, 1, s.heads * s.width()}},
        "[latent_query] q is {} {}, needs f32 [1, 1, {}]", name_of(node.input_types[in_q].dtype),
        node.in(in_q).to_string(), s.heads * s.width());
  if (node.has_input(in_position))
    check(node.input_types[in_position] == TensorType{{1}, DType::i32}, "[latent_query] position is {}, needs i32 [1]",
          node.in(in_position).to_string());
  check(keys.elements() < int64_t{1} << 31, "[latent_query] keys are {}; kernels address at most 2^31 - 1 elements",
        keys.to_string());
  return {{{s.heads, s.rank + 2 * s.half}}};
}

/// Workgroups of a head that multiply; one more turns.
uint32_t parts_of(int64_t rank) { return groups_for(rank, columns); }

bool is_legal(int64_t heads, int64_t rank, const DeviceFacts& facts) {
  return rank % 4 == 0 && parts_of(rank) < facts.max_workgroups[0] && heads <= facts.max_workgroups[1] &&
         facts.largest_group(threads) == threads && facts.shared_memory >= 4 * threads * 4;
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  const Sizes s(node);
  return is_legal(s.heads, s.rank, facts) ? std::vector<std::string_view>{"latent_query"}
                                          : std::vector<std::string_view>{};
}

void record(Recorder& recorder, const Node& node) {
  const Sizes s(node);
  const bool has_position = node.has_input(in_position);
  recorder.dispatch({.kernel = "latent_query",
                     .variant = name_of(node.input_types[in_keys].dtype),
                     .constants = {threads, columns},
                     .groups = {parts_of(s.rank) + 1, static_cast<uint32_t>(s.heads), 1}},
                    LatentQueryArgs{.q = recorder.address(node.inputs[in_q]),
                                    .keys = recorder.address(node.inputs[in_keys]),
                                    .table = recorder.address(node.inputs[in_table]),
                                    .position = recorder.address(node.inputs[has_position ? in_position : in_table]),
                                    .y = recorder.address(node.outputs[0]),
                                    .plain = static_cast<uint>(s.plain),
                                    .half_width = static_cast<uint>(s.half),
                                    .rank = static_cast<uint>(s.rank),
                                    .parts = parts_of(s.rank),
                                    .table_rows = static_cast<int>(node.in(in_table)[0]),
                                    .has_position = has_position,
                                    .interleaved = node.flag("interleaved")});
}

void reference(const Node& node, Inputs in, Outputs out) {
  const Sizes s(node);
  const HostTensor &q = *in[in_q], &keys = *in[in_keys], &table = *in[in_table];
  const bool has_position = node.has_input(in_position);
  const int64_t given = has_position ? static_cast<int64_t>((*in[in_position])[0]) : 0;
  const int64_t angles = std::clamp<int64_t>(given, 0, node.in(in_table)[0] - 1) * 2 * s.half;
  for (int64_t h = 0; h < s.heads; ++h) {
    const int64_t from = h * s.width(), to = h * (s.rank + 2 * s.half);
    for (int64_t c = 0; c < s.rank; ++c)
      for (int64_t k = 0; k < s.plain; ++k) out[0][to + c] += q[from + k] * keys[(h * s.plain + k) * s.rank + c];
    for (int64_t i = 0; i < s.half; ++i) {
      const bool neighbours = node.flag("interleaved");
      const int64_t first = neighbours ? 2 * i : i, second = neighbours ? 2 * i + 1 : i + s.half;
      const double x1 = q[from + s.plain + first], x2 = q[from + s.plain + second];
      const double cosine = table[angles + i], sine = table[angles + s.half + i];
      out[0][to + s.rank + first] = x1 * cosine - x2 * sine;
      out[0][to + s.rank + second] = x2 * cosine + x1 * sine;
    }
  }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](const Shape& keys, int64_t turned, double position, bool interleaved, DType type = DType::f32) {
    list.push_back({.inputs = {{.type = {{1, 1, keys[0] * (keys[1] + turned)}}},
                               {.type = {keys, type}},
                               {.type = {{11, turned}}},
                               {.type = {{1}, DType::i32}, .low = position, .high = position, .absent = position < 0}},
                    .attributes = {{"interleaved", interleaved}},
                    .reduction = keys[1]});
  };
  add({1, 1, 4}, 2, -1, false);
  add({3, 67, 132}, 6, 7, true);
  add({2, 130, 64}, 64, 99, false);  // behind the table's end
  add({3, 67, 132}, 6, 3, false, DType::f16);
  add({2, 16, 260}, 514, 10, true, DType::bf16);
  return list;
}

Cost cost(const Node& node) {
  return {.bytes = static_cast<double>(node.input_types[in_keys].bytes()) +
                   4 * static_cast<double>(node.in(in_q).elements() + node.out(0).elements()),
          .flops = 2 * static_cast<double>(node.in(in_keys).elements())};
}

const Op latent_query_op = {.name = "latent_query",
                            .infer = infer,
                            .record = record,
                            .reference = reference,
                            .cases = cases,
                            .cost = cost,
                            .candidates = candidates,
                            .room = [](std::string_view) { return KernelRoom::gpu; },
                            .half_inputs = 1u << in_keys};

}  // namespace

Value fuse_latent_query(Graph& graph, const Node& join, const DeviceFacts& facts) {
  if (facts.is_cpu() || join.inputs.size() != 2) return {};
  const Node *product = source_of(graph, join.inputs[0], is_matmul),
             *turned = source_of(graph, join.inputs[1], is_rope);
  if (!product || !turned || turned->in(0).rows() != 1 || turned->flag("inverse")) return {};
  const Node* plain = source_of(graph, product->inputs[0], is_slice);
  if (!plain || source_of(graph, plain->inputs[0], is_rope) != turned || plain->integer("first") != 0) return {};
  const Shape& keys = product->in(1);
  const bool multiplies = keys.rank() == 3 && !product->flag("transpose_a") && !product->flag("transpose_b") &&
                          product->number("scale") == 1 && product->outputs.size() == 1 && !product->has_input(2) &&
                          !product->has_input(3);
  if (!multiplies) return {};
  const int64_t heads = keys[0], width = plain->integer("count"), rotary = turned->integer("rotary_width");
  const bool together = keys[1] == width && turned->integer("heads") == heads && turned->integer("column") == width &&
                        turned->integer("head_width") == width + rotary &&
                        turned->in(0).columns() == heads * (width + rotary) && is_legal(heads, keys[2], facts) &&
                        join.out(0) == Shape{heads, keys[2] + rotary} && join.in(1) == Shape{heads, width + rotary};
  const ColumnRange multiplied = joined_range(join, 0), behind = joined_range(join, 1);
  const bool in_order = multiplied.first == 0 && behind.first == width && behind.count == rotary && behind.repeat == 1;
  const DType type = product->input_types[1].dtype;
  if (!together || !in_order || is_blocks(type) || turned->input_types[0].dtype != DType::f32) return {};
  const Values inputs{turned->inputs[0], product->inputs[1], turned->inputs[1],
                      turned->has_input(2) ? turned->inputs[2] : Value{}};
  return graph.apply(latent_query_op, inputs, {{"interleaved", turned->number("interleaved")}});
}

}  // namespace vkformer

VKFORMER_OPS(latent_query, &vkformer::latent_query_op)
