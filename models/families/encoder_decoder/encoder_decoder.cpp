#include "models/families/encoder_decoder/encoder_decoder.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/layers.h"
#include "shaders/embedding/embedding.h"
#include "shaders/matmul/matmul.h"
#include "shaders/reshape/reshape.h"

namespace vkformer {

namespace {

using Positions = EncoderDecoderConfig::Positions;
using Stack = EncoderDecoderConfig::Stack;

constexpr std::string_view qkv = "qkv";  // the joint tensor of a self-attention's input projections

/// What a family calls its tensors.
struct Names {
  std::string_view tokens, head, encoder, decoder;
  std::string_view self_attention, cross_attention, query, key, value, output;
  std::string_view inner, outer;  ///< of the feed-forward layers
  std::string_view self_norm, cross_norm, feed_forward_norm, final_norm;
};

constexpr Names own_names{.tokens = "embedding",
                          .head = "output",
                          .encoder = "encoder",
                          .decoder = "decoder",
                          .self_attention = "self_attention",
                          .cross_attention = "cross_attention",
                          .query = "query",
                          .key = "key",
                          .value = "value",
                          .output = "output",
                          .inner = "feed_forward.hidden",
                          .outer = "feed_forward.output",
                          .self_norm = "self_attention_norm",
                          .cross_norm = "cross_attention_norm",
                          .feed_forward_norm = "feed_forward_norm",
                          .final_norm = "final_norm"};
constexpr Names hugging_face_names{.tokens = "model.shared",
                                   .head = "lm_head",
                                   .encoder = "model.encoder",
                                   .decoder = "model.decoder",
                                   .self_attention = "self_attn",
                                   .cross_attention = "encoder_attn",
                                   .query = "q_proj",
                                   .key = "k_proj",
                                   .value = "v_proj",
                                   .output = "out_proj",
                                   .inner = "fc1",
                                   .outer = "fc2",
                                   .self_norm = "self_attn_layer_norm",
                                   .cross_norm = "encoder_attn_layer_norm",
                                   .feed_forward_norm = "final_layer_norm",
                                   .final_norm = "layer_norm"};

const Names& names_of(const EncoderDecoderConfig& config) {
  return config.family == "vaswani" ? own_names : hugging_face_names;
}

constexpr int64_t learned_offset = 2;  ///< BART's first position is row 2
constexpr const char* sinusoid_table = "positions.table";

std::string weight_of(std::string_view name) { return fmt::format("{}.weight", name); }
std::string layer_name(std::string_view stack, int64_t layer) { return fmt::format("{}.layers.{}", stack, layer); }

/// One pass through a stack in a graph.
class Builder {
 public:
  Builder(Graph& graph, const EncoderDecoderConfig& config, const Pass& pass, bool encoder)
      : config_(config),
        names_(names_of(config)),
        stack_(encoder ? config.encoder : config.decoder),
        stack_name_(encoder ? names_.encoder : names_.decoder),
        layers_(graph, encoder ? encoder_pass(pass) : pass, encoder ? 0 : int64_t{1} << 20) {}

  Value encode() {
    const Graph::Scope scope(layers_.graph(), "encoder");
    Value x = embed();
    for (int64_t layer = 0; layer < stack_.layers; ++layer) {
      const std::string name = layer_name(stack_name_, layer);
      const Graph::Scope layer_scope(layers_.graph(), std::to_string(layer));
      x = attend(x, name, false, "");
      x = feed_forward(x, name);
    }
    return finish(x);
  }

  Value decode() {
    const Graph::Scope scope(layers_.graph(), "decoder");
    Value x = embed();
    for (int64_t layer = 0; layer < stack_.layers; ++layer) {
      const std::string name = layer_name(stack_name_, layer);
      const Graph::Scope layer_scope(layers_.graph(), std::to_string(layer));
      x = attend(x, name, true, fmt::format("cache.{}", layer));
      x = attend_memory(x, name, layer);
      x = feed_forward(x, name);
    }
    return finish(x);
  }

  void remember() {
    for (int64_t layer = 0; layer < stack_.layers; ++layer)
      for (std::string_view part : {names_.key, names_.value})
        layers_.remember(memory_cache(layer, part), project_memory(layers_.pass().memory, layer, part));
  }

