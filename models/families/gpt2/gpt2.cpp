#include "models/families/gpt2/gpt2.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/decoder_head.h"
#include "runtime/check.h"
#include "shaders/embedding/embedding.h"
#include "shaders/matmul/matmul.h"

namespace vkformer {

namespace {

constexpr const char* family = "gpt2";
constexpr const char* architecture = "GPT2LMHeadModel";

std::string layer_name(int64_t layer) { return fmt::format("transformer.h.{}", layer); }

/// One pass through GPT-2 in a graph.
class Builder {
 public:
  Builder(Graph& graph, const Gpt2Config& config, const Pass& pass) : config_(config), layers_(graph, pass) {}

  Value hidden() {
    const Pass& pass = layers_.pass();
    const Value tokens = layers_.tensor("transformer.wte.weight", {config_.vocabulary, config_.width});
    const Value positions = layers_.tensor("transformer.wpe.weight", {config_.context, config_.width});
    Value x = embedding(layers_.graph(), tokens, pass.ids, {.position_table = positions, .position = pass.first()});
    x = layers_.drop(x, config_.embedding_dropout);
    for (int64_t layer = 0; layer < config_.layers; ++layer) x = block(x, layer);
    return layers_.layer_norm(x, "transformer.ln_f", config_.epsilon);
  }

 private:
  Value linear(Value x, const std::string& name, int64_t out, LinearOptions options = {}) {
    options.input_major = true;
    return layers_.linear(x, name, out, options);
  }
  Value project(Value x, const std::string& name, Value residual) {
    return linear(x, name, config_.width, {.dropout = config_.residual_dropout, .residual = residual});
  }

  Value block(Value x, int64_t layer) {
    const std::string name = layer_name(layer);
    const Graph::Scope scope(layers_.graph(), fmt::format("h.{}", layer));
    const Value normed = layers_.layer_norm(x, name + ".ln_1", config_.epsilon);
    x = project(attend(normed, name + ".attn", layer), name + ".attn.c_proj", x);
    const Value inner = linear(layers_.layer_norm(x, name + ".ln_2", config_.epsilon), name + ".mlp.c_fc",
                               config_.inner, {.activation = config_.activation});
    return project(inner, name + ".mlp.c_proj", x);
  }

  Value attend(Value x, const std::string& name, int64_t layer) {
    const Value qkv = linear(x, name + ".c_attn", 3 * config_.width);
    const Graph::Scope scope(layers_.graph(), "attn");
    const int64_t head_width = config_.width / config_.heads;
    float scale = config_.scale_attention ? 1.0f / std::sqrt(static_cast<float>(head_width)) : 1.0f;
    if (config_.scale_attention_by_layer) scale /= static_cast<float>(layer + 1);
    return layers_.self_attention({qkv, 0}, {qkv, config_.width}, {qkv, 2 * config_.width},
                                  {.heads = config_.heads, .head_width = head_width, .scale = scale, .causal = true},
                                  config_.attention_dropout, fmt::format("cache.{}", layer));
  }

  const Gpt2Config& config_;
  Layers layers_;
};

std::vector<ParameterSpec> parameters_of(const Gpt2Config& c) {
  ParameterList list(c.deviation);
  const auto linear = [&](const std::string& name, int64_t in, int64_t out, double deviation) {
    list.normal(name + ".weight", {in, out}, deviation);
    list.zeros(name + ".bias", {out});
  };
  // Projections into the residual stream start smaller, by the number of them (GPT-2 paper, section 2.3).
  const double residual = c.deviation / std::sqrt(2.0 * static_cast<double>(c.layers));
  list.normal("transformer.wte.weight", {c.vocabulary, c.width});
  if (c.tied && !c.classes) list.last().other_names = {"lm_head.weight"};
  list.normal("transformer.wpe.weight", {c.context, c.width});
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string name = layer_name(i);
    list.layer_norm(name + ".ln_1", c.width);
    linear(name + ".attn.c_attn", c.width, 3 * c.width, c.deviation);
    linear(name + ".attn.c_proj", c.width, c.width, residual);
    list.layer_norm(name + ".ln_2", c.width);
    linear(name + ".mlp.c_fc", c.width, c.inner, c.deviation);
    linear(name + ".mlp.c_proj", c.inner, c.width, residual);
  }
  list.layer_norm("transformer.ln_f", c.width);
  if (!c.tied && !c.classes) list.normal("lm_head.weight", {c.vocabulary, c.width});
  if (c.classes) add_class_head(list, c.width, *c.classes);
  return list.take();
}

}  // namespace

