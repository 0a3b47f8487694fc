#include "models/families/bert/bert.h"

#include <nlohmann/json.hpp>

#include "models/families/bert/bert_parameters.h"
#include "models/families/bert/disentangled.h"
#include "models/families/layers.h"
#include "runtime/check.h"
#include "shaders/add_bias/add_bias.h"
#include "shaders/embedding/embedding.h"
#include "shaders/matmul/matmul.h"
#include "shaders/relative_bias/relative_bias.h"
#include "shaders/relative_bias/t5_buckets.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rope/rope.h"
#include "shaders/slice/slice.h"

namespace vkformer {

using namespace bert;

namespace {

using Head = BertConfig::Head;

constexpr const char* rotary_table = "rotary.table";
constexpr int64_t head_stream = int64_t{1} << 20;  ///< its dropout draws from here on

/// The encoder or the head of one pass in a graph.
class Builder {
 public:
  Builder(Graph& graph, const BertConfig& config, const Pass& pass, int64_t first_stream = 0)
      : config_(config), names_(names_of(config)), layers_(graph, pass, first_stream) {}

  Value hidden() {
    Value x = embed();
    Value relative = {};
    if (config_.is_mpnet()) relative = position_bias(layers_.graph().shape(x)[1]);
    if (config_.is_deberta()) relative = distances_of(layers_, config_);
    for (int64_t layer = 0; layer < config_.layers; ++layer) {
      const std::string name = layer_name(config_, layer);
      const Graph::Scope scope(layers_.graph(), fmt::format("layer.{}", layer));
      x = attend(x, name, relative);
      x = feed_forward(x, name);
    }
    return x;
  }

  Value head(Value hidden) {
    const Graph::Scope scope(layers_.graph(), "head");
    switch (config_.head) {
      case Head::masked: return words(hidden);
      case Head::sequence: return sequence_class(hidden);
      case Head::tokens: return layers_.linear(layers_.drop(hidden, config_.head_dropout), token_classifier, classes());
      case Head::answer: break;
      case Head::none: return hidden;
    }
    return layers_.linear(layers_.drop(hidden, config_.head_dropout), answer_ends, 2);
  }

 private:
  int64_t classes() const { return static_cast<int64_t>(config_.classes.names.size()); }
  Value norm(Value x, const std::string& name) { return layers_.layer_norm(x, name, config_.epsilon); }

  Value embed() {
    const Graph::Scope scope(layers_.graph(), "embeddings");
    const Value words = layers_.tensor(word_table(config_), {config_.vocabulary, config_.embedding_width()});
    EmbeddingOptions positions;
    if (config_.has_position_table())
      positions = {.position_table = layers_.tensor(position_table(config_), position_shape(config_)),
                   .first_position = config_.first_position};
    Value x = embedding(layers_.graph(), words, layers_.pass().ids, positions);
    x = norm(add_segments(x), embedding_norm(config_));
    x = layers_.drop(x, config_.dropout);
    return config_.projects_embeddings() ? layers_.linear(x, std::string(names_.embedding_projection), config_.width)
                                         : x;
  }

  Value add_segments(Value x) {
    Graph& graph = layers_.graph();
    const Value segments = layers_.pass().segments;
    if (config_.segments == 0) return x;
    const int64_t E = config_.embedding_width();
    const Value table = layers_.tensor(segment_table(config_), {config_.segments, E});
    if (segments) return add(graph, x, embedding(graph, table, segments));
    const Value first = slice(graph, reshape(graph, table, {config_.segments * E}), 0, E);
    return add_bias(graph, x, first);
  }

  /// [1, H, T, T], for all layers.
  Value position_bias(int64_t positions) {
    const Graph::Scope scope(layers_.graph(), "bias");
    const Value table = layers_.tensor(relative_table, {bucket_count, config_.heads});
    const Value buckets = layers_.constant(relative_buckets, {2 * most_distance + 1}, DType::i32);
    return relative_bias(layers_.graph(), table, buckets,
                         {.queries = positions, .keys = positions, .zero = most_distance});
  }

  Value self_attention(Value x, const std::string& layer, Value bias) {
    const int64_t C = config_.width, D = C / config_.heads;
    Value projected = layers_.linear(x, join_names(layer, names_.qkv), 3 * C, {.bias = names_.biases});
    if (config_.rotary)
      projected = rope(layers_.graph(), projected, layers_.constant(rotary_table, {config_.context, D}),
                       {.heads = 2 * config_.heads, .head_width = D, .rotary_width = D});
    const AttentionOptions heads{.heads = config_.heads, .head_width = D, .causal = false, .bias = bias};
    const Graph::Scope scope(layers_.graph(), "attention");
    return layers_.self_attention({projected, 0}, {projected, C}, {projected, 2 * C}, heads, config_.attention_dropout,
                                  "");
  }

