#include "runtime/passes/loss_chunks.h"

#include <algorithm>
#include <optional>

#include "shaders/cast/cast.h"
#include "shaders/column_sum/column_sum.h"
#include "shaders/cross_entropy/cross_entropy.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/matmul/matmul.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rows/rows.h"

namespace vkformer {

namespace {

constexpr int64_t most_chunks = 32;
constexpr int64_t row_step =
    64;  ///< what rows of a chunk are a multiple of: whole tiles, places in the joined gradient

/// What is between the logits and their gradient's products.
struct Head {
  /// How a value follows from logits.
  enum class Kind : uint8_t {
    apart,    ///< it does not
    inside,   ///< rows for those of the logits, which nothing else reads
    joined,   ///< rows, too, which others read: the gradient of the product's operand
    summed,   ///< a sum over rows: the loss, gradients of weights
    counted,  ///< the same for every chunk: the number of targets
  };
  std::vector<size_t> nodes;
  std::vector<Kind> kinds;  ///< by value
  int64_t rows = 0, bytes = 0;

  Kind kind(Value value) const { return value ? kinds[static_cast<size_t>(value.id)] : Kind::apart; }
  bool is_inside(Value value) const { return kind(value) == Kind::inside; }
};

/// A product of rows with one matrix, and nothing in its epilogue but a bias.
bool is_plain_product(const Node& node) {
  return is_matmul(node) && !node.flag("transpose_a") && node.in(1).rank() == 2 && !node.has_input(3) &&
         node.outputs.size() == 1;
}

/// The product whose rows, changed element by element at most, are the loss's logits.
std::optional<size_t> find_product(const Graph& graph, const Node& loss) {
  int producer = graph.info(loss.inputs[0]).producer;
  while (producer >= 0) {
    const Node& node = graph.nodes()[static_cast<size_t>(producer)];
    if (is_plain_product(node)) return static_cast<size_t>(producer);
    if (!(is_elementwise(node) || is_cast(node)) || node.inputs.size() != 1) break;
    producer = graph.info(node.inputs[0]).producer;
  }
  return std::nullopt;
}

/// What the outputs of a node are that reads rows of logits; nothing where it has no such form.
std::optional<std::vector<Head::Kind>> kinds_of(const Head& head, const Node& node) {
  using Kinds = std::vector<Head::Kind>;
  using enum Head::Kind;
  const auto all_inside = [&] {
    return std::ranges::all_of(node.inputs, [&](Value input) { return head.is_inside(input); });
  };
  if ((is_elementwise(node) || is_cast(node)) && all_inside()) return Kinds{inside};
  if (is_cross_entropy(node)) return Kinds{summed, inside, counted};
  if (is_cross_entropy_backward(node)) return Kinds{inside};
  if (is_column_sum(node)) return Kinds{summed};
  if (is_plain_product(node) && head.is_inside(node.inputs[0]) && !head.is_inside(node.inputs[1])) return Kinds{joined};
  if (is_matmul(node) && node.flag("join_rows") && node.outputs.size() == 1) return Kinds{summed};
  return std::nullopt;
}

std::optional<Head> find_head(const Graph& graph, size_t loss) {
  const std::vector<Node>& nodes = graph.nodes();
  const std::optional<size_t> product = find_product(graph, nodes[loss]);
  if (!product) return std::nullopt;
  const TensorType& logits = nodes[*product].output_types[0];
  Head head{.nodes = {*product}, .kinds = {}, .rows = logits.shape.rows(), .bytes = logits.bytes()};
  head.kinds.resize(graph.value_count(), Head::Kind::apart);
  head.kinds[static_cast<size_t>(nodes[*product].outputs[0].id)] = Head::Kind::inside;
  for (size_t i = *product + 1; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    if (std::ranges::none_of(node.inputs, [&](Value input) { return head.is_inside(input); })) continue;
    const auto kinds = kinds_of(head, node);
    if (!kinds) return std::nullopt;
    for (size_t o = 0; o < node.outputs.size(); ++o) head.kinds[static_cast<size_t>(node.outputs[o].id)] = kinds->at(o);
    head.nodes.push_back(i);
  }
  // All of them run in the last one's place: nobody else may want what they give before.
  for (size_t i = *product; i < head.nodes.back(); ++i) {
    if (std::ranges::binary_search(head.nodes, i)) continue;
    for (Value input : nodes[i].inputs)
      if (head.kind(input) != Head::Kind::apart) return std::nullopt;
  }
  for (Value output : graph.outputs())
    if (head.is_inside(output)) return std::nullopt;
  return head;
}

/// Adds the head's nodes for some rows after the others.
class Chunks {
 public:
  Chunks(Rewritten& copy, const Graph& graph, const Head& head)
      : copy_(copy), graph_(graph), head_(head), made_(graph.value_count()), joined_(graph.value_count()) {}

