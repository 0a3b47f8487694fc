#include "models/families/t5/t5.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/layers.h"
#include "shaders/embedding/embedding.h"
#include "shaders/gated_unit/gated_unit.h"
#include "shaders/matmul/matmul.h"
#include "shaders/relative_bias/relative_bias.h"
#include "shaders/relative_bias/t5_buckets.h"

namespace vkformer {

namespace {

std::string stack_of(bool encoder) { return encoder ? "encoder" : "decoder"; }
/// Sublayer `part` of a block: attention to itself, attention to the encoder (decoder only), feed-forward.
std::string part_name(bool encoder, int64_t layer, int part) {
  return fmt::format("{}.block.{}.layer.{}", stack_of(encoder), layer, part);
}
int feed_forward_part(bool encoder) { return encoder ? 1 : 2; }
std::string bias_name(bool encoder) {
  return part_name(encoder, 0, 0) + ".SelfAttention.relative_attention_bias.weight";
}
std::string buckets_name(bool encoder) { return stack_of(encoder) + ".buckets"; }

/// Buckets of the relative positions -max_distance .. last. All beyond -max_distance have its bucket; keys after the
/// query have one of the encoder's other half, in the decoder that of distance 0.
int64_t last_relative(const T5Config& config, bool encoder) { return encoder ? config.max_distance : 0; }
int64_t bucket_count(const T5Config& config, bool encoder) {
  return config.max_distance + 1 + last_relative(config, encoder);
}

Gate gate_of(Activation activation) {
  switch (activation) {
    case Activation::relu: return Gate::relu;
    case Activation::gelu: return Gate::gelu;
    case Activation::gelu_tanh: return Gate::gelu_tanh;
    default: return Gate::silu;
  }
}

/// One pass through a stack in a graph.
class Builder {
 public:
  Builder(Graph& graph, const T5Config& config, const Pass& pass, bool encoder)
      : config_(config),
        encoder_(encoder),
        layers_(graph, encoder ? encoder_pass(pass) : pass, encoder ? 0 : int64_t{1} << 20) {}

  Value run() {
    Graph& graph = layers_.graph();
    const Pass& pass = layers_.pass();
    const Graph::Scope scope(graph, stack_of(encoder_));
    const Value tokens = layers_.tensor("shared.weight", {config_.vocabulary, config_.width});
    Value x = layers_.drop(embedding(graph, tokens, pass.ids), config_.dropout);
    const Value bias = position_bias(graph.shape(x)[1]);
    const int64_t count = encoder_ ? config_.encoder_layers : config_.decoder_layers;
    for (int64_t layer = 0; layer < count; ++layer) {
      const Graph::Scope layer_scope(graph, std::to_string(layer));
      x = attend(x, layer, bias);
      if (!encoder_) x = attend_memory(x, layer);
      x = feed_forward(x, layer);
    }
    x = layers_.rms_norm(x, stack_of(encoder_) + ".final_layer_norm", config_.epsilon);
    return layers_.drop(x, config_.dropout);
  }

  void remember() {
    for (int64_t layer = 0; layer < config_.decoder_layers; ++layer)
      for (const char* part : {"k", "v"})
        layers_.remember(memory_cache(layer, part), project_memory(layers_.pass().memory, layer, part));
  }

 private:
  int64_t heads_width() const { return config_.heads * config_.head_width; }

  /// [1, H, T, S], for all layers of the stack.
  Value position_bias(int64_t positions) {
    const Graph::Scope scope(layers_.graph(), "bias");
    const Pass& pass = layers_.pass();
    const Value table = layers_.tensor(bias_name(encoder_), {config_.buckets, config_.heads});
    const Value buckets = layers_.constant(buckets_name(encoder_), {bucket_count(config_, encoder_)}, DType::i32);
    return relative_bias(layers_.graph(), table, buckets,
                         {.queries = positions,
                          .keys = pass.position ? pass.capacity : positions,
                          .zero = config_.max_distance,
                          .position = pass.position});
  }

  Value norm(Value x, const std::string& part) { return layers_.rms_norm(x, part + ".layer_norm", config_.epsilon); }
  Value project(Value x, const std::string& name) { return layers_.linear(x, name, heads_width(), {.bias = false}); }
  /// The end of a sublayer.
  Value output(Value y, const std::string& name, Value residual) {
    return layers_.linear(y, name, config_.width, {.bias = false, .dropout = config_.dropout, .residual = residual});
  }
  AttentionOptions heads(bool causal) const {
    return {.heads = config_.heads, .head_width = config_.head_width, .scale = 1, .causal = causal};
  }

  Value attend(Value x, int64_t layer, Value bias) {
    const std::string part = part_name(encoder_, layer, 0), name = part + ".SelfAttention.";
    const Value input = norm(x, part);
    const Value q = project(input, name + "q"), k = project(input, name + "k"), v = project(input, name + "v");
    const Graph::Scope scope(layers_.graph(), "self");
    AttentionOptions options = heads(!encoder_);
    options.bias = bias;
    const Value y = layers_.self_attention({q}, {k}, {v}, options, config_.dropout, fmt::format("cache.{}", layer));
    return output(y, name + "o", x);
  }

  static std::string memory_cache(int64_t layer, const char* part) {
    return fmt::format("cache.memory.{}.{}", layer, part);
  }
  Value project_memory(Value memory, int64_t layer, const char* part) {
    return project(memory, part_name(false, layer, 1) + ".EncDecAttention." + part);
  }

