#include "runtime/passes/loss_chunks.h"

#include <algorithm>
#include <optional>

#include "shaders/cast/cast.h"
#include "shaders/column_sum/column_sum.h"
#include "shaders/cross_entropy/cross_entropy.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/log_likelihood/log_likelihood.h"
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
    apart,      ///< it does not
    inside,     ///< rows for those of the logits, which nothing else reads
    kept,       ///< the same, which the way back reads: log_sum_exp where that begins later
    joined,     ///< rows, too, which others read: the gradient of the product's operand
    summed,     ///< a sum over rows: the loss, gradients of weights
    sequences,  ///< a sum over the rows of each sequence: log-likelihoods
    counted,    ///< the same for every chunk: the number of targets
  };
  /// Nodes that are done with some rows before the next are begun, in the place of one of the graph's nodes.
  struct Walk {
    size_t place;
    std::vector<size_t> nodes;
  };
  size_t loss = 0;
  std::vector<size_t> nodes;
  std::vector<Kind> kinds;  ///< by value
  int64_t rows = 0, bytes = 0;
  int64_t positions = 0;  ///< rows of a sequence; 0: there are none

  Kind kind(Value value) const { return value ? kinds[static_cast<size_t>(value.id)] : Kind::apart; }
  bool is_inside(Value value) const { return kind(value) == Kind::inside; }
  /// The gradient of a loss over all log-likelihoods is known only when all have been computed: logits are then
  /// computed once more.
  std::vector<Walk> walks() const;
};

std::vector<Head::Walk> Head::walks() const {
  if (positions == 0) return {{nodes.back(), nodes}};
  const auto behind = std::ranges::upper_bound(nodes, loss);
  std::vector<Walk> walks{{loss, {nodes.begin(), behind}}};
  if (behind == nodes.end()) return walks;
  std::vector<size_t> again = nodes;
  std::erase(again, loss);
  walks.push_back({nodes.back(), std::move(again)});
  return walks;
}

/// A product of rows with one matrix, and nothing in its epilogue but a bias.
bool is_plain_product(const Node& node) {
  return is_matmul(node) && !node.flag("transpose_a") && node.in(1).rank() == 2 && !node.has_input(3) &&
         node.outputs.size() == 1;
}

bool is_loss(const Node& node) { return is_cross_entropy(node) || is_log_likelihood(node); }

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
  if (is_log_likelihood(node)) return Kinds{sequences, kept};
  if (is_cross_entropy_backward(node) || is_log_likelihood_backward(node)) return Kinds{inside};
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
  Head head{.loss = loss, .nodes = {*product}, .kinds = {}, .rows = logits.shape.rows(), .bytes = logits.bytes()};
  if (is_log_likelihood(nodes[loss])) head.positions = nodes[loss].in(0)[1];
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
  // All of them run in the last one's place: nobody else may want what they give before, but for log-likelihoods.
  for (size_t i = *product; i < head.nodes.back(); ++i) {
    if (std::ranges::binary_search(head.nodes, i)) continue;
    for (Value input : nodes[i].inputs)
      if (head.kind(input) != Head::Kind::apart && head.kind(input) != Head::Kind::sequences) return std::nullopt;
  }
  for (Value output : graph.outputs())
    if (head.is_inside(output)) return std::nullopt;
  return head;
}

/// Some rows of the logits: of log-likelihoods those of whole sequences, or a part of one.
struct Chunk {
  int64_t first, count;
};

std::vector<Chunk> chunks_of(const Head& head, int64_t most_bytes) {
  const auto rounded_up = [](int64_t x, int64_t step) { return (x + step - 1) / step * step; };
  const int64_t count = std::min(most_chunks, (head.bytes + most_bytes - 1) / most_bytes);
  int64_t rows = (head.rows + count - 1) / count, within = head.rows;
  if (head.positions == 0) {
    rows = rounded_up(rows, row_step);
  } else if (rows >= head.positions) {
    rows = rounded_up(rows, head.positions);
  } else {
    within = head.positions;
    const int64_t parts = std::clamp<int64_t>((within + rows - 1) / rows, 1, most_chunks * within / head.rows);
    rows = rounded_up((within + parts - 1) / parts, row_step);
  }
  std::vector<Chunk> chunks;
  for (int64_t begin = 0; begin < head.rows; begin += within)
    for (int64_t first = 0; first < within; first += rows)
      chunks.push_back({begin + first, std::min(rows, within - first)});
  return chunks;
}

/// Adds the head's nodes for some rows after the others.
class Chunks {
 public:
  Chunks(Rewritten& copy, const Graph& graph, const Head& head, std::vector<Chunk> chunks)
      : copy_(copy),
        graph_(graph),
        head_(head),
        chunks_(std::move(chunks)),
        made_(graph.value_count()),
        parts_(graph.value_count()) {}

  void add(const Head::Walk& walk) {
    for (at_ = 0; at_ < chunks_.size(); ++at_) {
      sliced_.assign(graph_.value_count(), {});
      for (const size_t i : walk.nodes) add(graph_.nodes()[i]);
    }
    for (const size_t i : walk.nodes)
      for (Value original : graph_.nodes()[i].outputs)
        copy_.values[static_cast<size_t>(original.id)] =
            joins(head_.kind(original)) ? joined(original) : made(original);
  }