 private:
  Value embed() {
    const Value tokens = layers_.tensor(weight_of(names_.tokens), {config_.vocabulary, config_.width});
    const bool learned = config_.positions == Positions::learned;
    const Value table = learned ? layers_.tensor(fmt::format("{}.embed_positions.weight", stack_name_),
                                                 {config_.context + learned_offset, config_.width})
                                : layers_.constant(sinusoid_table, {config_.context, config_.width});
    Value x = embedding(layers_.graph(), tokens, layers_.pass().ids,
                        {.position_table = table,
                         .position = layers_.pass().position,
                         .first_position = learned ? learned_offset : 0,
                         .scale = config_.scale_embedding ? std::sqrt(static_cast<double>(config_.width)) : 1.0});
    if (config_.embedding_norm) x = norm(x, join_names(stack_name_, "layernorm_embedding"));
    return layers_.drop(x, config_.dropout);
  }

  Value norm(Value x, const std::string& name) { return layers_.layer_norm(x, name, config_.epsilon); }

  /// A sublayer and its residual, with the norm before or after. `f` takes its input and what to add at its end.
  template <class Sublayer>
  Value residual(Value x, const std::string& norm_name, Sublayer f) {
    return config_.pre_norm ? f(norm(x, norm_name), x) : norm(f(x, x), norm_name);
  }

  AttentionOptions heads(bool causal) const {
    return {.heads = stack_.heads, .head_width = config_.width / stack_.heads, .causal = causal};
  }

  Value attend(Value x, const std::string& layer, bool causal, const std::string& cache) {
    return residual(x, join_names(layer, names_.self_norm), [&](Value input, Value rest) {
      const std::string name = join_names(layer, names_.self_attention);
      const int64_t C = config_.width;
      const Value projected = layers_.linear(input, join_names(name, qkv), 3 * C);
      const Graph::Scope scope(layers_.graph(), "self");
      const Value y = layers_.self_attention({projected, 0}, {projected, C}, {projected, 2 * C}, heads(causal),
                                             config_.attention_dropout, cache);
      return layers_.linear(y, join_names(name, names_.output), config_.width,
                            {.dropout = config_.dropout, .residual = rest});
    });
  }

  static std::string memory_cache(int64_t layer, std::string_view part) {
    return fmt::format("cache.memory.{}.{}", layer, part);
  }
  Value project_memory(Value memory, int64_t layer, std::string_view part) {
    const std::string name = join_names(layer_name(stack_name_, layer), names_.cross_attention);
    return layers_.linear(memory, join_names(name, part), config_.width);
  }

  Value attend_memory(Value x, const std::string& layer_path, int64_t layer) {
    return residual(x, join_names(layer_path, names_.cross_norm), [&](Value input, Value rest) {
      const std::string name = join_names(layer_path, names_.cross_attention);
      const auto memory = [&](std::string_view part) {
        return layers_.remembered(memory_cache(layer, part), config_.width,
                                  [&](Value encoded) { return project_memory(encoded, layer, part); });
      };
      const Value q = layers_.linear(input, join_names(name, names_.query), config_.width);
      const Value k = memory(names_.key), v = memory(names_.value);
      const Graph::Scope scope(layers_.graph(), "cross");
      const Value y = layers_.cross_attention(q, k, v, heads(false), config_.attention_dropout);
      return layers_.linear(y, join_names(name, names_.output), config_.width,
                            {.dropout = config_.dropout, .residual = rest});
    });
  }

  Value feed_forward(Value x, const std::string& layer) {
    return residual(x, join_names(layer, names_.feed_forward_norm), [&](Value input, Value rest) {
      const Value inner = layers_.linear(input, join_names(layer, names_.inner), stack_.inner,
                                         {.activation = config_.activation, .dropout = config_.activation_dropout});
      return layers_.linear(inner, join_names(layer, names_.outer), config_.width,
                            {.dropout = config_.dropout, .residual = rest});
    });
  }

  Value finish(Value x) { return config_.final_norm ? norm(x, join_names(stack_name_, names_.final_norm)) : x; }

