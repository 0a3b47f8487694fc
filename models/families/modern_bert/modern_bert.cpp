#include "models/families/modern_bert/modern_bert.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/layers.h"
#include "shaders/attention/attention.h"
#include "shaders/embedding/embedding.h"
#include "shaders/matmul/matmul.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rope/rope.h"
#include "shaders/slice/slice.h"

namespace vkformer {

namespace {

using Head = EncoderHead;

constexpr int64_t head_stream = int64_t{1} << 20;  ///< its dropout draws from here on
constexpr const char* word_table = "model.embeddings.tok_embeddings.weight";

std::string layer_name(int64_t layer) { return fmt::format("model.layers.{}", layer); }
const char* rotary_table(bool windowed) { return windowed ? "rotary.table.1" : "rotary.table"; }

/// The encoder or the head of one pass in a graph.
class Builder {
 public:
  Builder(Graph& graph, const ModernBertConfig& config, const Pass& pass, int64_t first_stream = 0)
      : config_(config), layers_(graph, pass, first_stream) {}

  Value hidden() {
    const Value words = layers_.tensor(word_table, {config_.vocabulary, config_.width});
    Value x = norm(embedding(layers_.graph(), words, layers_.pass().ids), "model.embeddings.norm");
    x = layers_.drop(x, config_.embedding_dropout);
    for (int64_t layer = 0; layer < config_.layers; ++layer) {
      const Graph::Scope scope(layers_.graph(), fmt::format("layers.{}", layer));
      const std::string name = layer_name(layer);
      // The embeddings' norm is that of the first layer's attention.
      x = attend(layer == 0 ? x : norm(x, name + ".attn_norm"), name + ".attn", layer, x);
      x = feed_forward(norm(x, name + ".mlp_norm"), name + ".mlp", x);
    }
    return norm(x, "model.final_norm");
  }

  Value head(Value hidden) {
    if (config_.head == Head::none) return hidden;
    const Graph::Scope scope(layers_.graph(), "head");
    if (config_.head == Head::masked) {
      const Shape shape{config_.vocabulary, config_.width};
      return matmul(layers_.graph(), transform(hidden),
                    layers_.tensor(config_.tied ? word_table : "decoder.weight", shape),
                    {.transpose_b = true,
                     .bias = config_.decoder_bias ? layers_.tensor("decoder.bias", {config_.vocabulary}) : Value{}});
    }
    const int64_t classes = config_.head == Head::answer ? 2 : std::ssize(config_.classes.names);
    const Value x = transform(config_.head == Head::sequence ? pool(hidden) : hidden);
    return layers_.linear(layers_.drop(x, config_.head_dropout), "classifier", classes);
  }

 private:
  int64_t head_width() const { return config_.width / config_.heads; }
  Value norm(Value x, const std::string& name) {
    return layers_.layer_norm(x, name, config_.epsilon, config_.norm_bias);
  }

  Value attend(Value x, const std::string& name, int64_t layer, Value residual) {
    const int64_t C = config_.width, D = head_width();
    const bool windowed = config_.windowed[static_cast<size_t>(layer)];
    const Value projected = layers_.linear(x, name + ".Wqkv", 3 * C, {.bias = config_.attention_bias});
    const Value turned =
        rope(layers_.graph(), projected, layers_.constant(rotary_table(windowed), {config_.context, D}),
             {.heads = 2 * config_.heads, .head_width = D, .rotary_width = D});
    AttentionOptions options{.heads = config_.heads, .head_width = D, .causal = false};
    if (windowed) layers_.see_both_ways(options, config_.reach);
    const Value y =
        layers_.self_attention({turned, 0}, {turned, C}, {turned, 2 * C}, options, config_.attention_dropout, "");
    return layers_.linear(y, name + ".Wo", C,
                          {.bias = config_.attention_bias, .dropout = config_.attention_dropout, .residual = residual});
  }

  Value feed_forward(Value x, const std::string& name, Value residual) {
    const Value both = layers_.linear(x, name + ".Wi", 2 * config_.inner, {.bias = config_.inner_bias});
    const Value y = layers_.drop(gated_unit(layers_.graph(), config_.gate, both), config_.inner_dropout);
    return layers_.linear(y, name + ".Wo", config_.width, {.bias = config_.inner_bias, .residual = residual});
  }

