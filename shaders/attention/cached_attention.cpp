#include "shaders/attention/cached_attention.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/half.h"
#include "runtime/recorder.h"
#include "shaders/attention/attention.h"
#include "shaders/attention/attention_launch.h"
#include "shaders/attention/attention_problem.h"
#include "shaders/attention/cached_attention.args.h"
#include "shaders/cache_write/cache_write.h"
#include "shaders/common/result_type.h"
#include "shaders/rope/rope.h"

namespace vkformer {

using namespace attention_launch;

namespace {

enum Input : size_t { in_x, in_cache, in_position, in_table, in_offsets, in_mask, in_bias, in_sinks };

/// Keys that one workgroup reads through. More are read in parts, which takes a dispatch more.
constexpr int64_t most_keys = 2048, fewest_keys = 256;

/// Positions of a row in one run.
constexpr int64_t most_queries = 8;

struct Heads {
  int64_t batches, queries, keys, heads, kv_heads, head_width, value_width;
  DType type;  ///< of the cache

  /// Values of 16 bytes of the cache.
  int64_t vector() const { return 16 / size_of(type); }
  PartialResults partial() const {
    constexpr int64_t most = most_keys - CACHED_PART_STEP;  // and the run's own
    const int64_t wanted = wanted_decode_groups / (heads * batches * queries);
    return {.batches = batches,
            .heads = heads,
            .queries = queries,
            .value_width = value_width,
            .parts = keys <= most_keys ? 1 : std::clamp(wanted, (keys + most - 1) / most, keys / fewest_keys)};
  }
  /// Scores that a workgroup has room for.
  int64_t capacity() const {
    const int64_t step = partial().parts * CACHED_PART_STEP;
    const int64_t most = step > CACHED_PART_STEP ? (keys + step - 1) / step * CACHED_PART_STEP + queries : keys;
    return std::max<int64_t>(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(most))), 256);
  }
};

struct Sizes : Heads {
  int64_t window, column, half;
  bool interleaved;

  explicit Sizes(const Node& node)
      : Heads{.batches = node.in(in_x)[0],
              .queries = node.in(in_x)[1],
              .keys = node.in(in_cache)[1],
              .heads = node.integer("heads"),
              .kv_heads = node.integer("kv_heads"),
              .head_width = node.integer("head_width"),
              .value_width = node.integer("value_width"),
              .type = node.input_types[in_cache].dtype},
        window(node.integer("window")),
        column(node.integer("column")),
        half(node.integer("rotary_width") / 2),
        interleaved(node.flag("interleaved")) {}
  int64_t cache_columns() const { return kv_heads * (head_width + value_width); }
  int64_t k_column() const { return column + heads * head_width; }
  int64_t v_column() const { return k_column() + kv_heads * head_width; }
};

