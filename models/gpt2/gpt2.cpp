#include "models/gpt2/gpt2.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "shaders/attention/attention.h"
#include "shaders/cache_write/cache_write.h"
#include "shaders/dropout/dropout.h"
#include "shaders/embedding/embedding.h"
#include "shaders/layer_norm/layer_norm.h"
#include "shaders/matmul/matmul.h"

namespace vkformer {

namespace {

constexpr int64_t most_width = 1 << 20;

constexpr std::pair<std::string_view, Activation> activations[] = {{"gelu_new", Activation::gelu_tanh},
                                                                   {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                                                   {"gelu", Activation::gelu},
                                                                   {"relu", Activation::relu}};

Activation activation_of(const JsonObject& config) {
  const std::string name = string_or(config, "activation_function", "gelu_new");
  for (const auto& [known, activation] : activations)
    if (known == name) return activation;
  fail("{}: activation_function '{}' is not supported; gpt2 knows gelu_new, gelu_pytorch_tanh, gelu, relu",
       config.name(), name);
}

std::string cache_name(int64_t layer) { return fmt::format("cache.{}", layer); }
std::string layer_name(int64_t layer) { return fmt::format("transformer.h.{}", layer); }

/// One pass through GPT-2 in a graph.
class Builder {
 public:
  Builder(Graph& graph, const Gpt2Config& config, const Pass& pass) : graph_(graph), config_(config), pass_(pass) {}

  Value hidden() {
    const Value tokens = tensor("transformer.wte.weight", {config_.vocabulary, config_.width});
    const Value positions = tensor("transformer.wpe.weight", {config_.context, config_.width});
    Value x = drop(embedding(graph_, tokens, pass_.ids, {positions, pass_.position}), config_.embedding_dropout);
    for (int64_t layer = 0; layer < config_.layers; ++layer) x = block(x, layer);
    return norm(x, "transformer.ln_f");
  }

 private:
  Value tensor(const std::string& name, const Shape& shape) { return graph_.persistent(name, shape); }

  Value norm(Value x, const std::string& name) {
    const Graph::Scope scope(graph_, name.substr(name.rfind('.') + 1));
    return layer_norm(graph_, x, tensor(name + ".weight", {config_.width}), tensor(name + ".bias", {config_.width}),
                      static_cast<float>(config_.epsilon));
  }

  Value drop(Value x, double probability) {
    return pass_.seed ? dropout(graph_, x, probability, pass_.seed, ++streams_) : x;
  }

  /// x W + b, with what follows it fused where nothing stands between.
  Value linear(Value x, const std::string& name, int64_t in, int64_t out, Activation activation = Activation::none,
               Value residual = {}) {
    const Graph::Scope scope(graph_, name.substr(name.rfind('.') + 1));
    return matmul(graph_, x, tensor(name + ".weight", {in, out}),
                  {.bias = tensor(name + ".bias", {out}), .activation = activation, .residual = residual});
  }

  /// residual + dropout(x W + b)
  Value project(Value x, const std::string& name, int64_t in, Value residual) {
    if (!pass_.seed || config_.residual_dropout == 0)
      return linear(x, name, in, config_.width, Activation::none, residual);
    return add(graph_, drop(linear(x, name, in, config_.width), config_.residual_dropout), residual);
  }

  Value block(Value x, int64_t layer) {
    const std::string name = layer_name(layer);
    const Graph::Scope scope(graph_, fmt::format("h.{}", layer));
    x = project(attend(norm(x, name + ".ln_1"), name + ".attn", layer), name + ".attn.c_proj", config_.width, x);
    const Value inner =
        linear(norm(x, name + ".ln_2"), name + ".mlp.c_fc", config_.width, config_.inner, config_.activation);
    return project(inner, name + ".mlp.c_proj", config_.inner, x);
  }

  Value attend(Value x, const std::string& name, int64_t layer) {
    const Value qkv = linear(x, name + ".c_attn", config_.width, 3 * config_.width);
    const Graph::Scope scope(graph_, "attn");
    const int64_t head_width = config_.width / config_.heads;
    float scale = config_.scale_attention ? 1.0f / std::sqrt(static_cast<float>(head_width)) : 1.0f;
    if (config_.scale_attention_by_layer) scale /= static_cast<float>(layer + 1);
    AttentionOptions options{.heads = config_.heads,
                             .kv_heads = config_.heads,
                             .head_width = head_width,
                             .value_width = head_width,
                             .scale = scale,
                             .causal = true,
                             .position = pass_.position};
    if (pass_.seed && config_.attention_dropout > 0) {
      options.dropout = static_cast<float>(config_.attention_dropout);
      options.seed = pass_.seed;
      options.stream = ++streams_;
    }
    HeadColumns keys{qkv, config_.width}, values{qkv, 2 * config_.width};
    if (pass_.position) {
      const Value cache = tensor(cache_name(layer), {graph_.shape(qkv)[0], pass_.capacity, 2 * config_.width});
      const Value filled = cache_write(graph_, cache, {qkv, config_.width}, pass_.position);
      keys = {filled, 0};
      values = {filled, config_.width};
    }
    return attention(graph_, {qkv, 0}, keys, values, options);
  }

  Graph& graph_;
  const Gpt2Config& config_;
  const Pass& pass_;
  int64_t streams_ = 0;
};

std::vector<ParameterSpec> parameters_of(const Gpt2Config& c) {
  using Start = ParameterSpec::Start;
  std::vector<ParameterSpec> list;
  const auto normal = [&](const std::string& name, const Shape& shape, double deviation) {
    list.push_back({name, shape, Start::normal, deviation});
  };
  const auto norm = [&](const std::string& name) {
    list.push_back({name + ".weight", {c.width}, Start::ones});
    list.push_back({name + ".bias", {c.width}, Start::zeros});
  };
  const auto linear = [&](const std::string& name, int64_t in, int64_t out, double deviation) {
    normal(name + ".weight", {in, out}, deviation);
    list.push_back({name + ".bias", {out}, Start::zeros});
  };
  // Projections into the residual stream start smaller, by the number of them (GPT-2 paper, section 2.3).
  const double residual = c.deviation / std::sqrt(2.0 * static_cast<double>(c.layers));
  normal("transformer.wte.weight", {c.vocabulary, c.width}, c.deviation);
  normal("transformer.wpe.weight", {c.context, c.width}, c.deviation);
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string name = layer_name(i);
    norm(name + ".ln_1");
    linear(name + ".attn.c_attn", c.width, 3 * c.width, c.deviation);
    linear(name + ".attn.c_proj", c.width, c.width, residual);
    norm(name + ".ln_2");
    linear(name + ".mlp.c_fc", c.width, c.inner, c.deviation);
    linear(name + ".mlp.c_proj", c.inner, c.width, residual);
  }
  norm("transformer.ln_f");
  if (!c.tied) normal("lm_head.weight", {c.vocabulary, c.width}, c.deviation);
  return list;
}

}  // namespace

Gpt2Config Gpt2Config::from_json(const JsonObject& json) {
  Gpt2Config c;
  c.vocabulary = integer_or(json, "vocab_size", c.vocabulary, 1, int64_t{1} << 24);
  c.context = integer_or(json, "n_positions", c.context, 1, most_width);
  c.width = integer_or(json, "n_embd", c.width, 1, most_width);
  c.layers = integer_or(json, "n_layer", c.layers, 1, 10000);
  c.heads = integer_or(json, "n_head", c.heads, 1, most_width);
  c.inner = integer_or(json, "n_inner", 4 * c.width, 1, 4 * most_width);
  c.activation = activation_of(json);
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
  std::string_view activation_name;
  for (const auto& [name, known] : activations)
    if (known == activation && activation_name.empty()) activation_name = name;
  return {{"model_type", "gpt2"},
          {"architectures", {"GPT2LMHeadModel"}},
          {"vocab_size", vocabulary},
          {"n_positions", context},
          {"n_ctx", context},
          {"n_embd", width},
          {"n_layer", layers},
          {"n_head", heads},
          {"n_inner", inner},
          {"activation_function", activation_name},
          {"layer_norm_epsilon", epsilon},
          {"embd_pdrop", embedding_dropout},
          {"attn_pdrop", attention_dropout},
          {"resid_pdrop", residual_dropout},
          {"initializer_range", deviation},
          {"scale_attn_weights", scale_attention},
          {"scale_attn_by_inverse_layer_idx", scale_attention_by_layer},
          {"tie_word_embeddings", tied},
          {"torch_dtype", "float32"}};
}

Model make_gpt2(const Gpt2Config& config) {
  Model model{.family = "gpt2",
              .parameters = parameters_of(config),
              .vocabulary = config.vocabulary,
              .context = config.context,
              .layers = config.layers};
  for (int64_t i = 0; i < config.layers; ++i) model.caches.push_back({cache_name(i), 2 * config.width});
  model.config = std::make_shared<const nlohmann::json>(config.to_json());
  model.hidden = [config](Graph& graph, const Pass& pass) { return Builder(graph, config, pass).hidden(); };
  model.head = [config](Graph& graph, Value hidden) {
    const Graph::Scope scope(graph, "lm_head");
    const std::string name = config.tied ? "transformer.wte.weight" : "lm_head.weight";
    return matmul(graph, hidden, graph.persistent(name, {config.vocabulary, config.width}), {.transpose_b = true});
  };
  return model;
}

}  // namespace vkformer