  const EncoderDecoderConfig& config_;
  const Names& names_;
  const Stack& stack_;
  std::string_view stack_name_;
  Layers layers_;
};

std::vector<ParameterSpec> parameters_of(const EncoderDecoderConfig& c) {
  const Names& names = names_of(c);
  ParameterList list(c.deviation);
  list.normal(weight_of(names.tokens), {c.vocabulary, c.width});
  if (c.family != "vaswani") {
    for (std::string_view stack : {names.encoder, names.decoder})
      list.last().other_names.push_back(join_names(stack, "embed_tokens.weight"));
    if (c.tied) list.last().other_names.push_back(weight_of(names.head));
  }
  for (const bool encoder : {true, false}) {
    const Stack& stack = encoder ? c.encoder : c.decoder;
    const std::string_view stack_name = encoder ? names.encoder : names.decoder;
    if (c.positions == Positions::learned)
      list.normal(fmt::format("{}.embed_positions.weight", stack_name), {c.context + learned_offset, c.width});
    if (c.embedding_norm) list.layer_norm(join_names(stack_name, "layernorm_embedding"), c.width);
    const int64_t C = c.width;
    const auto output = [&](const std::string& name) { list.linear(join_names(name, names.output), C, C); };
    for (int64_t i = 0; i < stack.layers; ++i) {
      const std::string layer = layer_name(stack_name, i);
      const std::string self = join_names(layer, names.self_attention);
      list.joint_linear(self, qkv, {{names.query, C}, {names.key, C}, {names.value, C}}, C);
      output(self);
      list.layer_norm(join_names(layer, names.self_norm), c.width);
      if (!encoder) {
        const std::string cross = join_names(layer, names.cross_attention);
        for (std::string_view part : {names.query, names.key, names.value}) list.linear(join_names(cross, part), C, C);
        output(cross);
        list.layer_norm(join_names(layer, names.cross_norm), c.width);
      }
      list.linear(join_names(layer, names.inner), c.width, stack.inner);
      list.linear(join_names(layer, names.outer), stack.inner, c.width);
      list.layer_norm(join_names(layer, names.feed_forward_norm), c.width);
    }
    if (c.final_norm) list.layer_norm(join_names(stack_name, names.final_norm), c.width);
  }
  if (!c.tied) list.normal(weight_of(names.head), {c.vocabulary, c.width});
  if (c.logits_bias) {
    list.zeros("final_logits_bias", {1, c.vocabulary});
    list.last().training = ParameterSpec::Training::never;
    list.last().optional = true;
  }
  return list.take();
}

}  // namespace

std::vector<float> sinusoids(int64_t positions, int64_t width, bool halves) {
  std::vector<float> table(static_cast<size_t>(positions * width));
  const int64_t sines = (width + 1) / 2;
  for (int64_t p = 0; p < positions; ++p)
    for (int64_t c = 0; c < width; ++c) {
      const bool sine = halves ? c < sines : c % 2 == 0;
      const int64_t pair = halves ? (sine ? c : c - sines) : c / 2;
      const double angle =
          static_cast<double>(p) * std::pow(10000.0, -2.0 * static_cast<double>(pair) / static_cast<double>(width));
      table[static_cast<size_t>(p * width + c)] = static_cast<float>(sine ? std::sin(angle) : std::cos(angle));
    }
  return table;
}

Model make_encoder_decoder(const EncoderDecoderConfig& config) {
  Model model{.family = config.family,
              .task = Task::seq2seq,
              .parameters = parameters_of(config),
              .vocabulary = config.vocabulary,
              .context = config.context,
              .layers = config.encoder.layers + config.decoder.layers,
              .dropout_keys = {"dropout"},
              .label_smoothing = config.label_smoothing};
  if (config.family != "vaswani")
    model.dropout_keys.insert(model.dropout_keys.end(), {"attention_dropout", "activation_dropout"});
  if (config.positions != Positions::learned)
    model.constants.push_back({sinusoid_table, {{config.context, config.width}}, [config] {
                                 return sinusoids(config.context, config.width, config.positions == Positions::halves);
                               }});
  model.encode = [config](Graph& graph, const Pass& pass) { return Builder(graph, config, pass, true).encode(); };
  model.remember = [config](Graph& graph, const Pass& pass) { Builder(graph, config, pass, false).remember(); };
  model.hidden = [config](Graph& graph, const Pass& pass) { return Builder(graph, config, pass, false).decode(); };
  model.head = [config](Graph& graph, const Pass&, Value hidden) {
    const Graph::Scope scope(graph, "head");
    const Names& names = names_of(config);
    const Value weight =
        graph.persistent(weight_of(config.tied ? names.tokens : names.head), {config.vocabulary, config.width});
    Value bias;
    if (config.logits_bias)
      bias = reshape(graph, graph.persistent("final_logits_bias", {1, config.vocabulary}), {config.vocabulary});
    return matmul(graph, hidden, weight, {.transpose_b = true, .bias = bias});
  };
  model.config = std::make_shared<const nlohmann::json>(config.to_json());
  return model;
}

}  // namespace vkformer
