#include "models/families/bert/disentangled.h"

#include <algorithm>
#include <cmath>

#include "models/families/bert/bert_parameters.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/embedding/embedding.h"
#include "shaders/matmul/matmul.h"
#include "shaders/relative_shift/relative_shift.h"
#include "shaders/slice/slice.h"
#include "shaders/swap_axes/swap_axes.h"

namespace vkformer::bert {

namespace {

constexpr const char *rows_of_distances = "deberta.encoder.rows", *rows_of_opposites = "deberta.encoder.opposite_rows";
constexpr double score_terms = 3;  ///< content to content, content to position, position to content

}  // namespace

int64_t distance_row(const BertConfig& c, int64_t distance) {
  const int64_t span = c.distance_span(), middle = c.buckets / 2;
  int64_t bucket = std::abs(distance);
  if (c.buckets > 0 && bucket > middle) {
    const auto ratio = [&](int64_t far) { return std::log(static_cast<double>(far) / static_cast<double>(middle)); };
    bucket = middle +
             static_cast<int64_t>(std::ceil(ratio(bucket) / ratio(c.farthest - 1) * static_cast<double>(middle - 1)));
  }
  return std::clamp<int64_t>(distance < 0 ? span - bucket : span + bucket, 0, 2 * span - 1);
}

std::vector<ConstantSpec> distance_constants(const BertConfig& config) {
  const auto list = [config](int64_t sign) {
    std::vector<float> rows;
    for (int64_t distance = config.context; distance > -config.context; --distance)
      rows.push_back(static_cast<float>(distance_row(config, sign * distance)));
    return rows;
  };
  const TensorType type{{2 * config.context}, DType::i32};
  return {{rows_of_distances, type, [list] { return list(1); }},
          {rows_of_opposites, type, [list] { return list(-1); }}};
}

Value distances_of(Layers& layers, const BertConfig& config) {
  return layers.layer_norm(layers.tensor(distance_table, {2 * config.distance_span(), config.width}), distance_norm,
                           config.epsilon);
}

Value disentangled_attention(Layers& layers, const BertConfig& config, Value x, Value distances,
                             const std::string& layer) {
  Graph& graph = layers.graph();
  const Names& names = names_of(config);
  const int64_t positions = graph.shape(x)[1], width = config.width / config.heads;
  const auto scale = static_cast<float>(1 / std::sqrt(score_terms * static_cast<double>(width)));
  const auto project = [&](Value value, std::string_view name) {
    return layers.linear(value, join_names(layer, name), config.width);
  };
  const Value q = project(x, names.query), k = project(x, names.key), v = project(x, names.value);
  const Graph::Scope scope(graph, "attention");
  const Value table = layers.drop(distances, config.dropout);
  // [B, H, T, T]: what each row of `content` is to its distance to each position, from T to -T + 1.
  const auto scores = [&](Value content, const char* rows, std::string_view name) {
    const Value all = layers.constant(rows, {2 * config.context}, DType::i32);
    const Value at = slice(graph, all, config.context - positions, 2 * positions);
    const Value projected = layers.heads_first(project(embedding(graph, table, at), name), config.heads);
    return relative_shift(graph,
                          matmul(graph, layers.heads_first(content, config.heads), projected, {.transpose_b = true}),
                          {}, {}, {.batches = graph.shape(x)[0], .scale = scale});
  };
  const Value to_position = scores(q, rows_of_distances, names.key);
  // Keys to the distances that queries have to them.
  const Value to_content = swap_axes(graph, scores(k, rows_of_opposites, names.query), 2);
  return layers.self_attention({q}, {k}, {v},
                               {.heads = config.heads,
                                .head_width = width,
                                .scale = scale,
                                .causal = false,
                                .bias = add(graph, to_position, to_content)},
                               config.attention_dropout, "");
}

}  // namespace vkformer::bert
