#include "models/families/llama/llama.h"

#include <nlohmann/json.hpp>

#include "models/families/layers.h"
#include "shaders/embedding/embedding.h"
#include "shaders/gated_unit/gated_unit.h"
#include "shaders/matmul/matmul.h"
#include "shaders/rope/rope.h"

namespace vkformer {

namespace {

constexpr std::string_view table_name = "rotary.table";
// Joint tensors: of an attention's input projections, of a gated unit's.
constexpr std::string_view qkv = "qkv_proj", gate_up = "gate_up_proj";

std::string layer_name(int64_t layer) { return fmt::format("model.layers.{}", layer); }

/// One pass through LLaMA in a graph.
class Builder {
 public:
  Builder(Graph& graph, const LlamaConfig& config, const Pass& pass) : config_(config), layers_(graph, pass) {}

  Value hidden() {
    const Value tokens = layers_.tensor("model.embed_tokens.weight", {config_.vocabulary, config_.width});
    Value x = embedding(layers_.graph(), tokens, layers_.pass().ids);
    for (int64_t layer = 0; layer < config_.layers; ++layer) x = block(x, layer);
    return layers_.rms_norm(x, "model.norm", config_.epsilon);
  }

 private:
  Value block(Value x, int64_t layer) {
    const std::string name = layer_name(layer);
    const Graph::Scope scope(layers_.graph(), fmt::format("layers.{}", layer));
    const Value attended =
        attend(layers_.rms_norm(x, name + ".input_layernorm", config_.epsilon), name + ".self_attn", layer);
    x = layers_.linear(attended, name + ".self_attn.o_proj", config_.width,
                       {.bias = config_.output_bias, .residual = x});
    const Value normed = layers_.rms_norm(x, name + ".post_attention_layernorm", config_.epsilon);
    const Value both =
        layers_.linear(normed, join_names(name + ".mlp", gate_up), 2 * config_.inner, {.bias = config_.inner_bias});
    return layers_.linear(gated_unit(layers_.graph(), Gate::silu, both), name + ".mlp.down_proj", config_.width,
                          {.bias = config_.inner_bias, .residual = x});
  }

  Value rotate(Value x, int64_t heads) {
    const Pass& pass = layers_.pass();
    return rope(layers_.graph(), x, layers_.constant(std::string(table_name), {config_.context, config_.head_width}),
                {.heads = heads,
                 .head_width = config_.head_width,
                 .rotary_width = config_.head_width,
                 .position = pass.first()});
  }

  Value attend(Value x, const std::string& name, int64_t layer) {
    const int64_t D = config_.head_width, heads = config_.heads, kv_heads = config_.kv_heads;
    const Value projected =
        layers_.linear(x, join_names(name, qkv), (heads + 2 * kv_heads) * D, {.bias = config_.input_bias});
    const Value y = rotate(projected, heads + kv_heads);
    const int64_t window = layer >= config_.first_window_layer ? config_.window : 0;
    return layers_.self_attention(
        {y, 0}, {y, heads * D}, {y, (heads + kv_heads) * D},
        {.heads = heads, .kv_heads = kv_heads, .head_width = D, .causal = true, .window = window},
        config_.attention_dropout, fmt::format("cache.{}", layer));
  }

  const LlamaConfig& config_;
  Layers layers_;
};

std::vector<ParameterSpec> parameters_of(const LlamaConfig& c) {
  ParameterList list(c.deviation);
  list.normal("model.embed_tokens.weight", {c.vocabulary, c.width});
  if (c.tied) list.last().other_names = {"lm_head.weight"};
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string name = layer_name(i);
    list.rms_norm(name + ".input_layernorm", c.width);
    const int64_t kv_width = c.kv_heads * c.head_width;
    list.joint_linear(name + ".self_attn", qkv,
                      {{"q_proj", c.heads * c.head_width}, {"k_proj", kv_width}, {"v_proj", kv_width}}, c.width,
                      c.input_bias);
    list.linear(name + ".self_attn.o_proj", c.heads * c.head_width, c.width, c.output_bias);
    list.rms_norm(name + ".post_attention_layernorm", c.width);
    list.joint_linear(name + ".mlp", gate_up, {{"gate_proj", c.inner}, {"up_proj", c.inner}}, c.width, c.inner_bias);
    list.linear(name + ".mlp.down_proj", c.inner, c.width, c.inner_bias);
  }
  list.rms_norm("model.norm", c.width);
  if (!c.tied) list.linear("lm_head", c.width, c.vocabulary, false);
  return list.take();
}

}  // namespace

Model make_llama(const LlamaConfig& config) {
  Model model{.family = config.family,
              .parameters = parameters_of(config),
              .vocabulary = config.vocabulary,
              .context = config.context,
              .layers = config.layers,
              .dropout_keys = {"attention_dropout"}};
  model.constants.push_back({std::string(table_name), {{config.context, config.head_width}}, [config] {
                               return config.rotary.table(config.context, config.head_width);
                             }});
  model.config = std::make_shared<const nlohmann::json>(config.to_json());
  model.hidden = [config](Graph& graph, const Pass& pass) { return Builder(graph, config, pass).hidden(); };
  model.head = [config](Graph& graph, const Pass&, Value hidden) {
    const Graph::Scope scope(graph, "lm_head");
    const std::string name = config.tied ? "model.embed_tokens.weight" : "lm_head.weight";
    return matmul(graph, hidden, graph.persistent(name, {config.vocabulary, config.width}), {.transpose_b = true});
  };
  return model;
}

}  // namespace vkformer
