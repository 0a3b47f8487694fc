#include "models/families/decoder/decoder.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/families/decoder/delta_net.h"
#include "models/families/decoder/feed_forward.h"
#include "models/families/decoder/latent_attention.h"
#include "models/families/decoder/layer_inputs.h"
#include "models/families/decoder/mamba.h"
#include "models/families/decoder/mixture.h"
#include "models/families/decoder/norms.h"
#include "models/families/decoder/rotary_tables.h"
#include "models/families/decoder/self_attention.h"
#include "models/families/decoder/short_convolution.h"
#include "models/families/decoder_head.h"
#include "shaders/embedding/embedding.h"
#include "shaders/layer_norm/layer_norm.h"
#include "shaders/matmul/matmul.h"
#include "shaders/rms_norm/rms_norm.h"
#include "shaders/slice/slice.h"

namespace vkformer {

namespace {

using Norm = Decoder::Norm;
using Norms = Decoder::Norms;
using Mixer = Decoder::Mixer;

constexpr const char* layer_scale = ".layer_scalar";

/// In files.
std::string_view mixer_name(const Decoder& decoder, Mixer mixer) {
  if (decoder.mixer) return decoder.mixer;
  switch (mixer) {
    case Mixer::delta_net: return "linear_attn";
    case Mixer::short_convolution: return "conv";
    case Mixer::mamba: return "mamba";
    case Mixer::attention:
    case Mixer::latent_attention:
    case Mixer::none: break;
  }
  return "self_attn";
}

std::string layer_name(const Decoder& decoder, int64_t layer) { return fmt::format("{}.{}", decoder.stack, layer); }
std::string embedding_name(const Decoder& decoder) { return join_names(decoder.embedding, "weight"); }

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
  const std::string name = layer_name(d, layer);
  return {!experts || d.experts.beside ? join_names(name, d.inner_name) : "",
          experts ? join_names(name, d.experts.name) : ""};
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
    const Value tokens = layers_.tensor(embedding_name(decoder_), {decoder_.vocabulary, decoder_.width});
    Value x = embedding(layers_.graph(), tokens, layers_.pass().ids, {.scale = decoder_.embedding_scale});
    if (layers_.pass().pictured) x = add(layers_.graph(), x, pictured(0));
    if (decoder_.embedding_normed) x = norm(x, decoder_.last_norm);
    if (decoder_.layer_inputs.width > 0) inputs_ = all_layer_inputs(layers_, decoder_, x);
    const size_t picture_parts =
        layers_.pass().pictured ? static_cast<size_t>(layers_.columns(layers_.pass().pictured) / decoder_.width) : 0;
    for (size_t layer = 0; layer < decoder_.layers.size(); ++layer) {
      x = block(x, static_cast<int64_t>(layer));
      if (layer + 1 < picture_parts) x = add(layers_.graph(), x, pictured(layer + 1));
    }
    return norm(x, decoder_.last_norm);
  }

 private:
  /// What pictures add to the embedding (0), or to the states behind layer part - 1.
  Value pictured(size_t part) {
    return slice(layers_.graph(), layers_.pass().pictured, static_cast<int64_t>(part) * decoder_.width, decoder_.width);
  }

  Value norm(Value x, const std::string& name) {
    if (decoder_.norm == Norm::rms) return layers_.rms_norm(x, name, decoder_.epsilon, gain_offset(decoder_));
    if (decoder_.norm == Norm::layer) return layers_.layer_norm(x, name, decoder_.epsilon);
    const Value gain = has_gains(decoder_) ? layers_.tensor(name + ".weight", {decoder_.width})
                                           : layers_.constant(unit_gain, {decoder_.width});
    const auto epsilon = static_cast<float>(decoder_.epsilon);
    return decoder_.norm == Norm::rms_plain ? rms_norm(layers_.graph(), x, gain, epsilon)
                                            : layer_norm(layers_.graph(), x, gain, {}, epsilon);
  }

  /// The norm of x plus the residual, times the scale.
  Value norm_sum(Value x, const std::string& name, const NormedSum& sum) {
    if (decoder_.norm == Norm::rms) return layers_.rms_norm_sum(x, name, decoder_.epsilon, gain_offset(decoder_), sum);
    const Value y = add(layers_.graph(), norm(x, name), sum.residual);
    return sum.scale ? scale_by(layers_.graph(), y, sum.scale) : y;
  }

