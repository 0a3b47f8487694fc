#include "models/families/encoder_decoder/encoder_decoder.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/encoder_decoder/encoder_decoder_parameters.h"
#include "models/families/layers.h"
#include "shaders/embedding/embedding.h"
#include "shaders/matmul/matmul.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rows/rows.h"
#include "shaders/shift_right/shift_right.h"
#include "shaders/unfold/unfold.h"

namespace vkformer {

using namespace encoder_decoder;

namespace {

using Positions = EncoderDecoderConfig::Positions;
using Stack = EncoderDecoderConfig::Stack;

/// One pass through a stack in a graph.
class Builder {
 public:
  Builder(Graph& graph, const EncoderDecoderConfig& config, const Pass& pass, bool encoder)
      : config_(config),
        names_(names_of(config)),
        encoder_(encoder),
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
    if (encoder_ && config_.sound) return layers_.drop(convolve(), config_.dropout);
    const int64_t vocabulary = encoder_ ? config_.encoder_vocabulary() : config_.vocabulary;
    const Value tokens = layers_.tensor(embedding_of(config_, encoder_), {vocabulary, config_.width});
    const bool learned = config_.positions == Positions::learned;
    const Value table = learned ? layers_.tensor(fmt::format("{}.embed_positions.weight", stack_name_),
                                                 {config_.context + learned_offset(config_), config_.width})
                                : layers_.constant(sinusoid_table, {config_.context, config_.width});
    Value x = embedding(layers_.graph(), tokens, layers_.pass().ids,
                        {.position_table = table,
                         .position = layers_.pass().position,
                         .first_position = learned ? learned_offset(config_) : 0,
                         .scale = config_.scale_embedding ? std::sqrt(static_cast<double>(config_.width)) : 1.0});
    if (config_.embedding_norm) x = norm(x, join_names(stack_name_, "layernorm_embedding"));
    return layers_.drop(x, config_.dropout);
  }