  /// `relative`: MPNet's bias or DeBERTa's distances.
  Value attend(Value x, const std::string& layer, Value relative) {
    Value y = config_.is_deberta() ? disentangled_attention(layers_, config_, x, relative, layer)
                                   : self_attention(x, layer, relative);
    y = layers_.linear(
        y, join_names(layer, names_.output), config_.width,
        {.bias = names_.biases, .dropout = names_.drops_attention_output ? config_.dropout : 0, .residual = x});
    return norm(y, join_names(layer, names_.attention_norm));
  }

  Value inner_states(Value x, const std::string& layer) {
    if (!config_.is_nomic())
      return layers_.linear(x, join_names(layer, names_.inner), config_.inner, {.activation = config_.activation});
    const Value both = layers_.linear(x, join_names(layer, gate_up), 2 * config_.inner, {.bias = names_.biases});
    return gated_unit(layers_.graph(), static_cast<Gate>(config_.activation), both);
  }

  Value feed_forward(Value x, const std::string& layer) {
    const Value outer =
        layers_.linear(inner_states(x, layer), join_names(layer, names_.outer), config_.width,
                       {.bias = names_.biases, .dropout = names_.drops_output ? config_.dropout : 0, .residual = x});
    return norm(outer, join_names(layer, names_.output_norm));
  }

  Value words(Value hidden) {
    const Activation activation = names_.transforms_by_activation ? config_.activation : Activation::gelu;
    const int64_t E = config_.embedding_width();
    Value x = layers_.linear(hidden, std::string(names_.transform), E, {.activation = activation});
    x = norm(x, std::string(names_.transform_norm));
    const std::string weight = config_.tied ? word_table(config_) : decoder_weight(config_);
    return matmul(
        layers_.graph(), x, layers_.tensor(weight, {config_.vocabulary, E}),
        {.transpose_b = true, .bias = layers_.tensor(decoder_bias(config_, config_.tied), {config_.vocabulary})});
  }

  Value sequence_class(Value hidden) {
    Graph& graph = layers_.graph();
    const Shape shape = graph.shape(hidden);
    Value first = slice(graph, reshape(graph, hidden, {shape[0], shape[1] * shape[2]}), 0, shape[2]);
    const bool deberta = config_.is_deberta();
    if (names_.drops_first_token || deberta)
      first = layers_.drop(first, deberta ? config_.pooler_dropout : config_.head_dropout);
    const Value pooled = layers_.linear(
        first, std::string(names_.pooler), config_.width,
        {.activation = deberta ? config_.pooler_activation : names_.pooled, .dropout = config_.head_dropout});
    return layers_.linear(pooled, std::string(names_.classifier), classes());
  }

  const BertConfig& config_;
  const Names& names_;
  Layers layers_;
};

std::vector<std::string> dropout_keys(const BertConfig& config) {
  if (config.family == "distilbert") {
    std::vector<std::string> keys{"dropout", "attention_dropout"};
    if (config.head == Head::sequence) keys.emplace_back("seq_classif_dropout");
    if (config.head == Head::answer) keys.emplace_back("qa_dropout");
    return keys;
  }
  std::vector<std::string> keys{"hidden_dropout_prob", "attention_probs_dropout_prob"};
  if (config.is_deberta()) {
    if (config.head == Head::sequence) keys.insert(keys.end(), {"pooler_dropout", "cls_dropout"});
    return keys;
  }
  if (!config.is_mpnet() && (config.head == Head::sequence || config.head == Head::tokens))
    keys.emplace_back(classifier_dropout_key(config));
  return keys;
}

}  // namespace

Model make_bert(const BertConfig& config) {
  Model model{.family = config.family,
              .task = task_of(config.head, config.classes.problem),
              .parameters = parameters_of(config),
              .vocabulary = config.vocabulary,
              .context = config.context,
              .layers = config.layers,
              .segments = config.segments,
              .padding = config.first_position - 1,
              .dropout_keys = dropout_keys(config)};
  if (config.is_mpnet())
    model.constants.push_back({relative_buckets, {{2 * most_distance + 1}, DType::i32}, [] {
                                 const auto buckets =
                                     t5_buckets(-most_distance, most_distance, true, bucket_count, most_distance);
                                 return std::vector<float>(buckets.begin(), buckets.end());
                               }});
  if (config.is_deberta()) model.constants = distance_constants(config);
  if (config.rotary) {
    const int64_t width = config.width / config.heads;
    model.constants.push_back(
        {rotary_table, {{config.context, width}}, [angles = *config.rotary, positions = config.context, width] {
           return angles.table(positions, width);
         }});
  }
  model.hidden = [config](Graph& graph, const Pass& pass) { return Builder(graph, config, pass).hidden(); };
  model.head = [config](Graph& graph, const Pass& pass, Value hidden) {
    return Builder(graph, config, pass, head_stream).head(hidden);
  };
  model.config = std::make_shared<const nlohmann::json>(config.to_json());
  return model;
}

}  // namespace vkformer
