#include "models/families/decoder/decoder.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "models/families/decoder/delta_net.h"
#include "models/families/decoder/feed_forward.h"
#include "models/families/decoder/layer_inputs.h"
#include "models/families/decoder/mamba.h"
#include "models/families/decoder/mixture.h"
#include "models/families/decoder/short_convolution.h"
#include "models/families/decoder_head.h"
#include "shaders/embedding/embedding.h"
#include "shaders/head_norm/head_norm.h"
#include "shaders/layer_norm/layer_norm.h"
#include "shaders/matmul/matmul.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rms_norm/rms_norm.h"
#include "shaders/rope/rope.h"
#include "shaders/slice/slice.h"

namespace vkformer {

namespace {

using Norm = Decoder::Norm;
using Norms = Decoder::Norms;
using Mixer = Decoder::Mixer;

/// The joint tensors of an attention's input projections: of all, and of k and v where q's has gates.
constexpr std::string_view qkv = "qkv_proj", kv = "kv_proj", qk = "qk_proj";
constexpr const char *attention_sinks = ".sinks", *layer_scale = ".layer_scalar";
/// The gains of norms that have none, of layers and of heads.
constexpr const char *unit_gain = "norm.ones", *head_unit_gain = "norm.ones.head";

bool has_gains(const Decoder& d) { return d.norm != Norm::plain && d.norm != Norm::rms_plain; }

/// Positions that a window shows to either side.
int64_t reach_of(const Decoder& d, int64_t window) { return std::min(window / 2, d.context); }

/// In files.
std::string_view mixer_name(Mixer mixer) {
  switch (mixer) {
    case Mixer::delta_net: return "linear_attn";
    case Mixer::short_convolution: return "conv";
    case Mixer::mamba: return "mamba";
    case Mixer::attention: break;
  }
  return "self_attn";
}

std::string layer_name(int64_t layer) { return fmt::format("model.layers.{}", layer); }

/// The angles of one of the decoder's rotaries; longrope has two tables.
struct RotaryTable {
  std::string name;
  int64_t positions;
};

RotaryTable rotary_table(const Decoder& d, size_t rotary, bool stretched) {
  const RotaryConfig& angles = d.rotaries[rotary];
  const bool two = angles.stretches(d.context);
  return {fmt::format("rotary.table{}{}", rotary == 0 ? "" : fmt::format(".{}", rotary), stretched ? ".long" : ""),
          two && !stretched ? angles.original_context : d.context};
}

/// The angles that queries turn by where they grow, too.
std::string query_table(const std::string& table) { return table + ".queries"; }

/// Norms of a layer's part, by their names in the file; empty: there is none.
struct PartNorms {
  std::string_view before, after;
};

PartNorms attention_norms(const Decoder& d) {
  switch (d.norms) {
    case Norms::before:
    case Norms::parallel: return {d.attention_before, ""};
    case Norms::after: return {"", d.attention_after};
    case Norms::around: break;
  }
  return {d.attention_before, d.attention_after};
}

PartNorms feed_forward_norms(const Decoder& d) {
  switch (d.norms) {
    case Norms::before: return {d.inner_first, ""};
    case Norms::parallel: return {"", ""};
    case Norms::after: return {"", d.inner_after};
    case Norms::around: break;
  }
  return {d.inner_before, d.inner_after};
}

/// A layer's feed-forward layer, its mixture of experts, or both: of each the name in the file.
struct InnerParts {
  std::string feed_forward, mixture;
};

InnerParts inner_parts(const Decoder& d, int64_t layer) {
  const bool experts = d.layers[static_cast<size_t>(layer)].experts;
  return {!experts || d.experts.beside ? join_names(layer_name(layer), d.inner_name) : "",
          experts ? join_names(layer_name(layer), d.experts.name) : ""};
}

/// The decoder with the width that this layer's feed-forward layer has.
Decoder with_inner(const Decoder& d, int64_t layer) {
  Decoder own = d;
  own.inner = d.inner_of(d.layers[static_cast<size_t>(layer)]);
  return own;
}

/// One pass through a decoder in a graph.
class Builder {
 public:
  Builder(Graph& graph, const Decoder& decoder, const Pass& pass) : decoder_(decoder), layers_(graph, pass) {}