Gpt2Config Gpt2Config::from_json(const JsonObject& json) {
  Gpt2Config c;
  c.classes = read_decoder_head(json, family, architecture);
  c.vocabulary = integer_or(json, "vocab_size", c.vocabulary, 1, int64_t{1} << 24);
  c.context = integer_or(json, "n_positions", c.context, 1, most_width);
  c.width = integer_or(json, "n_embd", c.width, 1, most_width);
  c.layers = integer_or(json, "n_layer", c.layers, 1, most_layers);
  c.heads = integer_or(json, "n_head", c.heads, 1, most_width);
  c.inner = integer_or(json, "n_inner", 4 * c.width, 1, 4 * most_width);
  c.activation = activation_of(json, "activation_function", "gelu_new");
  c.epsilon = number_or(json, "layer_norm_epsilon", c.epsilon, 0, 1);
  c.embedding_dropout = number_or(json, "embd_pdrop", c.embedding_dropout, 0, 0.99);
  c.attention_dropout = number_or(json, "attn_pdrop", c.attention_dropout, 0, 0.99);
  c.residual_dropout = number_or(json, "resid_pdrop", c.residual_dropout, 0, 0.99);
  c.deviation = number_or(json, "initializer_range", c.deviation, 0, 10);
  c.scale_attention = boolean_or(json, "scale_attn_weights", true);
  c.scale_attention_by_layer = boolean_or(json, "scale_attn_by_inverse_layer_idx", false);
  c.tied = boolean_or(json, "tie_word_embeddings", true);
  check(!boolean_or(json, "add_cross_attention", false), "{}: add_cross_attention is not supported for gpt2",
        json.name());
  check(c.width % c.heads == 0, "{}: n_embd {} is not a multiple of n_head {}", json.name(), c.width, c.heads);
  check(c.width / c.heads <= 256, "{}: heads of width {} (n_embd {} / n_head {}); at most 256 is supported",
        json.name(), c.width / c.heads, c.width, c.heads);
  return c;
}

nlohmann::json Gpt2Config::to_json() const {
  nlohmann::json json = decoder_head_keys(family, architecture, classes);
  json.update(nlohmann::json{{"vocab_size", vocabulary},
                             {"n_positions", context},
                             {"n_ctx", context},
                             {"n_embd", width},
                             {"n_layer", layers},
                             {"n_head", heads},
                             {"n_inner", inner},
                             {"activation_function", name_of(activation)},
                             {"layer_norm_epsilon", epsilon},
                             {"embd_pdrop", embedding_dropout},
                             {"attn_pdrop", attention_dropout},
                             {"resid_pdrop", residual_dropout},
                             {"initializer_range", deviation},
                             {"scale_attn_weights", scale_attention},
                             {"scale_attn_by_inverse_layer_idx", scale_attention_by_layer},
                             {"tie_word_embeddings", tied},
                             {"torch_dtype", "float32"}});
  return json;
}

Model make_gpt2(const Gpt2Config& config) {
  Model model{.family = family,
              .task = decoder_task(config.classes),
              .parameters = parameters_of(config),
              .vocabulary = config.vocabulary,
              .context = config.context,
              .layers = config.layers,
              .dropout_keys = {"embd_pdrop", "attn_pdrop", "resid_pdrop"}};
  model.config = std::make_shared<const nlohmann::json>(config.to_json());
  model.hidden = [config](Graph& graph, const Pass& pass) { return Builder(graph, config, pass).hidden(); };
  model.head = [config](Graph& graph, const Pass& pass, Value hidden) {
    if (config.classes) return class_logits(graph, pass, hidden, *config.classes);
    const Graph::Scope scope(graph, "lm_head");
    const std::string name = config.tied ? "transformer.wte.weight" : "lm_head.weight";
    return matmul(graph, hidden, graph.persistent(name, {config.vocabulary, config.width}), {.transpose_b = true});
  };
  return model;
}

}  // namespace vkformer
