#include "models/families/layer_norm_decoder/layer_norm_decoder.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/families/decoder_head.h"
#include "models/families/encoder_decoder/encoder_decoder.h"
#include "shaders/embedding/embedding.h"
#include "shaders/matmul/matmul.h"
#include "shaders/relative_bias/relative_bias.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rope/rope.h"
#include "shaders/slice/slice.h"
#include "shaders/swap_axes/swap_axes.h"

namespace vkformer {

namespace {

using Block = LayerNormDecoder::Block;
using Fused = LayerNormDecoder::Fused;

constexpr const char *rotary_table = "rotary.table", *sinusoid_table = "positions.table";
/// The joint tensor of an attention's input projections.
constexpr std::string_view joint_qkv = "qkv_proj";
/// A table of one token, zeros, as are all that it lacks: positions alone are looked up beside it.
constexpr const char* blank_table = "positions.blank";

/// Of ALiBi: what a score loses by its distance, [positions, H], and which row a distance has.
constexpr const char *bias_table = "alibi.table", *bias_rows = "alibi.rows";

/// How steeply the scores of each head fall: 2^(-least h / H) for H a power of two; for others those of the power below
/// it, and every second of twice as many.
std::vector<double> slopes_of(int64_t heads, double least) {
  int64_t power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<double> slopes;
  for (int64_t h = 1; h <= power; ++h)
    slopes.push_back(std::exp2(-least * static_cast<double>(h) / static_cast<double>(power)));
  for (int64_t h = 1; std::ssize(slopes) < heads; h += 2)
    slopes.push_back(std::exp2(-least / 2 * static_cast<double>(h) / static_cast<double>(power)));
  return slopes;
}

std::string layer_of(const LayerNormDecoder& d, int64_t layer) { return fmt::format("{}.{}", d.names.layer, layer); }

/// One pass through a decoder in a graph.
class LayerNormBuilder {
 public:
  LayerNormBuilder(Graph& graph, const LayerNormDecoder& decoder, const Pass& pass)
      : decoder_(decoder), layers_(graph, pass) {}

  Value hidden() {
    Value x = embed();
    if (decoder_.names.tokens_norm) x = norm(x, decoder_.names.tokens_norm);
    x = layers_.drop(x, decoder_.embedding_dropout);
    if (decoder_.linear_biases) bias_ = linear_bias(layers_.graph().shape(x)[1]);
    for (size_t layer = 0; layer < decoder_.windows.size(); ++layer) x = block(x, static_cast<int64_t>(layer));
    if (decoder_.ends_with_norm) x = norm(x, decoder_.names.last_norm);
    if (!decoder_.projects()) return x;
    return layers_.linear(x, decoder_.names.project_out, decoder_.token_width(), {.bias = false});
  }

 private:
  Value norm(Value x, const std::string& name) {
    return layers_.layer_norm(x, name, decoder_.epsilon, decoder_.norm_bias);
  }

  Value embed() {
    const Value tokens =
        layers_.tensor(join_names(decoder_.names.tokens, "weight"), {decoder_.vocabulary, decoder_.token_width()});
    if (!decoder_.projects()) return look_up(tokens, true);
    const Value positions =
        decoder_.names.positions ? look_up(layers_.constant(blank_table, {1, decoder_.width}), true) : Value{};
    return layers_.linear(look_up(tokens, false), decoder_.names.project_in, decoder_.width,
                          {.bias = false, .residual = positions});
  }

  /// [1, H, T, S], for all layers. Rows of a batch that are at positions of their own get what is right but for a
  /// number that is the same for all keys, which softmax does not see.
  Value linear_bias(int64_t positions) {
    Graph& graph = layers_.graph();
    const Graph::Scope scope(graph, "bias");
    const Pass& pass = layers_.pass();
    const bool apart = pass.position && graph.shape(pass.position)[0] > 1;
    return relative_bias(graph, layers_.constant(bias_table, {decoder_.context, decoder_.heads}),
                         layers_.constant(bias_rows, {decoder_.context}, DType::i32),
                         {.queries = positions,
                          .keys = pass.position ? pass.capacity : positions,
                          .zero = apart ? 0 : decoder_.context - 1,
                          .position = apart ? Value{} : pass.position});
  }

  /// The pass's rows of a table, with those of their positions where there are learned ones.
  Value look_up(Value table, bool positions) {
    const Pass& pass = layers_.pass();
    EmbeddingOptions options{.scale = decoder_.embedding_scale};
    const int64_t rows = decoder_.first_position + decoder_.context;
    if (positions && decoder_.names.positions)
      options.position_table = layers_.tensor(join_names(decoder_.names.positions, "weight"), {rows, decoder_.width});
    if (positions && decoder_.sinusoids)
      options.position_table = layers_.constant(sinusoid_table, {rows, decoder_.width});
    if (options.position_table) {
      options.position = pass.first();
      options.first_position = decoder_.first_position;
    }
    return embedding(layers_.graph(), table, pass.ids, options);
  }