  Value hidden() {
    const Value tokens = layers_.tensor("model.embed_tokens.weight", {decoder_.vocabulary, decoder_.width});
    Value x = embedding(layers_.graph(), tokens, layers_.pass().ids, {.scale = decoder_.embedding_scale});
    if (decoder_.embedding_normed) x = norm(x, decoder_.last_norm);
    if (decoder_.layer_inputs.width > 0) inputs_ = all_layer_inputs(layers_, decoder_, x);
    for (size_t layer = 0; layer < decoder_.layers.size(); ++layer) x = block(x, static_cast<int64_t>(layer));
    return norm(x, decoder_.last_norm);
  }

 private:
  double gain_offset() const { return decoder_.gain_less_one ? 1 : 0; }

  Value norm(Value x, const std::string& name) {
    if (decoder_.norm == Norm::rms) return layers_.rms_norm(x, name, decoder_.epsilon, gain_offset());
    if (decoder_.norm == Norm::layer) return layers_.layer_norm(x, name, decoder_.epsilon);
    const Value gain = has_gains(decoder_) ? layers_.tensor(name + ".weight", {decoder_.width})
                                           : layers_.constant(unit_gain, {decoder_.width});
    const auto epsilon = static_cast<float>(decoder_.epsilon);
    return decoder_.norm == Norm::rms_plain ? rms_norm(layers_.graph(), x, gain, epsilon)
                                            : layer_norm(layers_.graph(), x, gain, {}, epsilon);
  }

  /// The norm of x plus the residual, times the scale.
  Value norm_sum(Value x, const std::string& name, const NormedSum& sum) {
    if (decoder_.norm == Norm::rms) return layers_.rms_norm_sum(x, name, decoder_.epsilon, gain_offset(), sum);
    const Value y = add(layers_.graph(), norm(x, name), sum.residual);
    return sum.scale ? scale_by(layers_.graph(), y, sum.scale) : y;
  }

  Value block(Value x, int64_t layer) {
    const std::string name = layer_name(layer);
    const Graph::Scope scope(layers_.graph(), fmt::format("layers.{}", layer));
    const auto attention = [&](Value in, Value residual) {
      const Mixer mixer = decoder_.layers[static_cast<size_t>(layer)].mixer;
      const std::string of_mixer = join_names(name, mixer_name(mixer));
      switch (mixer) {
        case Mixer::delta_net: return delta_net(layers_, decoder_, in, of_mixer, layer, residual);
        case Mixer::short_convolution: return short_convolution(layers_, decoder_, in, of_mixer, layer, residual);
        case Mixer::mamba: return mamba(layers_, decoder_, in, of_mixer, layer, residual);
        case Mixer::attention: break;
      }
      return attend(in, of_mixer, layer, residual);
    };
    const auto inner = [&](Value in, Value residual) {
      const InnerParts parts = inner_parts(decoder_, layer);
      const Decoder own = with_inner(decoder_, layer);
      if (!parts.mixture.empty() && decoder_.experts.own_norms)
        return normed_mixture(layers_, own, x, feed_forward(layers_, own, in, parts.feed_forward, {}), name);
      const Value sum = parts.mixture.empty() ? residual : mixture(layers_, decoder_, in, parts.mixture, residual);
      return parts.feed_forward.empty() ? sum : feed_forward(layers_, own, in, parts.feed_forward, sum);
    };
    if (decoder_.norms == Norms::parallel) {
      const Value in = norm(x, join_names(name, attention_norms(decoder_).before));
      return inner(in, attention(in, x));
    }
    x = add_part(x, name, attention_norms(decoder_), attention);
    const Value factor = decoder_.layer_scales ? layers_.tensor(name + layer_scale, {1}) : Value{};
    if (!inputs_) return add_part(x, name, feed_forward_norms(decoder_), inner, factor);
    x = add_part(x, name, feed_forward_norms(decoder_), inner);
    return norm_sum(from_layer_input(layers_, decoder_, x, inputs_, layer, name), name + layer_input_norm, {x, factor});
  }

  /// What a part of the layer makes of x, plus x, with the norms that stand around the part; all of it times `factor`,
  /// where there is one and the part has a norm behind it.
  Value add_part(Value x, const std::string& layer, const PartNorms& norms,
                 const std::function<Value(Value in, Value residual)>& part, Value factor = {}) {
    const Value in = norms.before.empty() ? x : norm(x, join_names(layer, norms.before));
    if (norms.after.empty()) return part(in, x);
    return norm_sum(part(in, {}), join_names(layer, norms.after), {x, factor});
  }

