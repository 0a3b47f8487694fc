#include "models/families/decoder/self_attention.h"

#include <algorithm>
#include <tuple>

#include "models/families/decoder/norms.h"
#include "models/families/decoder/rotary_tables.h"
#include "shaders/head_norm/head_norm.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rows/rows.h"
#include "shaders/slice/slice.h"

namespace vkformer {

namespace {

/// The joint tensors of an attention's input projections: of all, and of k and v where q's has gates.
constexpr std::string_view qkv = "qkv_proj", kv = "kv_proj", qk = "qk_proj";
constexpr const char* attention_sinks = ".sinks";

/// Of one layer.
class SelfAttention {
 public:
  SelfAttention(Layers& layers, const Decoder& decoder, const Decoder::Layer& layer, const std::string& name)
      : layers_(layers), decoder_(decoder), layer_(layer), name_(name) {}

  Value attend(Value x, int64_t index, Value residual, SeenKeys& all_seen) {
    const int64_t D = decoder_.head_width_of(layer_), heads = decoder_.heads, kv_heads = decoder_.kv_heads_of(layer_);
    Value projected, gate;
    if (decoder_.output_gate)
      std::tie(projected, gate) = project_gated(x);
    else
      projected = project(x);
    const Value y = decoder_.norms_turned ? norm_queries(turn(projected)) : turn(norm_queries(projected));
    AttentionOptions options{.heads = heads,
                             .kv_heads = kv_heads,
                             .head_width = D,
                             .scale = static_cast<float>(decoder_.score_scale),
                             .causal = !decoder_.both_ways,
                             .window = layer_.window,
                             .softcap = static_cast<float>(decoder_.score_cap)};
    if (const Value sees = layer_.window > 0 ? layers_.pass().sees_in_window : layers_.pass().sees) {
      options.causal = false;
      options.window = 0;
      options.mask = sees;
    }
    if (decoder_.sinks) options.sinks = layers_.tensor(name_ + attention_sinks, {heads});
    if (decoder_.both_ways && layer_.window > 0) layers_.see_both_ways(options, window_reach(decoder_, layer_.window));
    if (layer_.kv_layer < 0)
      all_seen[index] =
          layers_.in_cache({{y, heads * D}, {y, (heads + kv_heads) * D}}, options, fmt::format("cache.{}", index));
    KeysValues seen = all_seen.at(layer_.kv_layer < 0 ? index : layer_.kv_layer);
    if (!options.causal && options.mask) seen = first_keys(seen, layers_.graph().shape(options.mask)[2]);
    Value attended = layers_.attend({y, 0}, seen, options, decoder_.attention_dropout);
    if (gate) attended = gated_unit(layers_.graph(), Gate::sigmoid, gate, attended);
    return layers_.linear(attended, join_names(name_, decoder_.attention_output), decoder_.width,
                          {.bias = decoder_.output_bias,
                           .scale = decoder_.residual_scale * decoder_.attention_scale,
                           .dropout = decoder_.output_dropout,
                           .residual = residual});
  }

 private:
  /// Of a cache of one text.
  KeysValues first_keys(const KeysValues& all, int64_t count) {
    const auto part = [&](Value cache) {
      Graph& graph = layers_.graph();
      if (graph.shape(cache)[1] == count) return cache;
      return reshape(graph, rows(graph, cache, 0, count), {1, count, graph.shape(cache)[2]});
    };
    KeysValues first = all;
    first.k.value = part(all.k.value);
    first.v.value = all.v.value == all.k.value ? first.k.value : part(all.v.value);
    return first;
  }

  /// Of queries, keys and values side by side, or of queries alone.
  Value norm_queries(Value projected) {
    if (decoder_.query_norms == Decoder::QueryNorms::none) return projected;
    const Graph::Scope scope(layers_.graph(), "qk_norm");
    const bool each = decoder_.query_norms == Decoder::QueryNorms::head;
    const int64_t D = decoder_.head_width_of(layer_), kv_heads = decoder_.kv_heads_of(layer_);
    if (layer_.kv_layer >= 0) {
      const Shape shape = layers_.graph().shape(projected);
      const Value heads = reshape(layers_.graph(), projected, {shape[0], shape[1], decoder_.heads, D});
      const Value normed =
          layers_.rms_norm(heads, join_names(name_, decoder_.query_norm), decoder_.epsilon, gain_offset(decoder_));
      return reshape(layers_.graph(), normed, shape);
    }
    const auto part = [&](const char* norm, int64_t heads) -> HeadNormPart {
      const int64_t width = each ? D : heads * D;
      const Value gain = has_gains(decoder_) ? layers_.tensor(fmt::format("{}.{}.weight", name_, norm), {width})
                                             : layers_.constant(head_unit_gain, {width});
      return {.gain = gain, .heads = each ? heads : 1};
    };
    return head_norm(layers_.graph(), projected, part(decoder_.query_norm, decoder_.heads),
                     part(decoder_.key_norm, kv_heads), static_cast<float>(decoder_.epsilon),
                     static_cast<float>(gain_offset(decoder_)), decoder_.value_norms ? kv_heads : 0);
  }