Types infer(const Node& node) {
  const Shape &x = node.in(in_x), &cache = node.in(in_cache);
  check(x.rank() == 3 && cache.rank() == 3 && cache[0] == x[0] && x.elements() > 0 && cache.elements() > 0,
        "[cached_attention] x is {}, cache {}; they must be [B, T, columns] and [B, S, C]", x.to_string(),
        cache.to_string());
  const Sizes s(node);
  check(s.type == DType::f32 || is_half(s.type), "[cached_attention] cache is {}, it must be a float type",
        name_of(s.type));
  check(s.heads >= 1 && s.kv_heads >= 1 && s.heads % s.kv_heads == 0 && s.head_width >= 1 && s.value_width >= 1 &&
            cache[2] == s.cache_columns() && s.column >= 0 && s.column + s.heads * s.head_width + cache[2] <= x[2],
        "[cached_attention] {} and {} heads of {} and {} columns from column {} on don't fit x {} and cache {}",
        s.heads, s.kv_heads, s.head_width, s.value_width, s.column, x.to_string(), cache.to_string());
  check(x.elements() < int64_t{1} << 31 && cache.elements() < int64_t{1} << 31,
        "[cached_attention] x {} or cache {} has 2^31 elements or more", x.to_string(), cache.to_string());
  const auto needs = [&](size_t input, std::string_view name, DType dtype, std::initializer_list<Shape> shapes) {
    if (!node.has_input(input)) return;
    check(node.input_types[input].dtype == dtype && std::ranges::count(shapes, node.in(input)) > 0,
          "[cached_attention] {} is {} {}, which does not fit x {} and cache {}", name,
          name_of(node.input_types[input].dtype), node.in(input).to_string(), x.to_string(), cache.to_string());
  };
  const int64_t B = s.batches, T = s.queries, S = s.keys;
  needs(in_position, "position", DType::i32, {{1}, {B}});
  check(s.half >= 0 && 2 * s.half <= s.head_width && (s.half > 0) == node.has_input(in_table) &&
            (node.has_input(in_table) || !node.has_input(in_offsets)),
        "[cached_attention] {} columns of a head of {} turn; that needs a table, and nothing else does", 2 * s.half,
        s.head_width);
  if (node.has_input(in_table)) needs(in_table, "table", DType::f32, {{node.in(in_table)[0], 2 * s.half}});
  needs(in_offsets, "a row's position", DType::i32, {{1}, {B}});
  needs(in_mask, "mask", DType::i32, {{1, 1, S}, {B, 1, S}, {1, T, S}, {B, T, S}});
  needs(in_bias, "bias", DType::f32, {{1, s.heads, T, S}, {B, s.heads, T, S}});
  needs(in_sinks, "sinks", DType::f32, {{s.heads}});
  return {{{B, T, s.heads * s.value_width}}, node.input_types[in_cache]};
}

constexpr int64_t most_cached_width = 512;  ///< of heads whose keys and values lie side by side

uint32_t threads_of(const DeviceFacts& facts) { return facts.largest_group(512); }

/// Vectors of a key that a lane holds: of more, compilers spill where lanes share a thread's registers (Intel).
bool fits_lanes(const Heads& s, const DeviceFacts& facts) {
  constexpr int64_t most_lane_vectors = 8;
  return !facts.lanes_share_registers() || s.head_width / s.vector() <= most_lane_vectors * facts.roomy_subgroup();
}

int64_t shared_bytes(const Heads& s, const DeviceFacts& facts) {
  const int64_t threads = threads_of(facts);
  const int64_t own = s.head_width + s.queries * (s.head_width + s.value_width);
  return 4 * (own + s.capacity() + threads / std::max(facts.roomy_subgroup(), 1u) + threads * s.vector());
}

bool is_legal(const Heads& s, const DeviceFacts& facts) {
  const int64_t parts = s.partial().parts;
  const bool merges = s.heads <= facts.max_workgroups[1] && s.batches <= facts.max_workgroups[2] &&
                      parts <= std::min<int64_t>(ATTENTION_MOST_PARTS, facts.max_workgroups[2]);
  return s.queries <= most_queries && s.head_width % s.vector() == 0 && s.value_width % s.vector() == 0 &&
         s.head_width <= most_cached_width && s.value_width <= most_cached_width &&
         s.heads <= facts.max_workgroups[0] && s.batches * s.queries <= facts.max_workgroups[1] &&
         (parts == 1 || merges) && s.heads / s.kv_heads <= int64_t{ATTENTION_GROUP_BITS} && facts.subgroup_shuffle &&
         threads_of(facts) >= 256 && facts.shared_memory >= shared_bytes(s, facts) && fits_lanes(s, facts);
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return is_legal(Sizes(node), facts) ? std::vector<std::string_view>{"cached_attention"}
                                      : std::vector<std::string_view>{};
}

int64_t scratch(const Node& node, const DeviceFacts&, std::string_view) { return Sizes(node).partial().bytes(); }