  /// Of queries, keys and values side by side, or of queries alone.
  Value norm_queries(Value projected, const std::string& name, const Decoder::Layer& layer) {
    if (decoder_.query_norms == Decoder::QueryNorms::none) return projected;
    const Graph::Scope scope(layers_.graph(), "qk_norm");
    const bool each = decoder_.query_norms == Decoder::QueryNorms::head;
    const int64_t D = decoder_.head_width_of(layer), kv_heads = decoder_.kv_heads_of(layer);
    if (layer.kv_layer >= 0) {
      const Shape shape = layers_.graph().shape(projected);
      const Value heads = reshape(layers_.graph(), projected, {shape[0], shape[1], decoder_.heads, D});
      const Value normed =
          layers_.rms_norm(heads, join_names(name, decoder_.query_norm), decoder_.epsilon, gain_offset());
      return reshape(layers_.graph(), normed, shape);
    }
    const auto part = [&](const char* norm, int64_t heads) -> HeadNormPart {
      const int64_t width = each ? D : heads * D;
      const Value gain = has_gains(decoder_) ? layers_.tensor(fmt::format("{}.{}.weight", name, norm), {width})
                                             : layers_.constant(head_unit_gain, {width});
      return {.gain = gain, .heads = each ? heads : 1};
    };
    return head_norm(layers_.graph(), projected, part(decoder_.query_norm, decoder_.heads),
                     part(decoder_.key_norm, kv_heads), static_cast<float>(decoder_.epsilon),
                     static_cast<float>(gain_offset()), decoder_.value_norms ? kv_heads : 0);
  }

  /// Keys that were turned by one table don't go with queries of another, so the most positions that a cache may ever
  /// hold choose it.
  Value rotate(Value x, const Decoder::Layer& layer) {
    if (layer.rotary < 0) return x;
    const auto index = static_cast<size_t>(layer.rotary);
    const int64_t D = decoder_.head_width_of(layer), turned = decoder_.turned(D);
    const int64_t kv_heads = layer.kv_layer < 0 ? decoder_.kv_heads_of(layer) : 0;
    const Pass& pass = layers_.pass();
    const int64_t reach = pass.position ? pass.capacity : layers_.graph().shape(x)[1];
    const auto [table, positions] = rotary_table(decoder_, index, decoder_.rotaries[index].stretches(reach));
    const auto turn = [&](Value in, const std::string& by, int64_t first, int64_t heads) {
      return rope(layers_.graph(), in, layers_.constant(by, {positions, turned}),
                  {.heads = heads,
                   .head_width = D,
                   .rotary_width = turned,
                   .interleaved = decoder_.turns_neighbours,
                   .column = first * D,
                   .position = pass.first()});
    };
    if (!decoder_.rotaries[index].queries_grow(reach)) return turn(x, table, 0, decoder_.heads + kv_heads);
    return turn(turn(x, query_table(table), 0, decoder_.heads), table, decoder_.heads, kv_heads);
  }

  /// The projections of an attention's input, and the gates of its results: q's tensor has those of each head behind
  /// it.
  std::pair<Value, Value> project_gated(Value x, const std::string& name) {
    Graph& graph = layers_.graph();
    const int64_t B = graph.shape(x)[0], T = graph.shape(x)[1], D = decoder_.head_width, heads = decoder_.heads;
    const Value both = layers_.linear(x, name + ".q_proj", 2 * heads * D, {.bias = decoder_.input_bias});
    const auto half = [&](int64_t first) {
      return reshape(graph, slice(graph, reshape(graph, both, {B * T * heads, 2 * D}), first, D), {B, T, heads * D});
    };
    const Value others =
        layers_.linear(x, join_names(name, kv), 2 * decoder_.kv_heads * D, {.bias = decoder_.input_bias});
    return {join_columns(graph, {half(0), others}), half(D)};
  }

  /// Queries, keys and values of a layer side by side; queries alone where it has no others.
  Value project(Value x, const std::string& name, const Decoder::Layer& layer) {
    const int64_t D = decoder_.head_width_of(layer), heads = decoder_.heads, kv_heads = decoder_.kv_heads_of(layer);
    const auto linear = [&](std::string_view part, int64_t columns) {
      return layers_.linear(x, join_names(name, part), columns * D, {.bias = decoder_.input_bias});
    };
    if (layer.kv_layer >= 0) return linear("q_proj", heads);
    if (!layer.keys_as_values) return linear(qkv, heads + 2 * kv_heads);
    const Value both = linear(qk, heads + kv_heads);
    return join_columns(layers_.graph(), {both, slice(layers_.graph(), both, heads * D, kv_heads * D)});
  }

