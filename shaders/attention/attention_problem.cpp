#include "shaders/attention/attention_problem.h"

#include <algorithm>

#include "shaders/attention/attention.h"

namespace vkformer {

namespace {

/// Kernels index elements with 32-bit integers.
constexpr int64_t most_elements = int64_t{1} << 31;

void check_source(const Node& node, std::string_view name, const HeadSource& source) {
  const Shape& shape = node.in(source.input);
  const DType type = source.type;
  check((type == DType::f32 || is_half(type)) && shape.rank() == 3 && shape.elements() > 0,
        "[{}] {} lies in {} {}, it needs a float tensor [B, T, columns]", node.op->name, name, name_of(type),
        shape.to_string());
  check(shape.elements() < most_elements,
        "[{}] {} lies in {}, which has 2^31 elements or more; take a smaller batch or context", node.op->name, name,
        shape.to_string());
  check(source.column >= 0 && source.column + source.width <= shape.columns(), "[{}] {} takes columns {} to {} of {}",
        node.op->name, name, source.column, source.column + source.width, shape.to_string());
  check(
      !is_half(type) || (source.column % 2 == 0 && source.stride % 2 == 0),
      "[{}] {} is {}, whose words hold two columns: its first column {} and the {} columns of its tensor must be even",
      node.op->name, name, name_of(type), source.column, source.stride);
}

void check_apart(const Node& node, const HeadSource& a, const HeadSource& b) {
  check(a.input != b.input || a.column + a.width <= b.column || b.column + b.width <= a.column,
        "[{}] columns {} to {} and {} to {} of one tensor overlap", node.op->name, a.column, a.column + a.width,
        b.column, b.column + b.width);
}

}  // namespace

size_t gradient_output(const Node& node, size_t input) {
  size_t output = 0;
  for (const size_t before : attention_differentiable) output += before < input && node.has_input(before);
  return output;
}

AttentionProblem::AttentionProblem(const Node& node)
    : heads(node.integer("heads")),
      kv_heads(node.integer("kv_heads")),
      head_width(node.integer("head_width")),
      value_width(node.integer("value_width")),
      scale(node.number("scale")),
      causal(node.flag("causal")),
      has_position(node.has_input(attention_position)),
      position_shared(!has_position || node.in(attention_position) == Shape{1}),
      has_bias(node.has_input(attention_bias)),
      bias_shared(has_bias && node.in(attention_bias).rank() == 4 && node.in(attention_bias)[0] == 1),
      has_sinks(node.has_input(attention_sinks)),
      dropout(node.number("dropout")),
      stream(node.integer("stream")),
      window(node.integer("window")),
      softcap(node.number("softcap")) {
  const size_t k_input = node.has_input(attention_k) ? attention_k : attention_q;
  const size_t v_input = node.has_input(attention_v) ? attention_v : k_input;
  const auto source = [&](size_t input, std::string_view column, int64_t width) {
    return HeadSource{input, node.integer(column), node.in(input).columns(), width, node.input_types[input].dtype};
  };
  q = source(attention_q, "q_column", heads * head_width);
  k = source(k_input, "k_column", kv_heads * head_width);
  v = source(v_input, "v_column", kv_heads * value_width);
  type = q.type;
  if (node.has_input(attention_mask) && node.in(attention_mask).rank() == 3) {
    mask_rows = node.in(attention_mask)[1];
    mask_shared = node.in(attention_mask)[0] == 1;
  }
  if (node.in(attention_q).rank() != 3 || node.in(k_input).rank() != 3) return;
  batches = node.in(attention_q)[0];
  queries = node.in(attention_q)[1];
  keys = node.in(k_input)[1];
}

int64_t AttentionProblem::key_end(int64_t t, int64_t position) const {
  if (!causal) return keys;
  return std::clamp<int64_t>(t + 1 + (has_position ? position : keys - queries), 0, keys);
}

int64_t AttentionProblem::key_begin(int64_t t, int64_t position) const {
  if (window == 0) return 0;
  return std::clamp<int64_t>(t + 1 + (has_position ? position : keys - queries) - window, 0, keys);
}

double AttentionProblem::visible_pairs() const {
  const auto all = static_cast<double>(batches * heads);
  if (has_position && window > 0) return all * static_cast<double>(queries * std::min(window, keys));
  double pairs = 0;
  for (int64_t t = 0; t < queries; ++t)
    pairs += static_cast<double>(std::max<int64_t>(key_end(t, keys) - key_begin(t, keys), 0));
  return pairs * all;
}

void check_attention(const Node& node) {
  const std::string_view op = node.op->name;
  const AttentionProblem problem(node);
  check(problem.heads > 0 && problem.kv_heads > 0 && problem.heads % problem.kv_heads == 0,
        "[{}] {} heads cannot share {} key heads evenly", op, problem.heads, problem.kv_heads);
  const auto fits = [](int64_t width) { return width >= 1 && width <= most_head_width; };
  check(fits(problem.head_width) && fits(problem.value_width), "[{}] heads of {} and {} columns; 1 to {} are supported",
        op, problem.head_width, problem.value_width, most_head_width);
  check_source(node, "q", problem.q);
  check_source(node, "k", problem.k);
  check_source(node, "v", problem.v);
  const DType type = problem.type, key_type = problem.k.type;
  check(problem.v.type == key_type && (key_type == type || (type == DType::f32 && is_half(key_type))),
        "[{}] q is {}, k {}, v {}; they must be of one type, or k and v of 16 bits and q f32", op, name_of(type),
        name_of(key_type), name_of(problem.v.type));
  check(!is_half(key_type) || (problem.head_width % 2 == 0 && problem.value_width % 2 == 0),
        "[{}] k is {}, whose words hold two columns: heads of {} and {} columns must be even", op, name_of(key_type),
        problem.head_width, problem.value_width);
  check_apart(node, problem.q, problem.k);
  check_apart(node, problem.q, problem.v);
  const Shape &k = node.in(problem.k.input), &v = node.in(problem.v.input);
  check(k[0] == problem.batches && v[0] == problem.batches && v[1] == problem.keys,
        "[{}] q lies in {}, k in {}, v in {}: B, or S of k and v, differ", op, node.in(attention_q).to_string(),
        k.to_string(), v.to_string());
  check(std::max(problem.rows() * 2, problem.batches * problem.queries * problem.heads * problem.value_width) <
            most_elements,
        "[{}] the result has 2^31 elements or more", op);
  if (problem.has_position) {
    check(problem.causal, "[{}] a position needs causal attention", op);
    const TensorType& type_of_position = node.input_types[attention_position];
    check(type_of_position == TensorType{{1}, DType::i32} ||
              (type_of_position == TensorType{{problem.batches}, DType::i32} && problem.dropout == 0),
          "[{}] position is {}, it must be i32 [1], or [{}] without dropout", op, type_of_position.shape.to_string(),
          problem.batches);
  }
  if (node.has_input(attention_mask)) {
    const Shape& shape = node.in(attention_mask);
    check(node.input_types[attention_mask].dtype == DType::i32 && shape.rank() == 3 &&
              (shape[0] == 1 || shape[0] == problem.batches) && (shape[1] == 1 || shape[1] == problem.queries) &&
              shape[2] == problem.keys,
          "[{}] mask is {}, it must be i32 [{} or 1, {} or 1, {}]", op, shape.to_string(), problem.batches,
          problem.queries, problem.keys);
    check(shape.elements() < most_elements, "[{}] the mask {} has 2^31 elements or more", op, shape.to_string());
  }
  if (problem.has_bias) {
    const Shape& shape = node.in(attention_bias);
    const Shape whole{problem.batches, problem.heads, problem.queries, problem.keys};
    const Shape one{1, problem.heads, problem.queries, problem.keys};
    check(node.input_types[attention_bias].dtype == DType::f32 && (shape == whole || shape == one),
          "[{}] bias is {}, it must be f32 {} or {}", op, shape.to_string(), whole.to_string(), one.to_string());
    check(shape.elements() < most_elements, "[{}] the bias {} has 2^31 elements or more", op, shape.to_string());
  }
  if (problem.has_sinks)
    check(node.input_types[attention_sinks] == TensorType{{problem.heads}}, "[{}] sinks are {}, they must be f32 [{}]",
          op, node.in(attention_sinks).to_string(), problem.heads);
  check(problem.window >= 0, "[{}] window is {}, it must be at least 0", op, problem.window);
  check(problem.softcap >= 0 && problem.softcap < 1e30, "[{}] softcap is {}, it must be in [0, 1e30)", op,
        problem.softcap);
  check(problem.dropout >= 0 && problem.dropout < 1, "[{}] dropout is {}, it must be in [0, 1)", op, problem.dropout);
  check(problem.dropout == 0 || node.has_input(attention_seed), "[{}] dropout needs a seed", op);
  if (node.has_input(attention_seed))
    check(node.input_types[attention_seed] == TensorType{{2}, DType::i32}, "[{}] seed is {}, it must be i32 [2]", op,
          node.in(attention_seed).to_string());
}

void check_keys_apart(const Node& node) {
  const AttentionProblem problem(node);
  check_apart(node, problem.k, problem.v);
}

}  // namespace vkformer
