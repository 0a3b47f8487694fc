#include "models/families/decoder/mixture.h"

#include <cmath>

#include "models/families/decoder/feed_forward.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/embedding/embedding.h"
#include "shaders/expert_matmul/expert_matmul.h"
#include "shaders/expert_sum/expert_sum.h"
#include "shaders/reshape/reshape.h"
#include "shaders/router/router.h"

namespace vkformer {

namespace {

constexpr const char* bias_end = "_bias";  // of the joint tensors of a layer's experts

using Stacks = Decoder::Experts::Stacks;

ParameterSpec::Stack::Layout layout_of(Stacks stacks) {
  return stacks == Stacks::rows ? ParameterSpec::Stack::Layout::rows : ParameterSpec::Stack::Layout::columns;
}

constexpr const char* gate_end = "_gate";  // of the shared expert's name

// Of Experts::own_norms, under the layer.
constexpr const char *router_gain = ".router.scale", *factors = ".router.per_expert_scale";
constexpr const char *norm_of_fed = ".post_feedforward_layernorm_1", *norm_before = ".pre_feedforward_layernorm_2";
constexpr const char* norm_behind = ".post_feedforward_layernorm_2";

/// The expert that every token takes, as the feed-forward layer of a decoder that gives `share` of it.
Decoder shared_part(const Decoder& decoder, double share) {
  Decoder part = decoder;
  part.inner = decoder.experts.shared;
  part.residual_scale = share;
  return part;
}

/// sigmoid(z) = (1 + tanh(z / 2)) / 2: the half of what that expert makes counts once by itself and once by the tanh.
Value add_shared(Layers& layers, const Decoder& decoder, Value x, const std::string& name, Value sum) {
  Graph& graph = layers.graph();
  const std::string shared = join_names(name, decoder.experts.shared_name);
  if (!decoder.experts.shared_gated) return feed_forward(layers, shared_part(decoder, 1), x, shared, sum);
  const Value half = feed_forward(layers, shared_part(decoder, 0.5), x, shared, {});
  const Value z = layers.linear(x, shared + gate_end, 1, {.bias = false, .scale = 0.5});
  const Shape& shape = graph.shape(half);
  const Value one_slot = reshape(graph, half, {shape[0], shape[1], 1, shape[2]});
  return expert_sum(graph, one_slot, activate(graph, Activation::tanh, z), add(graph, sum, half));
}

Shape choice_shape(const Decoder::Experts& experts) {
  return experts.choice_row ? Shape{1, experts.count} : Shape{experts.count};
}

RouterRule rule_of(const Decoder::Experts& experts) {
  return {.count = experts.chosen,
          .normalised = experts.normalised,
          .sigmoid = experts.sigmoid,
          .epsilon = experts.epsilon};
}

/// Columns of what experts see.
int64_t width_of(const Decoder& decoder) { return decoder.experts.latent > 0 ? decoder.experts.latent : decoder.width; }

/// What the chosen experts make of x, by the routing's weights, plus residual.
Value add_experts(Layers& layers, const Decoder& decoder, Value x, const std::string& name, const Routing& routing,
                  Value residual) {
  Graph& graph = layers.graph();
  const Decoder::Experts& experts = decoder.experts;
  const std::string all_gates = join_names(name, experts.all_gates), all_downs = join_names(name, experts.all_downs);
  const int64_t width = width_of(decoder), inner = decoder.gated ? 2 * experts.inner : experts.inner;
  const Value gates = layers.tensor(all_gates, {experts.count, inner, width});
  const Value downs = layers.tensor(all_downs, {experts.count, width, experts.inner});
  const auto biases = [&](const std::string& of, int64_t columns) {
    return experts.bias ? layers.tensor(of + bias_end, {experts.count, columns}) : Value{};
  };
  const Value both = expert_matmul(graph, x, gates, routing.chosen, true, biases(all_gates, inner));
  const Value states =
      decoder.gated ? gated_unit(graph, decoder.gate, both) : gated_unit(graph, Gate::relu, both, both);
  const Value found = expert_matmul(graph, states, downs, routing.chosen, true, biases(all_downs, width));
  return expert_sum(graph, found, routing.weights, residual);
}

/// The same between the projections of Experts::latent, where there are some.
Value add_latent_experts(Layers& layers, const Decoder& decoder, Value x, const std::string& name,
                         const Routing& routing, Value residual) {
  const Decoder::Experts& experts = decoder.experts;
  if (experts.latent == 0) return add_experts(layers, decoder, x, name, routing, residual);
  const Value in = layers.linear(x, join_names(name, experts.to_latent), experts.latent, {.bias = decoder.inner_bias});
  const Value sum = add_experts(layers, decoder, in, name, routing, {});
  return layers.linear(sum, join_names(name, experts.from_latent), decoder.width,
                       {.bias = decoder.inner_bias, .residual = residual});
}

}  // namespace

Value mixture(Layers& layers, const Decoder& decoder, Value x, const std::string& name, Value residual) {
  Graph& graph = layers.graph();
  const Decoder::Experts& experts = decoder.experts;
  const Value logits = layers.linear(x, join_names(name, experts.router), experts.count, {.bias = experts.bias});
  const Value bias =
      experts.choice_bias
          ? reshape(graph, layers.tensor(join_names(name, experts.choice), choice_shape(experts)), {experts.count})
          : Value{};
  Routing routing = router(graph, logits, rule_of(experts), bias);
  const double factor = experts.factor * decoder.residual_scale;
  if (factor != 1) routing.weights = scale(graph, routing.weights, factor);
  const Value sum = add_latent_experts(layers, decoder, x, name, routing, residual);
  return experts.shared > 0 ? add_shared(layers, decoder, x, name, sum) : sum;
}

Value normed_mixture(Layers& layers, const Decoder& decoder, Value x, Value fed, const std::string& layer) {
  Graph& graph = layers.graph();
  const Decoder::Experts& experts = decoder.experts;
  const Value routed =
      rms_norm(graph, x, layers.tensor(layer + router_gain, {decoder.width}), static_cast<float>(decoder.epsilon));
  const Value logits =
      layers.linear(routed, join_names(layer, experts.router), experts.count,
                    {.bias = experts.bias, .scale = 1 / std::sqrt(static_cast<double>(decoder.width))});
  Routing routing = router(graph, logits, rule_of(experts));
  const Value table = reshape(graph, layers.tensor(layer + factors, {experts.count}), {experts.count, 1});
  const Value own = reshape(graph, embedding(graph, table, routing.chosen), graph.shape(routing.weights));
  routing.weights = multiply(graph, routing.weights, own);
  const Value in = layers.rms_norm(x, layer + norm_before, decoder.epsilon);
  const Value found = add_experts(layers, decoder, in, join_names(layer, experts.name), routing, {});
  return layers.rms_norm_sum(found, layer + norm_behind, decoder.epsilon, 0,
                             {layers.rms_norm(fed, layer + norm_of_fed, decoder.epsilon)});
}

void add_mixture(ParameterList& list, const Decoder& decoder, const std::string& name) {
  const Decoder::Experts& experts = decoder.experts;
  list.linear(join_names(name, experts.router), decoder.width, experts.count, experts.bias);
  if (experts.choice_bias) {
    list.zeros(join_names(name, experts.choice), choice_shape(experts));
    list.last().training = ParameterSpec::Training::never;
  }
  if (experts.own_norms) {
    list.ones(name + router_gain, {decoder.width});
    list.ones(name + factors, {experts.count});
    for (const char* norm : {norm_of_fed, norm_before, norm_behind}) list.rms_norm(name + norm, decoder.width);
  }
  // Parts of one name of all experts, which are neighbours.
  const auto add = [&](const std::vector<const char*>& parts, const std::string& all, const auto& append) {
    for (int64_t i = 0; i < experts.count; ++i)
      for (int64_t first = 0; const char* part : parts) {
        append(fmt::format("{}.experts.{}.{}", name, i, part));
        list.last().joint = all;
        if (experts.stacks != Stacks::none)
          list.last().stack = {all, i, experts.count, first, std::ssize(parts), layout_of(experts.stacks)};
        ++first;
      }
  };
  const auto add_linear = [&](const std::vector<const char*>& parts, const std::string& all, int64_t in, int64_t out) {
    add(parts, all, [&](const std::string& part) { list.normal(part + ".weight", {out, in}); });
    if (experts.bias) add(parts, all + bias_end, [&](const std::string& part) { list.zeros(part + ".bias", {out}); });
  };
  std::vector<const char*> gates{experts.up};
  if (decoder.gated) gates.insert(gates.begin(), experts.gate);
  add_linear(gates, join_names(name, experts.all_gates), width_of(decoder), experts.inner);
  add_linear({experts.down}, join_names(name, experts.all_downs), experts.inner, width_of(decoder));
  if (experts.latent > 0) {
    list.linear(join_names(name, experts.to_latent), decoder.width, experts.latent, decoder.inner_bias);
    list.linear(join_names(name, experts.from_latent), experts.latent, decoder.width, decoder.inner_bias);
  }
  if (experts.shared == 0) return;
  const std::string shared = join_names(name, experts.shared_name);
  add_feed_forward(list, shared_part(decoder, 1), shared);
  if (experts.shared_gated) list.linear(shared + gate_end, decoder.width, 1, false);
}

}  // namespace vkformer