void record(Recorder& recorder, const Node& node) {
  const Sizes s(node);
  const DeviceFacts& facts = recorder.device();
  const auto constant = [](int64_t value) { return static_cast<uint32_t>(value); };
  const auto flag = [](bool set, uint32_t bit) { return set ? bit : 0; };
  const auto several = [&](size_t input) { return node.has_input(input) && node.in(input)[0] > 1; };
  // What is absent is not used, but CPU drivers may read it.
  const auto address = [&](size_t input) {
    return recorder.address(node.inputs[node.has_input(input) ? input : in_x]);
  };
  const int64_t window = std::min(s.window, int64_t{1} << 29);
  const uint32_t threads = threads_of(facts);
  const uint32_t subgroup = facts.roomy_subgroup();
  const uint32_t lanes = std::min(subgroup, std::bit_ceil(constant(s.head_width / s.vector())));
  const PartialResults partial = s.partial();
  const bool merges = partial.parts > 1;
  const Region result = recorder.region(node.outputs[0]);
  const CachedAttentionArgs args{
      .source = {.step = recorder.address(node.inputs[in_position]),
                 .mask = address(in_mask),
                 .bias = address(in_bias),
                 .queries = static_cast<int>(s.queries),
                 .keys = static_cast<int>(s.keys),
                 .heads = static_cast<int>(s.heads),
                 .rules = constant(s.heads / s.kv_heads) | ATTENTION_CAUSAL | ATTENTION_POSITION |
                          flag(several(in_position), ATTENTION_POSITION_OF_BATCH) |
                          flag(several(in_mask), ATTENTION_MASK_OF_BATCH) |
                          flag(node.has_input(in_mask) && node.in(in_mask)[1] > 1, ATTENTION_MASK_OF_QUERY) |
                          flag(several(in_bias), ATTENTION_BIAS_OF_BATCH),
                 .window = static_cast<int>(window),
                 .softcap = static_cast<float>(node.number("softcap")),
                 .dropout = 0,
                 .stream = 0},
      .x = recorder.address(node.inputs[in_x]) + static_cast<uint64_t>(4 * s.column),
      .cache = recorder.address(node.inputs[in_cache]),
      .result = merges ? partial.results(recorder) : result.address,
      .sums = merges ? partial.sums(recorder) : address(in_sinks),
      .table = address(in_table),
      .offsets = address(in_offsets),
      .table_rows = node.has_input(in_table) ? static_cast<int>(node.in(in_table)[0]) : 0,
      .offset_count = node.has_input(in_offsets) ? static_cast<int>(node.in(in_offsets)[0]) : 0,
      .x_stride = static_cast<int>(node.in(in_x)[2]),
      .scale = static_cast<float>(node.number("scale")),
      .part_count = constant(partial.parts)};
  recorder.dispatch(
      {.kernel = "cached_attention",
       .variant = name_of(s.type),
       .constants = {threads, constant(s.value_width), 1, node.has_input(in_sinks), constant(s.head_width), 0,
                     node.has_input(in_mask), node.has_input(in_bias), window > 0, node.number("softcap") > 0, subgroup,
                     lanes, constant(s.capacity()), constant(s.half), s.interleaved, merges, constant(s.queries)},
       .groups = {constant(s.heads), constant(s.batches * s.queries), constant(partial.parts)},
       .subgroup_size = subgroup > 1 ? subgroup : 0,
       .writes = {merges ? partial.region(recorder) : result, recorder.region(node.outputs[1])}},
      args);
  if (merges)
    partial.record_merge(recorder, result, {},
                         node.has_input(in_sinks) ? recorder.region(node.inputs[in_sinks]) : Region{});
}

