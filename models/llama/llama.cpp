#include "models/llama/llama.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "shaders/attention/attention.h"
#include "shaders/cache_write/cache_write.h"
#include "shaders/embedding/embedding.h"
#include "shaders/gated_unit/gated_unit.h"
#include "shaders/matmul/matmul.h"
#include "shaders/rms_norm/rms_norm.h"
#include "shaders/rope/rope.h"

namespace vkformer {

namespace {

constexpr std::string_view table_name = "rotary.table";

std::string layer_name(int64_t layer) { return fmt::format("model.layers.{}", layer); }
std::string key_cache(int64_t layer) { return fmt::format("cache.{}.key", layer); }
std::string value_cache(int64_t layer) { return fmt::format("cache.{}.value", layer); }

/// One pass through LLaMA in a graph.
class Builder {
 public:
  Builder(Graph& graph, const LlamaConfig& config, const Pass& pass) : graph_(graph), config_(config), pass_(pass) {}

  Value hidden() {
    Value x = embedding(graph_, tensor("model.embed_tokens.weight", {config_.vocabulary, config_.width}), pass_.ids);
    for (int64_t layer = 0; layer < config_.layers; ++layer) x = block(x, layer);
    return norm(x, "model.norm");
  }

 private:
  Value tensor(const std::string& name, const Shape& shape) { return graph_.persistent(name, shape); }

  Value norm(Value x, const std::string& name) {
    const Graph::Scope scope(graph_, name.substr(name.rfind('.') + 1));
    return rms_norm(graph_, x, tensor(name + ".weight", {config_.width}), static_cast<float>(config_.epsilon));
  }

  /// x W^T (+ b) (+ residual)
  Value linear(Value x, const std::string& name, int64_t in, int64_t out, bool biased, Value residual = {}) {
    const Graph::Scope scope(graph_, name.substr(name.rfind('.') + 1));
    const Value bias = biased ? tensor(name + ".bias", {out}) : Value{};
    return matmul(graph_, x, tensor(name + ".weight", {out, in}),
                  {.transpose_b = true, .bias = bias, .residual = residual});
  }

  Value block(Value x, int64_t layer) {
    const std::string name = layer_name(layer);
    const Graph::Scope scope(graph_, fmt::format("layers.{}", layer));
    const int64_t C = config_.width, F = config_.inner;
    x = linear(attend(norm(x, name + ".input_layernorm"), name + ".self_attn", layer), name + ".self_attn.o_proj",
               config_.heads * config_.head_width, C, config_.attention_bias, x);
    const Value normed = norm(x, name + ".post_attention_layernorm");
    const Value gate = linear(normed, name + ".mlp.gate_proj", C, F, config_.inner_bias);
    const Value up = linear(normed, name + ".mlp.up_proj", C, F, config_.inner_bias);
    return linear(gated_unit(graph_, Gate::silu, gate, up), name + ".mlp.down_proj", F, C, config_.inner_bias, x);
  }

  Value rotate(Value x, int64_t heads) {
    const Value table = tensor(std::string(table_name), {config_.context, config_.head_width});
    return rope(graph_, x, table,
                {.heads = heads,
                 .head_width = config_.head_width,
                 .rotary_width = config_.head_width,
                 .position = pass_.position});
  }

  Value attend(Value x, const std::string& name, int64_t layer) {
    const int64_t C = config_.width, D = config_.head_width, kv = config_.kv_heads * D;
    const Value q = rotate(linear(x, name + ".q_proj", C, config_.heads * D, config_.attention_bias), config_.heads);
    Value k = rotate(linear(x, name + ".k_proj", C, kv, config_.attention_bias), config_.kv_heads);
    Value v = linear(x, name + ".v_proj", C, kv, config_.attention_bias);
    AttentionOptions options{.heads = config_.heads,
                             .kv_heads = config_.kv_heads,
                             .head_width = D,
                             .causal = true,
                             .position = pass_.position};
    if (pass_.seed && config_.attention_dropout > 0) {
      options.dropout = static_cast<float>(config_.attention_dropout);
      options.seed = pass_.seed;
      options.stream = layer;
    }
    if (pass_.position) {
      const Shape cache{graph_.shape(k)[0], pass_.capacity, kv};
      k = cache_write(graph_, tensor(key_cache(layer), cache), {k, 0}, pass_.position);
      v = cache_write(graph_, tensor(value_cache(layer), cache), {v, 0}, pass_.position);
    }
    return attention(graph_, {q}, {k}, {v}, options);
  }

  Graph& graph_;
  const LlamaConfig& config_;
  const Pass& pass_;
};

std::vector<ParameterSpec> parameters_of(const LlamaConfig& c) {
  using Start = ParameterSpec::Start;
  std::vector<ParameterSpec> list;
  const auto linear = [&](const std::string& name, int64_t in, int64_t out, bool bias) {
    list.push_back({name + ".weight", {out, in}, Start::normal, c.deviation});
    if (bias) list.push_back({name + ".bias", {out}, Start::zeros});
  };
  const auto norm = [&](const std::string& name) { list.push_back({name + ".weight", {c.width}, Start::ones}); };
  list.push_back({"model.embed_tokens.weight", {c.vocabulary, c.width}, Start::normal, c.deviation});
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string name = layer_name(i);
    norm(name + ".input_layernorm");
    linear(name + ".self_attn.q_proj", c.width, c.heads * c.head_width, c.attention_bias);
    linear(name + ".self_attn.k_proj", c.width, c.kv_heads * c.head_width, c.attention_bias);
    linear(name + ".self_attn.v_proj", c.width, c.kv_heads * c.head_width, c.attention_bias);
    linear(name + ".self_attn.o_proj", c.heads * c.head_width, c.width, c.attention_bias);
    norm(name + ".post_attention_layernorm");
    linear(name + ".mlp.gate_proj", c.width, c.inner, c.inner_bias);
    linear(name + ".mlp.up_proj", c.width, c.inner, c.inner_bias);
    linear(name + ".mlp.down_proj", c.inner, c.width, c.inner_bias);
  }
  norm("model.norm");
  if (!c.tied) linear("lm_head", c.width, c.vocabulary, false);
  return list;
}

}  // namespace

Model make_llama(const LlamaConfig& config) {
  Model model{.family = "llama",
              .parameters = parameters_of(config),
              .vocabulary = config.vocabulary,
              .context = config.context,
              .layers = config.layers};
  model.constants.push_back({std::string(table_name), {config.context, config.head_width}, [config] {
                               return config.rotary.table(config.context, config.head_width);
                             }});
  for (int64_t i = 0; i < config.layers; ++i)
    for (const std::string& name : {key_cache(i), value_cache(i)})
      model.caches.push_back({name, config.kv_heads * config.head_width});
  model.config = std::make_shared<const nlohmann::json>(config.to_json());
  model.hidden = [config](Graph& graph, const Pass& pass) { return Builder(graph, config, pass).hidden(); };
  model.head = [config](Graph& graph, Value hidden) {
    const Graph::Scope scope(graph, "lm_head");
    const std::string name = config.tied ? "model.embed_tokens.weight" : "lm_head.weight";
    return matmul(graph, hidden, graph.persistent(name, {config.vocabulary, config.width}), {.transpose_b = true});
  };
  return model;
}

}  // namespace vkformer
