#include "runtime/passes/whole_rows.h"

#include "runtime/passes/rewrite.h"
#include "shaders/cross_entropy/cross_entropy.h"
#include "shaders/log_likelihood/log_likelihood.h"
#include "shaders/matmul/matmul.h"
#include "shaders/resize_rows/resize_rows.h"

namespace vkformer {

namespace {

constexpr int64_t vector = 8;            ///< values in 16 bytes, of 16 bits each
constexpr int64_t fewest_classes = 256;  ///< below, new columns would be a notable share
/// Sides of the largest blocks of outputs. The fastest kernels for matrix cores are for whole ones alone, whether the
/// classes are columns, rows (of their weight's gradient) or K; on an H200 a step of GPT-2 124M in f16 took 19.7
/// instead of 21.1 ms. Others have no more blocks for it.
constexpr int64_t block = 128;
constexpr int64_t block_share = 128;  ///< and that at most one in so many columns is new

/// Whole blocks where that adds next to nothing, else whole vectors.
int64_t whole(int64_t columns) {
  const auto rounded = [&](int64_t step) { return (columns + step - 1) / step * step; };
  return rounded(block) - columns <= columns / block_share ? rounded(block) : rounded(vector);
}

/// By value id: whether losses alone read it, as logits.
std::vector<bool> logits_of(const Graph& graph) {
  std::vector<bool> read(graph.value_count()), read_otherwise(graph.value_count());
  for (const Node& node : graph.nodes())
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i])
        ((is_cross_entropy(node) || is_log_likelihood(node)) && i == 0 ? read : read_otherwise)[static_cast<size_t>(
            node.inputs[i].id)] = true;
  for (Value output : graph.outputs()) read_otherwise[static_cast<size_t>(output.id)] = true;
  for (size_t i = 0; i < read.size(); ++i) read[i] = read[i] && !read_otherwise[i];
  return read;
}

}  // namespace

Graph with_whole_rows(const Graph& graph) {
  const std::vector<bool> logits = logits_of(graph);
  const auto widened = [&](const Node& node) {
    if (!is_matmul(node) || !node.flag("transpose_b") || node.in(1).rank() != 2 || node.has_input(3)) return false;
    const int64_t columns = node.out(0).columns();
    if (is_blocks(node.input_types[1].dtype)) return false;
    return logits[static_cast<size_t>(node.outputs[0].id)] && columns >= fewest_classes && columns % vector != 0;
  };
  return rewrite(graph, {.add =
                             [&](Rewritten& copy, const Node& node, Values inputs) {
                               if (widened(node)) {
                                 const int64_t columns = whole(node.out(0).columns());
                                 for (size_t i : {1u, 2u})
                                   if (node.has_input(i)) inputs[i] = resize_rows(copy.graph, inputs[i], columns);
                               }
                               return copy.graph.add(*node.op, std::move(inputs),
                                                     node.attributes);  // losses know their classes
                             }})
      .graph;
}

}  // namespace vkformer