  void add(int64_t first, int64_t count) {
    first_ = first;
    count_ = count;
    sliced_.assign(graph_.value_count(), {});
    for (const size_t i : head_.nodes) add(graph_.nodes()[i]);
  }

  void finish() {
    for (const size_t i : head_.nodes)
      for (Value original : graph_.nodes()[i].outputs) {
        Value& result = copy_.values[static_cast<size_t>(original.id)];
        const Values& parts = joined_[static_cast<size_t>(original.id)];
        result = parts.empty() ? made(original)
                               : reshape(copy_.graph, join_rows(copy_.graph, parts), graph_.shape(original));
      }
  }

 private:
  Value& made(Value original) { return made_[static_cast<size_t>(original.id)]; }

  /// These rows of a value from outside.
  Value rows_of(Value original) {
    Value& slice = sliced_[static_cast<size_t>(original.id)];
    if (!slice) slice = rows(copy_.graph, copy_.of(original), first_, count_);
    return slice;
  }

  void add(const Node& node) {
    Graph& graph = copy_.graph;
    graph.set_scope(node.scope);
    const bool sums_products = is_matmul(node) && node.flag("join_rows");
    const bool gives_logits = node.outputs[0] == graph_.nodes()[head_.nodes.front()].outputs[0];
    Values inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value input = node.inputs[i];
      const bool of_rows = (gives_logits && i == 0) || (sums_products && i < 2);
      if (!input || head_.kind(input) != Head::Kind::apart)
        inputs.push_back(input ? made(input) : Value{});
      else
        inputs.push_back(of_rows ? rows_of(input) : copy_.of(input));
    }
    Attributes attributes = node.attributes;
    if (is_cross_entropy(node) || is_cross_entropy_backward(node))
      attributes.set(first_row, static_cast<double>(first_));
    const auto addend = static_cast<size_t>(std::max(node.op->addend, 0));
    const bool continues = sums_products && made(node.outputs[0]);
    if (continues) {
      inputs.resize(std::max(inputs.size(), addend + 1));
      inputs[addend] = made(node.outputs[0]);
    }
    const Values outputs = graph.add(*node.op, std::move(inputs), attributes);
    for (size_t o = 0; o < outputs.size(); ++o) {
      const Value original = node.outputs[o];
      const bool sum = head_.kind(original) == Head::Kind::summed && made(original) && !continues;
      if (head_.kind(original) == Head::Kind::joined) joined_[static_cast<size_t>(original.id)].push_back(outputs[o]);
      made(original) = sum ? vkformer::add(graph, made(original), outputs[o]) : outputs[o];
    }
  }

  Rewritten& copy_;
  const Graph& graph_;
  const Head& head_;
  Values made_;                 ///< by value of the original: of these rows, or the sums so far
  Values sliced_;               ///< by value of the original: its rows
  std::vector<Values> joined_;  ///< by value of the original: all its rows so far
  int64_t first_ = 0, count_ = 0;
};

int64_t chunk_rows(const Head& head, int64_t most_bytes) {
  const int64_t chunks = std::min(most_chunks, (head.bytes + most_bytes - 1) / most_bytes);
  return ((head.rows + chunks - 1) / chunks + row_step - 1) / row_step * row_step;
}

}  // namespace

Rewritten with_loss_in_chunks(const Graph& graph, int64_t most_bytes) {
  std::optional<Head> head;
  for (size_t i = 0; i < graph.nodes().size() && !head; ++i)
    if (is_cross_entropy(graph.nodes()[i])) head = find_head(graph, i);
  if (!head || head->bytes <= most_bytes || head->rows <= row_step) return rewrite(graph, {});
  size_t next = 0;
  return rewrite(graph, {.add = [&](Rewritten& copy, const Node& node, Values inputs) {
                   if (std::ranges::find(head->nodes, next++) == head->nodes.end())
                     return copy.graph.add(*node.op, std::move(inputs), node.attributes);
                   if (next - 1 < head->nodes.back()) return Values{};
                   Chunks chunks(copy, graph, *head);
                   const int64_t step = chunk_rows(*head, most_bytes);
                   for (int64_t first = 0; first < head->rows; first += step)
                     chunks.add(first, std::min(step, head->rows - first));
                   chunks.finish();
                   return Values{};
                 }});
}

}  // namespace vkformer