  Value block(Value x, int64_t layer) {
    const std::string name = layer_name(decoder_, layer);
    const Graph::Scope scope(layers_.graph(), fmt::format("layers.{}", layer));
    const Decoder::Layer& own = decoder_.layers[static_cast<size_t>(layer)];
    const Mixer mixer = own.mixer;
    const auto attention = [&](Value in, Value residual) {
      const std::string of_mixer = join_names(name, mixer_name(decoder_, mixer));
      if (own.mamba_beside)
        residual = mamba(layers_, decoder_, in, join_names(name, mixer_name(decoder_, Mixer::mamba)), layer, residual);
      switch (mixer) {
        case Mixer::latent_attention: return latent_attention(layers_, decoder_, in, of_mixer, layer, residual);
        case Mixer::delta_net: return delta_net(layers_, decoder_, in, of_mixer, layer, residual);
        case Mixer::short_convolution: return short_convolution(layers_, decoder_, in, of_mixer, layer, residual);
        case Mixer::mamba: return mamba(layers_, decoder_, in, of_mixer, layer, residual);
        case Mixer::attention:
        case Mixer::none: break;
      }
      return self_attention(layers_, decoder_, in, of_mixer, layer, residual, seen_);
    };
    const auto inner = [&](Value in, Value residual) {
      const InnerParts parts = inner_parts(decoder_, layer);
      const Decoder wide = with_inner(decoder_, layer);
      if (!parts.mixture.empty() && decoder_.experts.own_norms)
        return normed_mixture(layers_, wide, x, feed_forward(layers_, wide, in, parts.feed_forward, {}), name);
      const Value sum = parts.mixture.empty() ? residual : mixture(layers_, decoder_, in, parts.mixture, residual);
      return parts.feed_forward.empty() ? sum : feed_forward(layers_, wide, in, parts.feed_forward, sum);
    };
    if (decoder_.norms == Norms::parallel) {
      const Value in = norm(x, join_names(name, attention_norms(decoder_).before));
      return inner(in, attention(in, x));
    }
    if (mixer != Mixer::none) x = add_part(x, name, attention_norms(decoder_), attention);
    if (!own.feeds) return x;
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

  const Decoder& decoder_;
  Layers layers_;
  Value inputs_;  ///< of all layers, where they have some
  SeenKeys seen_;
};

void add_mixer(ParameterList& list, const Decoder& d, const Decoder::Layer& layer, const std::string& layer_name) {
  const std::string name = join_names(layer_name, mixer_name(d, layer.mixer));
  if (layer.mamba_beside) add_mamba(list, d, join_names(layer_name, mixer_name(d, Mixer::mamba)));
  switch (layer.mixer) {
    case Mixer::attention: return add_self_attention(list, d, layer, name);
    case Mixer::latent_attention: return add_latent_attention(list, d, name);
    case Mixer::delta_net: return add_delta_net(list, d, name);
    case Mixer::short_convolution: return add_short_convolution(list, d, name);
    case Mixer::mamba: return add_mamba(list, d, name);
    case Mixer::none: break;
  }
}

std::vector<ParameterSpec> parameters_of(const Decoder& d) {
  ParameterList list(d.deviation);
  list.normal(embedding_name(d), {d.vocabulary, d.width});
  if (d.tied && d.writes()) list.last().other_names = {"lm_head.weight"};
  const auto add_norm = [&](const std::string& layer, std::string_view name) {
    if (!name.empty()) add_gain(list, d, join_names(layer, name), d.width);
  };
  if (d.layer_inputs.width > 0) add_all_layer_inputs(list, d);
  const PartNorms attention = attention_norms(d), inner = feed_forward_norms(d);
  for (size_t i = 0; i < d.layers.size(); ++i) {
    const auto layer = static_cast<int64_t>(i);
    const std::string name = layer_name(d, layer);
    if (d.layers[i].mixer != Mixer::none) {
      add_norm(name, attention.before);
      add_mixer(list, d, d.layers[i], name);
      add_norm(name, attention.after);
    }
    if (!d.layers[i].feeds) continue;
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
  const std::string name = decoder.tied ? embedding_name(decoder) : "lm_head.weight";
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
              .dropout_keys = {"attention_dropout"},
              .constants = rotary_constants(decoder)};
  const auto add_ones = [&](const char* name, int64_t columns) {
    model.constants.push_back(
        {name, {{columns}}, [count = static_cast<size_t>(columns)] { return std::vector<float>(count, 1.0f); }});
  };
  if (!has_gains(decoder)) add_ones(unit_gain, decoder.width);
  if (!has_gains(decoder) && decoder.query_norms == Decoder::QueryNorms::head)
    add_ones(head_unit_gain, decoder.head_width);
  const auto has = [&](Mixer mixer) { return std::ranges::count(decoder.layers, mixer, &Decoder::Layer::mixer) > 0; };
  const bool beside = std::ranges::any_of(decoder.layers, &Decoder::Layer::mamba_beside);
  model.recurrent = has(Mixer::delta_net) || has(Mixer::short_convolution) || has(Mixer::mamba) || beside;
  if (!decoder.rotaries.empty() && !decoder.rotaries[0].sections.empty()) {
    model.angle_columns = decoder.turned();
    model.angles = [rotary = decoder.rotaries[0], width = decoder.turned()](const RotaryConfig::Place& place) {
      return rotary.row(place, width);
    };
  }
  if (has(Mixer::latent_attention))
    model.forms_keys = [decoder](int64_t rows, int64_t positions, int64_t seen) {
      return forming_pays(decoder, rows, positions, seen);
    };
  if (has(Mixer::delta_net)) std::ranges::copy(delta_net_constants(decoder), std::back_inserter(model.constants));
  if (has(Mixer::mamba) || beside) std::ranges::copy(mamba_constants(decoder), std::back_inserter(model.constants));
  model.config = std::make_shared<const nlohmann::json>(config);
  model.hidden = [decoder](Graph& graph, const Pass& pass) { return Builder(graph, decoder, pass).hidden(); };
  const auto windowed = std::ranges::find_if(decoder.layers, [](const Decoder::Layer& l) { return l.window > 0; });
  model.whole_pictures = decoder.whole_pictures;
  model.window = windowed == decoder.layers.end() ? 0 : windowed->window;
  if (decoder.both_ways && windowed != decoder.layers.end())
    model.constants.push_back(reach_constant(window_reach(decoder, windowed->window)));
  model.head = [decoder](Graph& graph, const Pass& pass, Value hidden) {
    if (decoder.both_ways) return hidden;
    return decoder.classes ? class_logits(graph, pass, hidden, *decoder.classes) : token_logits(graph, decoder, hidden);
  };
  return model;
}

}  // namespace vkformer
