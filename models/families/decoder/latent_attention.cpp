#include "models/families/decoder/latent_attention.h"

#include "models/families/decoder/rotary_tables.h"
#include "shaders/head_norm/head_norm.h"
#include "shaders/matmul/matmul.h"
#include "shaders/reshape/reshape.h"
#include "shaders/slice/slice.h"
#include "shaders/swap_axes/swap_axes.h"

namespace vkformer {

namespace {

// Under the attention's name. Files have K and V of all heads in one tensor.
constexpr const char *to_queries = ".q_proj", *down_to_queries = ".q_a_proj", *up_to_queries = ".q_b_proj";
constexpr const char *query_norm = ".q_a_layernorm", *row_norm = ".kv_a_layernorm", *to_row = ".kv_a_proj_with_mqa";
constexpr const char *keys = ".k_b_proj.weight", *values = ".v_b_proj.weight", *both = ".kv_b_proj.weight";

constexpr float norm_epsilon = 1e-6f;  // whatever that of the layers' norms is

/// Of all heads, [B, T, H * (plain + turned)].
Value queries_of(Layers& layers, const Decoder& d, Value x, const std::string& name) {
  const int64_t columns = d.heads * (d.latent.plain + d.latent.turned);
  if (d.latent.query_rank == 0) return layers.linear(x, name + to_queries, columns, {.bias = false});
  const Value down = layers.linear(x, name + down_to_queries, d.latent.query_rank, {.bias = d.input_bias});
  return layers.linear(layers.rms_norm(down, name + query_norm, norm_epsilon), name + up_to_queries, columns,
                       {.bias = false});
}

/// [B, T, rank + turned]: what keys and values are made of, and the key that all heads share.
Value row_of(Layers& layers, const Decoder& d, Value x, const std::string& name) {
  const int64_t rank = d.latent.rank;
  const Value projected = layers.linear(x, name + to_row, rank + d.latent.turned, {.bias = d.input_bias});
  return head_norm(layers.graph(), projected, {.gain = layers.tensor(name + row_norm + ".weight", {rank})}, {},
                   norm_epsilon);
}

/// Each head of x [B, T, H * columns] by its own matrix: [B, T, H * columns of the results].
Value by_head(Graph& graph, Value x, int64_t heads, Value weights, bool transposed) {
  const Shape shape = graph.shape(x);
  const Value apart = swap_axes(graph, reshape(graph, x, {shape.rows(), heads, shape.columns() / heads}), 0);
  const Value y = matmul(graph, apart, weights, {.transpose_b = transposed});
  return reshape(graph, swap_axes(graph, y, 0), {shape[0], shape[1], heads * graph.shape(y).columns()});
}

}  // namespace

Value latent_attention(Layers& layers, const Decoder& d, Value x, const std::string& name, int64_t index,
                       Value residual) {
  Graph& graph = layers.graph();
  const int64_t rank = d.latent.rank, plain = d.latent.plain, turned = d.latent.turned;
  const int64_t B = graph.shape(x)[0], T = graph.shape(x)[1], H = d.heads, width = rank + turned;
  const int rotary = d.layers[static_cast<size_t>(index)].rotary;

  const Value queries = turn_heads(layers, d, queries_of(layers, d, x, name), rotary,
                                   {.heads = H, .width = plain + turned, .turned = turned, .column = plain});
  const Value of_heads = reshape(graph, queries, {B * T * H, plain + turned});
  const Value seeing = by_head(graph, reshape(graph, slice(graph, of_heads, 0, plain), {B, T, H * plain}), H,
                               layers.tensor(name + keys, {H, plain, rank}), false);
  const Value q =
      reshape(graph, join_columns(graph, {{reshape(graph, seeing, {B * T * H, rank})}, {of_heads, plain, turned}}),
              {B, T, H * width});

  const Value row = turn_heads(layers, d, row_of(layers, d, x, name), rotary,
                               {.heads = 1, .width = turned, .turned = turned, .column = rank});
  // Without a cache it may be differentiated, which keys and values in the same columns can't be.
  const bool cached = static_cast<bool>(layers.pass().position);
  const HeadColumns own_values{cached ? row : slice(graph, row, 0, rank)};
  const Value attended = layers.self_attention(
      {q}, {row}, own_values,
      {.heads = H, .kv_heads = 1, .head_width = width, .value_width = rank, .scale = static_cast<float>(d.score_scale)},
      d.attention_dropout, fmt::format("cache.{}", index));
  const Value y = by_head(graph, attended, H, layers.tensor(name + values, {H, d.latent.value_width, rank}), true);
  return layers.linear(y, join_names(name, d.attention_output), d.width,
                       {.bias = d.output_bias, .scale = d.residual_scale, .residual = residual});
}

void add_latent_attention(ParameterList& list, const Decoder& d, const std::string& name) {
  const int64_t rank = d.latent.rank, query_rank = d.latent.query_rank, plain = d.latent.plain;
  const int64_t turned = d.latent.turned, value_width = d.latent.value_width;
  const int64_t query_columns = d.heads * (plain + turned);
  if (query_rank == 0) {
    list.linear(name + to_queries, d.width, query_columns, false);
  } else {
    list.linear(name + down_to_queries, d.width, query_rank, d.input_bias);
    list.rms_norm(name + query_norm, query_rank);
    list.linear(name + up_to_queries, query_rank, query_columns, false);
  }
  list.linear(name + to_row, d.width, rank + turned, d.input_bias);
  list.rms_norm(name + row_norm, rank);
  const auto add_part = [&](const char* part, int64_t first, int64_t rows) {
    list.normal(name + part, {d.heads, rows, rank});
    list.last().stack = {.tensor = name + both,
                         .count = d.heads,
                         .step = plain + value_width,
                         .layout = ParameterSpec::Stack::Layout::groups,
                         .spans = {{first, rows}}};
  };
  add_part(keys, 0, plain);
  add_part(values, plain, value_width);
  list.linear(join_names(name, d.attention_output), d.heads * value_width, d.width, d.output_bias);
}

}  // namespace vkformer