void reference(const Node& node, Inputs in, Outputs out) {
  const Sizes s(node);
  const HostTensor& x = *in[in_x];
  const auto present = [&](size_t i) { return i < in.size() && in[i]; };
  const double softcap = node.number("softcap");
  const auto stored = [&](double value) { return round_to(s.type, saturated(value, most_of(s.type))); };
  std::vector<double> own_keys(static_cast<size_t>(s.head_width)), query(own_keys.size());
  for (int64_t r = 0; r < s.batches * s.queries; ++r) {
    const int64_t b = r / s.queries, t = r % s.queries;
    const auto position = static_cast<int64_t>((*in[in_position])[node.in(in_position)[0] > 1 ? b : 0]) + t;
    const int64_t row = r * node.in(in_x)[2];
    const auto turn = [&](int64_t first, std::vector<double>& head) {
      for (int64_t c = 0; c < s.head_width; ++c) head[static_cast<size_t>(c)] = x[row + first + c];
      if (s.half == 0) return;
      const HostTensor& table = *in[in_table];
      const int64_t given =
          present(in_offsets) ? static_cast<int64_t>((*in[in_offsets])[node.in(in_offsets)[0] > 1 ? b : 0]) : 0;
      const int64_t angles = std::clamp<int64_t>(given + t, 0, node.in(in_table)[0] - 1) * 2 * s.half;
      for (int64_t i = 0; i < s.half; ++i) {
        const auto one = static_cast<size_t>(s.interleaved ? 2 * i : i);
        const auto two = static_cast<size_t>(s.interleaved ? 2 * i + 1 : i + s.half);
        const double a = head[one], z = head[two], cosine = table[angles + i], sine = table[angles + s.half + i];
        head[one] = a * cosine - z * sine;
        head[two] = z * cosine + a * sine;
      }
    };
    const auto cache_at = [&](int64_t key, int64_t column) { return (b * s.keys + key) * s.cache_columns() + column; };
    if (position >= 0 && position < s.keys)
      for (int64_t h = 0; h < s.kv_heads; ++h) {
        turn(s.k_column() + h * s.head_width, own_keys);
        for (int64_t c = 0; c < s.head_width; ++c)
          out[1][cache_at(position, h * s.head_width + c)] = stored(own_keys[static_cast<size_t>(c)]);
        for (int64_t c = 0; c < s.value_width; ++c)
          out[1][cache_at(position, s.kv_heads * s.head_width + h * s.value_width + c)] =
              stored(x[row + s.v_column() + h * s.value_width + c]);
      }
    const int64_t mask_rows = present(in_mask) ? node.in(in_mask)[1] : 0;
    const auto is_masked = [&](int64_t key) {
      const int64_t of_batch = node.in(in_mask)[0] > 1 ? b * mask_rows : 0;
      return (*in[in_mask])[(of_batch + std::min(t, mask_rows - 1)) * s.keys + key] == 0;
    };
    for (int64_t h = 0; h < s.heads; ++h) {
      const int64_t kv = h / (s.heads / s.kv_heads);
      turn(s.column + h * s.head_width, query);
      std::vector<std::pair<int64_t, double>> scores;
      const double sink = present(in_sinks) ? (*in[in_sinks])[h] : -HUGE_VAL;
      double largest = sink;
      for (int64_t key = 0; key < s.keys; ++key) {
        const bool outside = key > position || (s.window > 0 && key <= position - s.window);
        if (outside || (present(in_mask) && is_masked(key))) continue;
        double score = 0;
        for (int64_t c = 0; c < s.head_width; ++c)
          score += query[static_cast<size_t>(c)] * out[1][cache_at(key, kv * s.head_width + c)];
        score *= node.number("scale");
        if (softcap > 0) score = softcap * std::tanh(score / softcap);
        const int64_t bias_row = ((present(in_bias) && node.in(in_bias)[0] > 1 ? b : 0) * s.heads + h) * s.queries + t;
        if (present(in_bias)) score += (*in[in_bias])[bias_row * s.keys + key];
        scores.emplace_back(key, score);
        largest = std::max(largest, score);
      }
      double sum = std::isinf(sink) ? 0 : std::exp(sink - largest);
      for (const auto& [key, score] : scores) sum += std::exp(score - largest);
      for (const auto& [key, score] : scores)
        for (int64_t c = 0; c < s.value_width; ++c)
          out[0][(r * s.heads + h) * s.value_width + c] +=
              std::exp(score - largest) / sum *
              out[1][cache_at(key, s.kv_heads * s.head_width + kv * s.value_width + c)];
    }
  }
}

Cost cost(const Node& node) {
  const Sizes s(node);
  const auto bytes = static_cast<double>(node.input_types[in_cache].bytes() + node.input_types[in_x].bytes());
  const auto pairs = static_cast<double>(s.batches * s.queries * s.heads * s.keys);
  return {.bytes = bytes, .flops = 2 * pairs * static_cast<double>(s.head_width + s.value_width), .at_most = true};
}