  Value block(Value x, int64_t layer) {
    const std::string name = layer_of(decoder_, layer);
    const LayerNormDecoder::Names& names = decoder_.names;
    const Graph::Scope scope(layers_.graph(), fmt::format("layers.{}", layer));
    const std::string first = join_names(name, names.first_norm);
    if (decoder_.block == Block::after) {
      const Value sum = norm(attend(x, name, layer, x), first);
      return norm(feed_forward(sum, name, sum), join_names(name, names.second_norm));
    }
    const Value normed = norm(x, first);
    const Value sum = attend(normed, name, layer, x);
    if (decoder_.block == Block::one_norm) return feed_forward(normed, name, sum);
    const Value in = norm(decoder_.block == Block::parallel ? x : sum, join_names(name, names.second_norm));
    return feed_forward(in, name, sum);
  }

  /// What the attention makes of x, added to the residual.
  Value attend(Value x, const std::string& layer, int64_t index, Value residual) {
    const int64_t D = decoder_.head_width, heads = decoder_.heads, kv_heads = decoder_.kv_heads;
    const std::string name = join_names(layer, decoder_.names.attention);
    const Value qkv = turn(project(x, name));
    const Value attended = layers_.self_attention({qkv, 0}, {qkv, heads * D}, {qkv, (heads + kv_heads) * D},
                                                  {.heads = heads,
                                                   .kv_heads = kv_heads,
                                                   .head_width = D,
                                                   .scale = static_cast<float>(decoder_.score_scale),
                                                   .causal = true,
                                                   .window = decoder_.windows[static_cast<size_t>(index)],
                                                   .bias = bias_},
                                                  decoder_.attention_dropout, fmt::format("cache.{}", index));
    return layers_.linear(attended, join_names(layer, decoder_.names.attention_output), decoder_.width,
                          {.bias = decoder_.output_bias, .dropout = decoder_.output_dropout, .residual = residual});
  }

  /// The heads of q, of k and of v, one after the other.
  Value project(Value x, const std::string& name) {
    const int64_t D = decoder_.head_width, H = decoder_.heads, groups = decoder_.kv_heads;
    const int64_t columns = (H + 2 * groups) * D;
    const char* fused = decoder_.names.fused;
    Value qkv = layers_.linear(x, join_names(name, fused ? fused : joint_qkv), columns, {.bias = decoder_.input_bias});
    if (!fused || groups == 1 || decoder_.fused == Fused::parts) return qkv;
    // The file keeps q, k and v of a group together, or of a quarter of all heads.
    Graph& graph = layers_.graph();
    const Graph::Scope scope(graph, "attention");
    const Shape shape = graph.shape(qkv);
    const bool pieces = decoder_.fused == Fused::pieces;
    if (groups == H && !pieces) {
      qkv = swap_axes(graph, reshape(graph, qkv, {shape[0], shape[1], H, 3, D}), 2);
      return reshape(graph, qkv, shape);
    }
    const int64_t count = pieces ? LayerNormDecoder::pieces : groups;
    const int64_t queries = H / count * D, keys = groups / count * D;
    const Value each = reshape(graph, qkv, {shape[0] * shape[1] * count, queries + 2 * keys});
    const auto part = [&](int64_t first, int64_t width) -> ColumnRange {
      return {reshape(graph, slice(graph, each, first, width), {shape[0], shape[1], count * width})};
    };
    const auto behind = [&](int64_t place) { return part(queries + place * keys, keys); };
    return join_columns(graph, {part(0, queries), behind(pieces ? 1 : 0), behind(pieces ? 0 : 1)});
  }

  Value turn(Value qkv) {
    if (decoder_.turned == 0) return qkv;
    return rope(layers_.graph(), qkv, layers_.constant(rotary_table, {decoder_.context, decoder_.turned}),
                {.heads = decoder_.heads + decoder_.kv_heads,
                 .head_width = decoder_.head_width,
                 .rotary_width = decoder_.turned,
                 .interleaved = decoder_.interleaved,
                 .position = layers_.pass().first()});
  }

  Value feed_forward(Value x, const std::string& layer, Value residual) {
    const Value inner = layers_.linear(x, join_names(layer, decoder_.names.inner), decoder_.inner,
                                       {.bias = decoder_.inner_bias, .activation = decoder_.activation});
    return layers_.linear(inner, join_names(layer, decoder_.names.outer), decoder_.width,
                          {.bias = decoder_.inner_bias, .dropout = decoder_.output_dropout, .residual = residual});
  }