 private:
  using Kind = Head::Kind;

  static bool joins(Kind kind) { return kind == Kind::joined || kind == Kind::sequences; }
  Value& made(Value original) { return made_[static_cast<size_t>(original.id)]; }
  Values& parts(Value original) { return parts_[static_cast<size_t>(original.id)]; }
  Value joined(Value original) {
    return reshape(copy_.graph, join_rows(copy_.graph, parts(original)), graph_.shape(original));
  }
  const Chunk& chunk() const { return chunks_[at_]; }
  /// Sequences that the chunk's rows belong to.
  int64_t sequences() const { return std::max<int64_t>(1, chunk().count / head_.positions); }

  /// These rows of a value from outside.
  Value rows_of(Value original) {
    Value& slice = sliced_[static_cast<size_t>(original.id)];
    if (!slice) slice = rows(copy_.graph, copy_.of(original), chunk().first, chunk().count);
    return slice;
  }

  /// What a value from outside, a number for each sequence, has for the chunk's.
  Value of_sequences(Value original) {
    const Value columns = reshape(copy_.graph, copy_.of(original), {graph_.shape(original).elements(), 1});
    return reshape(copy_.graph, rows(copy_.graph, columns, chunk().first / head_.positions, sequences()),
                   {sequences()});
  }

  Value input_of(const Node& node, size_t i) {
    const Value input = node.inputs[i];
    const Kind kind = head_.kind(input);
    if (!input) return {};
    if (is_log_likelihood(node) || is_log_likelihood_backward(node)) {
      const int64_t some = sequences();
      if (i == 0) return reshape(copy_.graph, made(input), {some, chunk().count / some, graph_.shape(input).columns()});
      if (i == 3) return of_sequences(input);
    }
    if (kind == Kind::kept) return parts(input)[at_];
    if (kind != Kind::apart) return made(input);
    const bool gives_logits = node.outputs[0] == graph_.nodes()[head_.nodes.front()].outputs[0];
    const bool of_rows = (gives_logits && i == 0) || (sums_products(node) && i < 2);
    return of_rows ? rows_of(input) : copy_.of(input);
  }

  static bool sums_products(const Node& node) { return is_matmul(node) && node.flag("join_rows"); }

  void add(const Node& node) {
    Graph& graph = copy_.graph;
    graph.set_scope(node.scope);
    Values inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(input_of(node, i));
    Attributes attributes = node.attributes;
    if (is_loss(node) || is_cross_entropy_backward(node) || is_log_likelihood_backward(node))
      attributes.set(first_row, static_cast<double>(chunk().first));
    const auto addend = static_cast<size_t>(std::max(node.op->addend, 0));
    const bool continues = sums_products(node) && made(node.outputs[0]);
    if (continues) {
      inputs.resize(std::max(inputs.size(), addend + 1));
      inputs[addend] = made(node.outputs[0]);
    }
    Values outputs = graph.add(*node.op, std::move(inputs), attributes);
    if (is_log_likelihood_backward(node))
      outputs[0] = reshape(graph, outputs[0], {chunk().count, node.out(0).columns()});
    for (size_t o = 0; o < outputs.size(); ++o) take(node.outputs[o], outputs[o], continues);
  }

  /// `continues`: it holds what was made before.
  void take(Value original, Value value, bool continues) {
    Graph& graph = copy_.graph;
    Value& now = made(original);
    switch (head_.kind(original)) {
      case Kind::summed: now = now && !continues ? vkformer::add(graph, now, value) : value; break;
      case Kind::sequences:
        value = reshape(graph, value, {sequences(), 1});
        if (chunk().first % head_.positions != 0) {
          parts(original).back() = vkformer::add(graph, parts(original).back(), value);
          break;
        }
        [[fallthrough]];
      case Kind::joined:
      case Kind::kept: parts(original).push_back(value); break;
      default: now = value;
    }
  }

  Rewritten& copy_;
  const Graph& graph_;
  const Head& head_;
  std::vector<Chunk> chunks_;
  size_t at_ = 0;              ///< the chunk
  Values made_;                ///< by value of the original: of these rows, or the sums so far
  Values sliced_;              ///< by value of the original: its rows
  std::vector<Values> parts_;  ///< by value of the original: what each chunk has of it
};

}  // namespace

Rewritten with_loss_in_chunks(const Graph& graph, int64_t most_bytes) {
  std::optional<Head> head;
  for (size_t i = 0; i < graph.nodes().size() && !head; ++i)
    if (is_loss(graph.nodes()[i])) head = find_head(graph, i);
  if (!head || head->bytes <= most_bytes || head->rows <= row_step) return rewrite(graph, {});
  const std::vector<Head::Walk> walks = head->walks();
  std::optional<Chunks> chunks;
  size_t next = 0;
  return rewrite(graph, {.add = [&](Rewritten& copy, const Node& node, Values inputs) {
                   const size_t here = next++;
                   if (std::ranges::find(head->nodes, here) == head->nodes.end())
                     return copy.graph.add(*node.op, std::move(inputs), node.attributes);
                   if (!chunks) chunks.emplace(copy, graph, *head, chunks_of(*head, most_bytes));
                   for (const Head::Walk& walk : walks)
                     if (walk.place == here) chunks->add(walk);
                   return Values{};
                 }});
}

}  // namespace vkformer