  Value transform(Value x) {
    const Value y = layers_.linear(x, "head.dense", config_.width,
                                   {.bias = config_.head_bias, .activation = config_.head_activation});
    return norm(y, "head.norm");
  }

  /// [B, C] of hidden [B, T, C]. Its mean is what attention without a question gives: all that it sees weighs alike.
  Value pool(Value hidden) {
    Graph& graph = layers_.graph();
    const Shape shape = graph.shape(hidden);
    const Value first = slice(graph, reshape(graph, hidden, {shape[0], shape[1] * shape[2]}), 0, shape[2]);
    if (config_.pooling == ModernBertConfig::Pooling::first) return first;
    const Value none = scale(graph, reshape(graph, first, {shape[0], 1, shape[2]}), 0);
    const Value pooled = layers_.self_attention(
        {none}, {hidden}, {hidden}, {.heads = config_.heads, .head_width = head_width(), .causal = false}, 0, "");
    return reshape(graph, pooled, {shape[0], shape[2]});
  }

  const ModernBertConfig& config_;
  Layers layers_;
};

/// Deviations as of transformers, which also cuts the tails off.
std::vector<ParameterSpec> parameters_of(const ModernBertConfig& c) {
  const double out = c.deviation / std::sqrt(2 * static_cast<double>(c.layers));
  const auto classes = static_cast<int64_t>(c.classes.names.size());
  ParameterList list(c.deviation);
  list.normal(word_table, {c.vocabulary, c.width});
  if (c.head == Head::masked && c.tied) list.last().other_names = {"decoder.weight"};
  list.layer_norm("model.embeddings.norm", c.width, c.norm_bias);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string name = layer_name(layer);
    if (layer > 0) list.layer_norm(name + ".attn_norm", c.width, c.norm_bias);
    list.linear(name + ".attn.Wqkv", c.width, 3 * c.width, c.attention_bias);
    list.linear(name + ".attn.Wo", c.width, c.width, c.attention_bias, out);
    list.layer_norm(name + ".mlp_norm", c.width, c.norm_bias);
    list.linear(name + ".mlp.Wi", c.width, 2 * c.inner, c.inner_bias);
    list.linear(name + ".mlp.Wo", c.inner, c.width, c.inner_bias, out);
  }
  list.layer_norm("model.final_norm", c.width, c.norm_bias);
  if (c.head == Head::none) return list.take();
  list.linear("head.dense", c.width, c.width, c.head_bias, out);
  list.layer_norm("head.norm", c.width, c.norm_bias);
  if (c.head == Head::masked) {
    if (!c.tied) list.normal("decoder.weight", {c.vocabulary, c.width}, out);
    if (c.decoder_bias) list.zeros("decoder.bias", {c.vocabulary});
  } else {
    list.linear("classifier", c.width, c.head == Head::answer ? 2 : classes, true,
                1 / std::sqrt(static_cast<double>(c.width)));
  }
  return list.take();
}

}  // namespace

Model make_modern_bert(const ModernBertConfig& config) {
  Model model{.family = "modernbert",
              .task = task_of(config.head, config.classes.problem),
              .parameters = parameters_of(config),
              .vocabulary = config.vocabulary,
              .context = config.context,
              .layers = config.layers,
              .dropout_keys = {"embedding_dropout", "attention_dropout", "mlp_dropout"}};
  if (config.head != Head::masked && config.head != Head::none) model.dropout_keys.emplace_back("classifier_dropout");
  for (const bool windowed : {false, true}) {
    if (std::ranges::find(config.windowed, windowed) == config.windowed.end()) continue;
    const int64_t width = config.width / config.heads;
    model.constants.push_back({rotary_table(windowed),
                               {{config.context, width}},
                               [angles = windowed ? config.window : config.whole, positions = config.context, width] {
                                 return angles.table(positions, width);
                               }});
    if (windowed) model.constants.push_back(reach_constant(config.reach));
  }
  model.hidden = [config](Graph& graph, const Pass& pass) { return Builder(graph, config, pass).hidden(); };
  model.head = [config](Graph& graph, const Pass& pass, Value hidden) {
    return Builder(graph, config, pass, head_stream).head(hidden);
  };
  model.config = std::make_shared<const nlohmann::json>(config.to_json());
  return model;
}

}  // namespace vkformer