  Value attend(Value x, const std::string& name, int64_t index, Value residual) {
    const Decoder::Layer& layer = decoder_.layers[static_cast<size_t>(index)];
    const int64_t D = decoder_.head_width_of(layer), heads = decoder_.heads, kv_heads = decoder_.kv_heads_of(layer);
    Value projected, gate;
    if (decoder_.output_gate)
      std::tie(projected, gate) = project_gated(x, name);
    else
      projected = project(x, name, layer);
    const Value y = decoder_.norms_turned ? norm_queries(rotate(projected, layer), name, layer)
                                          : rotate(norm_queries(projected, name, layer), layer);
    AttentionOptions options{.heads = heads,
                             .kv_heads = kv_heads,
                             .head_width = D,
                             .scale = static_cast<float>(decoder_.score_scale),
                             .causal = !decoder_.both_ways,
                             .window = layer.window,
                             .softcap = static_cast<float>(decoder_.score_cap)};
    if (decoder_.sinks) options.sinks = layers_.tensor(name + attention_sinks, {heads});
    if (decoder_.both_ways && layer.window > 0) layers_.see_both_ways(options, reach_of(decoder_, layer.window));
    if (layer.kv_layer < 0)
      seen_[index] =
          layers_.in_cache({{y, heads * D}, {y, (heads + kv_heads) * D}}, options, fmt::format("cache.{}", index));
    const KeysValues& seen = seen_.at(layer.kv_layer < 0 ? index : layer.kv_layer);
    Value attended = layers_.attend({y, 0}, seen, options, decoder_.attention_dropout);
    if (gate) attended = gated_unit(layers_.graph(), Gate::sigmoid, gate, attended);
    return layers_.linear(attended, join_names(name, decoder_.attention_output), decoder_.width,
                          {.bias = decoder_.output_bias,
                           .scale = decoder_.residual_scale,
                           .dropout = decoder_.output_dropout,
                           .residual = residual});
  }