  Value attend_memory(Value x, int64_t layer) {
    const std::string part = part_name(false, layer, 1), name = part + ".EncDecAttention.";
    const auto memory = [&](const char* what) {
      return layers_.remembered(memory_cache(layer, what), heads_width(),
                                [&](Value encoded) { return project_memory(encoded, layer, what); });
    };
    const Value q = project(norm(x, part), name + "q");
    const Value k = memory("k"), v = memory("v");
    const Graph::Scope scope(layers_.graph(), "cross");
    return output(layers_.cross_attention(q, k, v, heads(false), config_.dropout), name + "o", x);
  }

  Value feed_forward(Value x, int64_t layer) {
    const std::string part = part_name(encoder_, layer, feed_forward_part(encoder_)), name = part + ".DenseReluDense.";
    const Value input = norm(x, part);
    const Activation activation = config_.gated ? Activation::none : config_.activation;
    Value y = layers_.linear(input, name + "wi", config_.inner * (config_.gated ? 2 : 1),
                             {.bias = false, .activation = activation});
    if (config_.gated) y = gated_unit(layers_.graph(), gate_of(config_.activation), y);
    return output(layers_.drop(y, config_.dropout), name + "wo", x);
  }

  const T5Config& config_;
  const bool encoder_;
  Layers layers_;
};

/// Start values as of Hugging Face's T5PreTrainedModel._init_weights, but for a head of its own.
std::vector<ParameterSpec> parameters_of(const T5Config& c) {
  const auto root = [](int64_t n) { return 1 / std::sqrt(static_cast<double>(n)); };
  const int64_t heads_width = c.heads * c.head_width;
  ParameterList list(c.factor);
  const auto linear = [&](const std::string& name, int64_t in, int64_t out, double deviation) {
    list.linear(name, in, out, false, c.factor * deviation);
  };
  const auto norm = [&](const std::string& name) { list.constant(name + ".weight", {c.width}, c.factor); };
  list.normal("shared.weight", {c.vocabulary, c.width});
  list.last().other_names = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"};
  if (c.tied) list.last().other_names.push_back("lm_head.weight");
  for (const bool encoder : {true, false}) {
    const int64_t layers = encoder ? c.encoder_layers : c.decoder_layers;
    const auto attention = [&](const std::string& part, const std::string& name, bool biased) {
      linear(name + ".q", c.width, heads_width, root(c.width) * root(c.head_width));
      linear(name + ".k", c.width, heads_width, root(c.width));
      linear(name + ".v", c.width, heads_width, root(c.width));
      linear(name + ".o", heads_width, c.width, root(heads_width));
      if (biased) list.normal(bias_name(encoder), {c.buckets, c.heads}, c.factor * root(c.width));
      norm(part + ".layer_norm");
    };
    for (int64_t layer = 0; layer < layers; ++layer) {
      const std::string self = part_name(encoder, layer, 0), cross = part_name(encoder, layer, 1);
      attention(self, self + ".SelfAttention", layer == 0);
      if (!encoder) attention(cross, cross + ".EncDecAttention", false);
      const std::string part = part_name(encoder, layer, feed_forward_part(encoder)), name = part + ".DenseReluDense";
      if (c.gated)  // two tensors in a file, one in graphs
        list.joint_linear(name, "wi", {{"wi_0", c.inner}, {"wi_1", c.inner}}, c.width, false, c.factor * root(c.width));
      else
        linear(name + ".wi", c.width, c.inner, root(c.width));
      linear(name + ".wo", c.inner, c.width, root(c.inner));
      norm(part + ".layer_norm");
    }
    norm(stack_of(encoder) + ".final_layer_norm");
  }
  // transformers takes 1 instead of the root: the first loss is then many nats above chance.
  if (!c.tied) list.normal("lm_head.weight", {c.vocabulary, c.width}, c.factor * root(c.width));
  return list.take();
}

}  // namespace

Model make_t5(const T5Config& config) {
  Model model{.family = "t5",
              .task = Task::seq2seq,
              .parameters = parameters_of(config),
              .vocabulary = config.vocabulary,
              .layers = config.encoder_layers + config.decoder_layers,
              .dropout_keys = {"dropout_rate"}};
  for (const bool encoder : {true, false})
    model.constants.push_back({buckets_name(encoder), {{bucket_count(config, encoder)}, DType::i32}, [config, encoder] {
                                 const auto buckets = t5_buckets(-config.max_distance, last_relative(config, encoder),
                                                                 encoder, config.buckets, config.max_distance);
                                 return std::vector<float>(buckets.begin(), buckets.end());
                               }});
  model.encode = [config](Graph& graph, const Pass& pass) { return Builder(graph, config, pass, true).run(); };
  model.remember = [config](Graph& graph, const Pass& pass) { Builder(graph, config, pass, false).remember(); };
  model.hidden = [config](Graph& graph, const Pass& pass) { return Builder(graph, config, pass, false).run(); };
  model.head = [config](Graph& graph, const Pass&, Value hidden) {
    const Graph::Scope scope(graph, "head");
    const Value weight =
        graph.persistent(config.tied ? "shared.weight" : "lm_head.weight", {config.vocabulary, config.width});
    const double scale = config.scaled_head ? 1 / std::sqrt(static_cast<double>(config.width)) : 1;
    return matmul(graph, hidden, weight, {.transpose_b = true, .scale = static_cast<float>(scale)});
  };
  model.config = std::make_shared<const nlohmann::json>(config.to_json());
  return model;
}

}  // namespace vkformer