  const LayerNormDecoder& decoder_;
  Layers layers_;
  Value bias_ = {};
};

std::vector<ParameterSpec> parameters_of(const LayerNormDecoder& d) {
  const LayerNormDecoder::Names& names = d.names;
  const int64_t q_width = d.heads * d.head_width, kv_width = d.kv_heads * d.head_width;
  ParameterList list(d.deviation);
  list.normal(join_names(names.tokens, "weight"), {d.vocabulary, d.token_width()});
  if (d.tied && !d.classes) list.last().other_names = {join_names(names.head, "weight")};
  if (names.tokens_norm) list.layer_norm(names.tokens_norm, d.width, d.norm_bias);
  if (names.positions) list.normal(join_names(names.positions, "weight"), {d.first_position + d.context, d.width});
  if (d.projects()) list.linear(names.project_in, d.token_width(), d.width, false);
  for (int64_t i = 0; i < std::ssize(d.windows); ++i) {
    const std::string layer = layer_of(d, i), attention = join_names(layer, names.attention);
    list.layer_norm(join_names(layer, names.first_norm), d.width, d.norm_bias);
    if (d.block != Block::one_norm) list.layer_norm(join_names(layer, names.second_norm), d.width, d.norm_bias);
    if (names.fused)
      list.linear(join_names(attention, names.fused), d.width, q_width + 2 * kv_width, d.input_bias);
    else
      list.joint_linear(attention, joint_qkv, {{"q_proj", q_width}, {"k_proj", kv_width}, {"v_proj", kv_width}},
                        d.width, d.input_bias);
    list.linear(join_names(layer, names.attention_output), q_width, d.width, d.output_bias);
    list.linear(join_names(layer, names.inner), d.width, d.inner, d.inner_bias);
    list.linear(join_names(layer, names.outer), d.inner, d.width, d.inner_bias);
  }
  if (d.ends_with_norm) list.layer_norm(names.last_norm, d.width, d.norm_bias);
  if (d.projects()) list.linear(names.project_out, d.width, d.token_width(), false);
  if (d.classes)
    add_class_head(list, d.token_width(), *d.classes);
  else if (!d.tied)
    list.linear(names.head, d.token_width(), d.vocabulary, d.head_bias);
  else if (d.head_bias)
    list.zeros(join_names(names.head, "bias"), {d.vocabulary});
  return list.take();
}

Value token_logits(Graph& graph, const LayerNormDecoder& d, Value hidden) {
  const Graph::Scope scope(graph, d.names.head);
  const std::string name = join_names(d.tied ? d.names.tokens : d.names.head, "weight");
  const Value bias = d.head_bias ? graph.persistent(join_names(d.names.head, "bias"), {d.vocabulary}) : Value{};
  return matmul(graph, hidden, graph.persistent(name, {d.vocabulary, d.token_width()}),
                {.transpose_b = true, .bias = bias});
}

}  // namespace

Model make_layer_norm_decoder(const LayerNormDecoder& decoder, const nlohmann::json& config) {
  Model model{.family = decoder.family,
              .task = decoder_task(decoder.classes),
              .parameters = parameters_of(decoder),
              .vocabulary = decoder.vocabulary,
              .context = decoder.context,
              .layers = std::ssize(decoder.windows)};
  if (decoder.turned > 0)
    model.constants.push_back({rotary_table,
                               {{decoder.context, decoder.turned}},
                               [angles = decoder.rotary, positions = decoder.context, width = decoder.turned] {
                                 return angles.table(positions, width);
                               }});
  if (decoder.linear_biases) {
    model.constants.push_back({bias_table,
                               {{decoder.context, decoder.heads}},
                               [positions = decoder.context, heads = decoder.heads, least = decoder.least_slope] {
                                 const std::vector<double> slopes = slopes_of(heads, least);
                                 std::vector<float> values;
                                 for (int64_t p = 0; p < positions; ++p)
                                   for (const double slope : slopes)
                                     values.push_back(
                                         static_cast<float>(slope * static_cast<double>(p + 1 - positions)));
                                 return values;
                               }});
    model.constants.push_back({bias_rows, {{decoder.context}, DType::i32}, [positions = decoder.context] {
                                 std::vector<float> rows(static_cast<size_t>(positions));
                                 std::iota(rows.begin(), rows.end(), 0.0f);
                                 return rows;
                               }});
  }
  if (decoder.sinusoids) {
    const int64_t rows = decoder.first_position + decoder.context;
    model.constants.push_back({sinusoid_table, {{rows, decoder.width}}, [rows, columns = decoder.width] {
                                 return sinusoids(EncoderDecoderConfig::Positions::fairseq, rows, columns);
                               }});
  }
  if (decoder.projects() && decoder.names.positions)
    model.constants.push_back({blank_table, {{1, decoder.width}}, [columns = static_cast<size_t>(decoder.width)] {
                                 return std::vector<float>(columns);
                               }});
  model.config = std::make_shared<const nlohmann::json>(config);
  model.hidden = [decoder](Graph& graph, const Pass& pass) { return LayerNormBuilder(graph, decoder, pass).hidden(); };
  model.head = [decoder](Graph& graph, const Pass& pass, Value hidden) {
    return decoder.classes ? class_logits(graph, pass, hidden, *decoder.classes) : token_logits(graph, decoder, hidden);
  };
  return model;
}

}  // namespace vkformer