/// The node that computes `value`; -1: none does, or one of another op.
int producer(const Graph& graph, Value value, bool (*is)(const Node&)) {
  const int node = value ? graph.info(value).producer : -1;
  return node >= 0 && is(graph.nodes()[static_cast<size_t>(node)]) ? node : -1;
}

}  // namespace

const Op cached_attention_op{.name = "cached_attention",
                             .infer = infer,
                             .record = record,
                             .reference = reference,
                             .cases = cached_attention_cases,
                             .cost = cost,
                             .candidates = candidates,
                             .room = [](std::string_view) { return KernelRoom::gpu; },
                             .scratch = scratch,
                             .aliases = {-1, in_cache},
                             .half_inputs = 1u << in_cache};

std::optional<CachedAttention> find_cached_attention(const Graph& graph, int attention, std::span<const int> uses,
                                                     const DeviceFacts& facts) {
  const auto node_at = [&](int index) -> const Node& { return graph.nodes()[static_cast<size_t>(index)]; };
  const auto used = [&](Value value) { return uses[static_cast<size_t>(value.id)]; };
  const Node& node = node_at(attention);
  if (!is_attention(node)) return {};
  const AttentionProblem p(node);
  CachedAttention found{.attention = attention, .write = producer(graph, node.inputs[attention_k], is_cache_write)};
  const std::vector<std::string_view> kernels = attention_candidates(node, facts);
  if (found.write < 0 || p.dropout > 0 || !p.causal || !p.has_position || node.has_input(attention_v) ||
      used(node.outputs[1]) > 0 || kernels.empty() || kernels.front() != "decode" ||
      !is_legal({p.batches, p.queries, p.keys, p.heads, p.kv_heads, p.head_width, p.value_width, p.k.type}, facts))
    return {};
  const Node& write = node_at(found.write);
  const Value x = node.inputs[attention_q];
  const bool together = node.input_types[attention_q].dtype == DType::f32 && write.inputs[1] == x &&
                        write.inputs[2] == node.inputs[attention_position] && used(write.outputs[0]) == 1 &&
                        write.integer("column") == p.q.column + p.q.width && p.k.column == 0 &&
                        p.v.column == p.k.width && p.v.stride == p.k.width + p.v.width;
  if (!together) return {};
  // Only where nothing else reads what it has turned.
  found.turn = used(x) == 2 ? producer(graph, x, is_rope) : -1;
  if (found.turn >= 0) {
    const Node& turn = node_at(found.turn);
    if (turn.integer("column") != p.q.column || turn.integer("heads") != p.heads + p.kv_heads ||
        turn.integer("head_width") != p.head_width || turn.flag("inverse"))
      found.turn = -1;
  }
  return found;
}

Value fuse_cache(Graph& copy, const Graph& graph, const CachedAttention& found,
                 const std::function<Value(Value)>& value_of) {
  const auto node_at = [&](int index) -> const Node& { return graph.nodes()[static_cast<size_t>(index)]; };
  const Node &node = node_at(found.attention), &write = node_at(found.write);
  const Node* turn = found.turn >= 0 ? &node_at(found.turn) : nullptr;
  const auto optional = [&](const Node* of, size_t i) {
    return of && of->has_input(i) ? value_of(of->inputs[i]) : Value{};
  };
  return copy.apply(cached_attention_op,
                    {value_of(turn ? turn->inputs[0] : node.inputs[attention_q]), value_of(write.inputs[0]),
                     value_of(write.inputs[2]), optional(turn, 1), optional(turn, 2), optional(&node, attention_mask),
                     optional(&node, attention_bias), optional(&node, attention_sinks)},
                    {{"heads", node.number("heads")},
                     {"kv_heads", node.number("kv_heads")},
                     {"head_width", node.number("head_width")},
                     {"value_width", node.number("value_width")},
                     {"scale", node.number("scale")},
                     {"window", node.number("window")},
                     {"softcap", node.number("softcap")},
                     {"column", node.number("q_column")},
                     {"rotary_width", turn ? turn->number("rotary_width") : 0},
                     {"interleaved", turn && turn->flag("interleaved")}});
}

}  // namespace vkformer