  const Decoder& decoder_;
  Layers layers_;
  Value inputs_;                        ///< of all layers, where they have some
  std::map<int64_t, KeysValues> seen_;  ///< by the layer that made them
};

void add_gain(ParameterList& list, const Decoder& d, const std::string& norm, int64_t columns) {
  if (!has_gains(d)) return;
  if (d.norm == Norm::layer)
    list.layer_norm(norm, columns);
  else if (d.gain_less_one)
    list.zeros(norm + ".weight", {columns});
  else
    list.rms_norm(norm, columns);
}

void add_attention(ParameterList& list, const Decoder& d, const Decoder::Layer& layer, const std::string& name) {
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

void add_mixer(ParameterList& list, const Decoder& d, const Decoder::Layer& layer, const std::string& layer_name) {
  const std::string name = join_names(layer_name, mixer_name(layer.mixer));
  switch (layer.mixer) {
    case Mixer::attention: return add_attention(list, d, layer, name);
    case Mixer::delta_net: return add_delta_net(list, d, name);
    case Mixer::short_convolution: return add_short_convolution(list, d, name);
    case Mixer::mamba: return add_mamba(list, d, name);
  }
}

std::vector<ParameterSpec> parameters_of(const Decoder& d) {
  ParameterList list(d.deviation);
  list.normal("model.embed_tokens.weight", {d.vocabulary, d.width});
  if (d.tied && d.writes()) list.last().other_names = {"lm_head.weight"};
  const auto add_norm = [&](const std::string& layer, std::string_view name) {
    if (!name.empty()) add_gain(list, d, join_names(layer, name), d.width);
  };
  if (d.layer_inputs.width > 0) add_all_layer_inputs(list, d);
  const PartNorms attention = attention_norms(d), inner = feed_forward_norms(d);
  for (size_t i = 0; i < d.layers.size(); ++i) {
    const auto layer = static_cast<int64_t>(i);
    const std::string name = layer_name(layer);
    add_norm(name, attention.before);
    add_mixer(list, d, d.layers[i], name);
    add_norm(name, attention.after);
    add_norm(name, inner.before);
    const InnerParts parts = inner_parts(d, layer);
    if (!parts.mixture.empty()) add_mixture(list, d, parts.mixture);
    if (!parts.feed_forward.empty()) add_feed_forward(list, with_inner(d, layer), parts.feed_forward);
    add_norm(name, inner.after);
    if (d.layer_inputs.width > 0) add_layer_input(list, d, name);
    if (d.layer_scales) {
      list.ones(name + layer_scale, {1});
      list.last().training = ParameterSpec::Training::never;
    }
  }
  add_gain(list, d, d.last_norm, d.width);
  if (!d.tied && d.writes()) list.linear("lm_head", d.width, d.vocabulary, false);
  if (d.classes) add_class_head(list, d.width, *d.classes);
  return list.take();
}

Value token_logits(Graph& graph, const Decoder& decoder, Value hidden) {
  const Graph::Scope scope(graph, "lm_head");
  const std::string name = decoder.tied ? "model.embed_tokens.weight" : "lm_head.weight";
  const Value weight = graph.persistent(name, {decoder.vocabulary, decoder.width});
  const Value logits =
      matmul(graph, hidden, weight, {.transpose_b = true, .scale = static_cast<float>(decoder.logit_scale)});
  return decoder.logit_cap > 0 ? softcap(graph, logits, decoder.logit_cap) : logits;
}

}  // namespace

int64_t Decoder::turned_by(size_t rotary) const {
  const auto layer = std::ranges::find(layers, static_cast<int>(rotary), &Layer::rotary);
  return turned(layer == layers.end() ? head_width : head_width_of(*layer));
}

Model make_decoder(const Decoder& decoder, const nlohmann::json& config) {
  Model model{.family = decoder.family,
              .task = decoder.both_ways ? Task::states : decoder_task(decoder.classes),
              .parameters = parameters_of(decoder),
              .vocabulary = decoder.vocabulary,
              .context = decoder.context,
              .layers = static_cast<int64_t>(decoder.layers.size()),
              .dropout_keys = {"attention_dropout"}};
  for (size_t i = 0; i < decoder.rotaries.size(); ++i)
    for (const bool stretched : {false, true}) {
      if (stretched && !decoder.rotaries[i].stretches(decoder.context)) continue;
      const auto [name, positions] = rotary_table(decoder, i, stretched);
      model.constants.push_back({name,
                                 {{positions, decoder.turned_by(i)}},
                                 [angles = decoder.rotaries[i], positions, width = decoder.turned_by(i), stretched] {
                                   return angles.table(positions, width, stretched);
                                 }});
      if (decoder.rotaries[i].queries_grow(decoder.context))
        model.constants.push_back({query_table(name),
                                   {{positions, decoder.turned()}},
                                   [angles = decoder.rotaries[i], positions, width = decoder.turned()] {
                                     return angles.query_table(positions, width);
                                   }});
    }
  const auto add_ones = [&](const char* name, int64_t columns) {
    model.constants.push_back(
        {name, {{columns}}, [count = static_cast<size_t>(columns)] { return std::vector<float>(count, 1.0f); }});
  };
  if (!has_gains(decoder)) add_ones(unit_gain, decoder.width);
  if (!has_gains(decoder) && decoder.query_norms == Decoder::QueryNorms::head)
    add_ones(head_unit_gain, decoder.head_width);
  const auto has = [&](Mixer mixer) { return std::ranges::count(decoder.layers, mixer, &Decoder::Layer::mixer) > 0; };
  model.recurrent = std::cmp_less(std::ranges::count(decoder.layers, Mixer::attention, &Decoder::Layer::mixer),
                                  decoder.layers.size());
  if (has(Mixer::delta_net)) std::ranges::copy(delta_net_constants(decoder), std::back_inserter(model.constants));
  model.config = std::make_shared<const nlohmann::json>(config);
  model.hidden = [decoder](Graph& graph, const Pass& pass) { return Builder(graph, decoder, pass).hidden(); };
  const auto windowed = std::ranges::find_if(decoder.layers, [](const Decoder::Layer& l) { return l.window > 0; });
  if (decoder.both_ways && windowed != decoder.layers.end())
    model.constants.push_back(reach_constant(reach_of(decoder, windowed->window)));
  model.head = [decoder](Graph& graph, const Pass& pass, Value hidden) {
    if (decoder.both_ways) return hidden;
    return decoder.classes ? class_logits(graph, pass, hidden, *decoder.classes) : token_logits(graph, decoder, hidden);
  };
  return model;
}

}  // namespace vkformer