  /// Frames [B, 2 S, mels] -> [B, S, C].
  Value convolve() {
    Graph& graph = layers_.graph();
    const int64_t C = config_.width;
    const auto convolution = [&](Value x, std::string_view name, int64_t stride, const auto& residual) {
      const Graph::Scope scope(graph, name);
      const std::string path = join_names(stack_name_, name);
      const int64_t channels = layers_.columns(x);
      const Value weight = layers_.tensor(weight_of(path), {C, channels, convolved});
      const Value windows = unfold(graph, x, {.size = convolved, .stride = stride, .padding = 1});
      return matmul(graph, windows, reshape(graph, weight, {C, channels * convolved}),
                    {.transpose_b = true,
                     .bias = layers_.tensor(fmt::format("{}.bias", path), {C}),
                     .activation = Activation::gelu,
                     .residual = residual(graph.shape(windows))});
    };
    const Value x = convolution(layers_.pass().ids, "conv1", 1, [](const Shape&) { return Value{}; });
    const Value table =
        layers_.tensor(fmt::format("{}.embed_positions.weight", stack_name_), {config_.sound->positions, C});
    return convolution(x, "conv2", frames_per_position, [&](const Shape& windows) {
      const Value own = rows(graph, table, 0, windows[1]);
      return reshape(graph, join_rows(graph, Values(static_cast<size_t>(windows[0]), own)),
                     {windows[0], windows[1], C});
    });
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
      HeadColumns q, k, v;
      if (config_.sound) {
        q = {project(input, name, names_.query), 0};
        k = {project(input, name, names_.key), 0};
        v = {project(input, name, names_.value), 0};
      } else {
        const Value projected = layers_.linear(input, join_names(name, qkv), 3 * C);
        q = {projected, 0}, k = {projected, C}, v = {projected, 2 * C};
      }
      const Graph::Scope scope(layers_.graph(), "self");
      const Value y = layers_.self_attention(q, k, v, heads(causal), config_.attention_dropout, cache);
      return layers_.linear(y, join_names(name, names_.output), config_.width,
                            {.dropout = config_.dropout, .residual = rest});
    });
  }

  /// Queries, keys or values alone.
  Value project(Value x, const std::string& attention, std::string_view part) {
    return layers_.linear(x, join_names(attention, part), config_.width,
                          {.bias = !config_.sound || part != names_.key});
  }

  static std::string memory_cache(int64_t layer, std::string_view part) {
    return fmt::format("cache.memory.{}.{}", layer, part);
  }
  Value project_memory(Value memory, int64_t layer, std::string_view part) {
    const std::string name = join_names(layer_name(stack_name_, layer), names_.cross_attention);
    return project(memory, name, part);
  }

  Value attend_memory(Value x, const std::string& layer_path, int64_t layer) {
    return residual(x, join_names(layer_path, names_.cross_norm), [&](Value input, Value rest) {
      const std::string name = join_names(layer_path, names_.cross_attention);
      const auto memory = [&](std::string_view part) {
        return layers_.remembered(memory_cache(layer, part), config_.width,
                                  [&](Value encoded) { return project_memory(encoded, layer, part); });
      };
      const Value q = project(input, name, names_.query);
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
  const bool encoder_;
  const Stack& stack_;
  std::string_view stack_name_;
  Layers layers_;
};

}  // namespace

std::vector<float> sinusoids(Positions kind, int64_t positions, int64_t width, int64_t first) {
  const bool interleaved = kind == Positions::sinusoidal, fairseq = kind == Positions::fairseq;
  // Fairseq's odd last column is 0; the others have one sine more.
  const int64_t sines = fairseq ? width / 2 : (width + 1) / 2, waves = fairseq ? 2 * sines : width;
  const auto columns = static_cast<double>(fairseq ? waves - 2 : width);
  std::vector<float> table(static_cast<size_t>(positions * width));
  for (int64_t p = 0; p < positions; ++p)
    for (int64_t c = 0; c < waves; ++c) {
      const bool sine = interleaved ? c % 2 == 0 : c < sines;
      const int64_t pair = interleaved ? c / 2 : (sine ? c : c - sines);
      const double angle =
          static_cast<double>(first + p) * std::pow(10000.0, -2.0 * static_cast<double>(pair) / columns);
      table[static_cast<size_t>(p * width + c)] = static_cast<float>(sine ? std::sin(angle) : std::cos(angle));
    }
  return table;
}

namespace {

/// Encoder and decoder over one text: the decoder's states [B, T, C].
Value read_twice(Graph& graph, const EncoderDecoderConfig& config, const Pass& pass) {
  Pass both{.ids = shift_right(graph, pass.ids, config.decoder_start),
            .seed = pass.seed,
            .source = pass.ids,
            .source_mask = pass.mask};
  both.memory = Builder(graph, config, both, true).encode();
  return Builder(graph, config, both, false).decode();
}

Value classify(Graph& graph, const EncoderDecoderConfig& config, const Pass& pass, Value hidden) {
  const Graph::Scope scope(graph, "head");
  Layers layers(graph, pass, int64_t{1} << 21);
  const EncoderDecoderConfig::Classifier& head = *config.classifier;
  Value x = layers.drop(layers.last_rows(hidden), head.dropout);
  x = layers.linear(x, "classification_head.dense", config.width,
                    {.activation = Activation::tanh, .dropout = head.dropout});
  return layers.linear(x, "classification_head.out_proj", std::ssize(head.classes.names));
}

Value logits(Graph& graph, const EncoderDecoderConfig& config, Value hidden) {
  const Graph::Scope scope(graph, "head");
  const std::string name = config.tied ? embedding_of(config, false) : weight_of(names_of(config).head);
  const Value weight = graph.persistent(name, {config.vocabulary, config.width});
  Value bias;
  if (config.logits_bias)
    bias = reshape(graph, graph.persistent("final_logits_bias", {1, config.vocabulary}), {config.vocabulary});
  return matmul(graph, hidden, weight, {.transpose_b = true, .bias = bias});
}

}  // namespace

Model make_encoder_decoder(const EncoderDecoderConfig& config) {
  Model model{.family = config.family,
              .task = Task::seq2seq,
              .parameters = parameters_of(config),
              .vocabulary = config.vocabulary,
              .source_vocabulary = config.source_vocabulary,
              .context = config.context,
              .layers = config.encoder.layers + config.decoder.layers,
              .dropout_keys = {"dropout"},
              .label_smoothing = config.label_smoothing};
  if (config.sound) {
    model.frame_columns = config.sound->mels;
    model.frames_per_position = frames_per_position;
    model.source_context = config.sound->positions;
  }
  if (config.is_hugging_face())
    model.dropout_keys.insert(model.dropout_keys.end(), {"attention_dropout", "activation_dropout"});
  if (config.positions != Positions::learned)
    model.constants.push_back({sinusoid_table, {{config.context, config.width}}, [config] {
                                 const bool fairseq = config.positions == Positions::fairseq;
                                 return sinusoids(config.positions, config.context, config.width,
                                                  fairseq ? config.padding + 1 : 0);
                               }});
  if (config.classifier) {
    model.task = task_of(EncoderHead::sequence, config.classifier->classes.problem);
    model.dropout_keys.emplace_back("classifier_dropout");
    model.hidden = [config](Graph& graph, const Pass& pass) { return read_twice(graph, config, pass); };
    model.head = [config](Graph& graph, const Pass& pass, Value hidden) {
      return classify(graph, config, pass, hidden);
    };
  } else {
    model.encode = [config](Graph& graph, const Pass& pass) { return Builder(graph, config, pass, true).encode(); };
    model.remember = [config](Graph& graph, const Pass& pass) { Builder(graph, config, pass, false).remember(); };
    model.hidden = [config](Graph& graph, const Pass& pass) { return Builder(graph, config, pass, false).decode(); };
    model.head = [config](Graph& graph, const Pass&, Value hidden) { return logits(graph, config, hidden); };
  }
  model.config = std::make_shared<const nlohmann::json>(config.to_json());
  return model;
}

}  // namespace vkformer
