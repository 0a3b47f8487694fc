#include "models/families/decoder/latent_attention.h"

#include "models/families/decoder/rotary_tables.h"
#include "shaders/head_norm/head_norm.h"
#include "shaders/matmul/matmul.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rows/rows.h"
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

/// Columns of a head's query, and of its key.
int64_t query_width(const Decoder& d) { return d.latent.plain + d.latent.turned; }

/// Of every head to the rows, as keys and, their first columns, as values.
AttentionOptions to_rows(const Decoder& d) {
  return {.heads = d.heads,
          .kv_heads = 1,
          .head_width = d.latent.rank + d.latent.turned,
          .value_width = d.latent.rank,
          .scale = static_cast<float>(d.score_scale)};
}

/// The rows [B, S, width] that this pass sees: its own, or of the cache.
KeysValues seen_rows(Layers& layers, Value own, const KeysValues& rows) {
  Graph& graph = layers.graph();
  const Shape shape = graph.shape(rows.k.value);
  const int64_t seen = layers.pass().seen;
  if (!rows.cached || seen == graph.shape(own)[1]) return {{own}, {own}};
  if (seen == shape[1]) return rows;
  // Rows of one text are one piece.
  const Value first =
      shape[0] == 1 ? vkformer::rows(graph, rows.k.value, 0, seen)
                    : slice(graph, reshape(graph, rows.k.value, {shape[0], shape[1] * shape[2]}), 0, seen * shape[2]);
  const Value of_texts = reshape(graph, first, {shape[0], seen, shape[2]});
  return {{of_texts}, {of_texts}, true};
}

/// Attention to keys and values that are made of the rows: [B, T, H * value_width].
Value attend_formed(Layers& layers, const Decoder& d, Value queries, const KeysValues& rows, const std::string& name) {
  Graph& graph = layers.graph();
  const Value row = rows.k.value;
  const int64_t rank = d.latent.rank, B = graph.shape(row)[0], S = graph.shape(row)[1];
  const Value made_of = slice(graph, row, 0, rank);
  const auto form = [&](const char* weights, int64_t width) {
    const Value of_heads = layers.tensor(name + weights, {d.heads, width, rank});
    return matmul(graph, made_of, reshape(graph, of_heads, {d.heads * width, rank}), {.transpose_b = true});
  };
  const Value plain = reshape(graph, form(keys, d.latent.plain), {B * S * d.heads, d.latent.plain});
  const Value k = join_columns(graph, {{plain}, {row, rank, d.latent.turned, d.heads}});
  return layers.attend(
      {queries},
      {{reshape(graph, k, {B, S, d.heads * query_width(d)})}, {form(values, d.latent.value_width)}, rows.cached},
      {.heads = d.heads,
       .head_width = query_width(d),
       .value_width = d.latent.value_width,
       .scale = static_cast<float>(d.score_scale)},
      d.attention_dropout);
}

/// Attention to the rows themselves.
Value attend_rows(Layers& layers, const Decoder& d, Value queries, const KeysValues& rows, const std::string& name) {
  Graph& graph = layers.graph();
  const int64_t H = d.heads, rank = d.latent.rank, plain = d.latent.plain, turned = d.latent.turned;
  const int64_t B = graph.shape(queries)[0], T = graph.shape(queries)[1];
  const Value of_heads = reshape(graph, queries, {B * T * H, plain + turned});
  const Value seeing = by_head(graph, reshape(graph, slice(graph, of_heads, 0, plain), {B, T, H * plain}), H,
                               layers.tensor(name + keys, {H, plain, rank}), false);
  const Value q =
      reshape(graph, join_columns(graph, {{reshape(graph, seeing, {B * T * H, rank})}, {of_heads, plain, turned}}),
              {B, T, H * (rank + turned)});
  const Value attended = layers.attend({q}, rows, to_rows(d), d.attention_dropout);
  return by_head(graph, attended, H, layers.tensor(name + values, {H, d.latent.value_width, rank}), true);
}

}  // namespace

Value latent_attention(Layers& layers, const Decoder& d, Value x, const std::string& name, int64_t index,
                       Value residual) {
  const int64_t turned = d.latent.turned;
  const int rotary = d.layers[static_cast<size_t>(index)].rotary;
  const Value queries =
      turn_heads(layers, d, queries_of(layers, d, x, name), rotary,
                 {.heads = d.heads, .width = query_width(d), .turned = turned, .column = d.latent.plain});
  const Value row = turn_heads(layers, d, row_of(layers, d, x, name), rotary,
                               {.heads = 1, .width = turned, .turned = turned, .column = d.latent.rank});
  const KeysValues rows = layers.in_cache({{row}, {row}}, to_rows(d), fmt::format("cache.{}", index));
  const Value attended = !layers.pass().position || layers.pass().seen > 0
                             ? attend_formed(layers, d, queries, seen_rows(layers, row, rows), name)
                             : attend_rows(layers, d, queries, rows, name);
  return layers.linear(attended, join_names(name, d.attention_output), d.width,
                       {.bias = d.output_bias, .scale = d.residual_scale, .residual = residual});
}

bool forming_pays(const Decoder& d, int64_t rows, int64_t positions, int64_t seen) {
  constexpr int64_t fewest_positions = 128, most_values = int64_t{1} << 28;
  return positions >= fewest_positions &&
         rows * seen * d.heads * (query_width(d) + d.latent.value_width) <= most_values;
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