  Value turn(Value x) {
    if (layer_.rotary < 0) return x;
    const int64_t D = decoder_.head_width_of(layer_), turned = decoder_.turned(D);
    const int64_t kv_heads = layer_.kv_layer < 0 ? decoder_.kv_heads_of(layer_) : 0;
    const auto turn_some = [&](Value in, int64_t first, int64_t heads, bool queries) {
      return turn_heads(layers_, decoder_, in, layer_.rotary,
                        {.heads = heads, .width = D, .turned = turned, .column = first * D}, queries);
    };
    if (!queries_grow(layers_, decoder_, x, layer_.rotary)) return turn_some(x, 0, decoder_.heads + kv_heads, false);
    return turn_some(turn_some(x, 0, decoder_.heads, true), decoder_.heads, kv_heads, false);
  }

  /// The projections of an attention's input, and the gates of its results: q's tensor has those of each head behind
  /// it.
  std::pair<Value, Value> project_gated(Value x) {
    Graph& graph = layers_.graph();
    const int64_t B = graph.shape(x)[0], T = graph.shape(x)[1], D = decoder_.head_width, heads = decoder_.heads;
    const Value both = layers_.linear(x, name_ + ".q_proj", 2 * heads * D, {.bias = decoder_.input_bias});
    const auto half = [&](int64_t first) {
      return reshape(graph, slice(graph, reshape(graph, both, {B * T * heads, 2 * D}), first, D), {B, T, heads * D});
    };
    const Value others =
        layers_.linear(x, join_names(name_, kv), 2 * decoder_.kv_heads * D, {.bias = decoder_.input_bias});
    return {join_columns(graph, {{half(0)}, {others}}), half(D)};
  }

  /// Queries, keys and values of a layer side by side; queries alone where it has no others.
  Value project(Value x) {
    const int64_t D = decoder_.head_width_of(layer_), heads = decoder_.heads, kv_heads = decoder_.kv_heads_of(layer_);
    const auto linear = [&](std::string_view part, int64_t columns) {
      return layers_.linear(x, join_names(name_, part), columns * D, {.bias = decoder_.input_bias});
    };
    if (layer_.kv_layer >= 0) return linear("q_proj", heads);
    if (!layer_.keys_as_values) return linear(qkv, heads + 2 * kv_heads);
    const Value both = linear(qk, heads + kv_heads);
    return join_columns(layers_.graph(), {{both}, {both, heads * D, kv_heads * D}});
  }

  Layers& layers_;
  const Decoder& decoder_;
  const Decoder::Layer& layer_;
  const std::string& name_;
};

}  // namespace

int64_t window_reach(const Decoder& decoder, int64_t window) { return std::min(window / 2, decoder.context); }

Value self_attention(Layers& layers, const Decoder& decoder, Value x, const std::string& name, int64_t index,
                     Value residual, SeenKeys& seen) {
  const Decoder::Layer& layer = decoder.layers[static_cast<size_t>(index)];
  return SelfAttention(layers, decoder, layer, name).attend(x, index, residual, seen);
}

void add_self_attention(ParameterList& list, const Decoder& d, const Decoder::Layer& layer, const std::string& name) {
  const int64_t D = d.head_width_of(layer);
  const int64_t q_width = d.heads * D, kv_width = d.kv_heads_of(layer) * D;
  if (layer.kv_layer >= 0) {
    list.linear(name + ".q_proj", d.width, q_width, d.input_bias);
  } else if (layer.keys_as_values) {
    list.joint_linear(name, qk, {{"q_proj", q_width}, {"k_proj", kv_width}}, d.width, d.input_bias);
  } else if (d.output_gate) {
    list.linear(name + ".q_proj", d.width, 2 * q_width, d.input_bias);
    list.joint_linear(name, kv, {{"k_proj", kv_width}, {"v_proj", kv_width}}, d.width, d.input_bias);
  } else if (d.joint_inputs) {
    list.linear(join_names(name, qkv), d.width, q_width + 2 * kv_width, d.input_bias);
  } else {
    list.joint_linear(name, qkv, {{"q_proj", q_width}, {"k_proj", kv_width}, {"v_proj", kv_width}}, d.width,
                      d.input_bias);
  }
  if (d.query_norms != Decoder::QueryNorms::none) {
    const bool each = d.query_norms == Decoder::QueryNorms::head;
    add_gain(list, d, join_names(name, d.query_norm), each ? D : q_width);
    if (layer.kv_layer < 0) add_gain(list, d, join_names(name, d.key_norm), each ? D : kv_width);
  }
  list.linear(join_names(name, d.attention_output), q_width, d.width, d.output_bias);
  if (d.sinks) list.normal(name + attention_sinks, {d.heads});
}

}  // namespace vkformer
