#include "models/families/gpt_neox/gpt_neox.h"

#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/layers.h"
#include "runtime/check.h"
#include "shaders/embedding/embedding.h"
#include "shaders/matmul/matmul.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rope/rope.h"
#include "shaders/swap_axes/swap_axes.h"

namespace vkformer {

namespace {

constexpr int64_t most_width = 1 << 20;
constexpr const char* table_name = "rotary.table";

std::string layer_name(int64_t layer) { return fmt::format("gpt_neox.layers.{}", layer); }

/// One pass through GPT-NeoX in a graph.
class Builder {
 public:
  Builder(Graph& graph, const GptNeoxConfig& config, const Pass& pass) : config_(config), layers_(graph, pass) {}

  Value hidden() {
    const Value tokens = layers_.tensor("gpt_neox.embed_in.weight", {config_.vocabulary, config_.width});
    Value x = layers_.drop(embedding(layers_.graph(), tokens, layers_.pass().ids), config_.hidden_dropout);
    for (int64_t layer = 0; layer < config_.layers; ++layer) x = block(x, layer);
    return norm(x, "gpt_neox.final_layer_norm");
  }

 private:
  Value norm(Value x, const std::string& name) { return layers_.layer_norm(x, name, config_.epsilon); }

  Value block(Value x, int64_t layer) {
    const std::string name = layer_name(layer);
    const Graph::Scope scope(layers_.graph(), fmt::format("layers.{}", layer));
    const Value attended = attend(norm(x, name + ".input_layernorm"), name + ".attention", layer);
    const Value sum =
        layers_.linear(attended, name + ".attention.dense", config_.width,
                       {.bias = config_.attention_bias, .dropout = config_.hidden_dropout, .residual = x});
    const Value input = norm(config_.parallel_residual ? x : sum, name + ".post_attention_layernorm");
    const Value inner =
        layers_.linear(input, name + ".mlp.dense_h_to_4h", config_.inner, {.activation = config_.activation});
    return layers_.linear(inner, name + ".mlp.dense_4h_to_h", config_.width,
                          {.dropout = config_.hidden_dropout, .residual = sum});
  }

  Value attend(Value x, const std::string& name, int64_t layer) {
    const Pass& pass = layers_.pass();
    const int64_t C = config_.width, H = config_.heads, D = C / H;
    Value qkv = layers_.linear(x, name + ".query_key_value", 3 * C, {.bias = config_.attention_bias});
    const Graph::Scope scope(layers_.graph(), "attention");
    const Shape shape = layers_.graph().shape(qkv);
    // The file keeps q, k and v of a head together.
    qkv = swap_axes(layers_.graph(), reshape(layers_.graph(), qkv, {shape[0], shape[1], H, 3, D}), 2);
    qkv = reshape(layers_.graph(), qkv, shape);
    // The heads of k follow those of q.
    if (config_.rotary_width > 0)
      qkv = rope(layers_.graph(), qkv, layers_.constant(table_name, {config_.context, config_.rotary_width}),
                 {.heads = 2 * H, .head_width = D, .rotary_width = config_.rotary_width, .position = pass.first()});
    return layers_.self_attention({qkv, 0}, {qkv, C}, {qkv, 2 * C}, {.heads = H, .head_width = D, .causal = true},
                                  config_.attention_dropout, fmt::format("cache.{}", layer));
  }

  const GptNeoxConfig& config_;
  Layers layers_;
};

std::vector<ParameterSpec> parameters_of(const GptNeoxConfig& c) {
  ParameterList list(c.deviation);
  list.normal("gpt_neox.embed_in.weight", {c.vocabulary, c.width});
  if (c.tied) list.last().other_names = {"embed_out.weight"};
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string name = layer_name(i);
    list.layer_norm(name + ".input_layernorm", c.width);
    list.layer_norm(name + ".post_attention_layernorm", c.width);
    list.linear(name + ".attention.query_key_value", c.width, 3 * c.width, c.attention_bias);
    list.linear(name + ".attention.dense", c.width, c.width, c.attention_bias);
    list.linear(name + ".mlp.dense_h_to_4h", c.width, c.inner);
    list.linear(name + ".mlp.dense_4h_to_h", c.inner, c.width);
  }
  list.layer_norm("gpt_neox.final_layer_norm", c.width);
  if (!c.tied) list.linear("embed_out", c.width, c.vocabulary, false);
  return list.take();
}

}  // namespace

GptNeoxConfig GptNeoxConfig::from_json(const JsonObject& json) {
  architecture_of(json, {"GPTNeoXForCausalLM"});
  GptNeoxConfig c;
  c.vocabulary = integer_or(json, "vocab_size", c.vocabulary, 1, int64_t{1} << 24);
  c.context = integer_or(json, "max_position_embeddings", c.context, 1, int64_t{1} << 24);
  c.width = integer_or(json, "hidden_size", c.width, 1, most_width);
  c.inner = integer_or(json, "intermediate_size", c.inner, 1, 4 * most_width);
  c.layers = integer_or(json, "num_hidden_layers", c.layers, 1, 10000);
  c.heads = integer_or(json, "num_attention_heads", c.heads, 1, most_width);
  check(c.width % c.heads == 0, "{}: hidden_size {} is not a multiple of num_attention_heads {}", json.name(), c.width,
        c.heads);
  const int64_t head_width = c.width / c.heads;
  check(head_width <= 256, "{}: heads of width {} (hidden_size {} / num_attention_heads {}); at most 256 is supported",
        json.name(), head_width, c.width, c.heads);
  c.rotary = RotaryConfig::from_json(json, {.theta_key = "rotary_emb_base", .context = c.context});
  c.rotary_share = number_or(RotaryConfig::place(json), "partial_rotary_factor",
                             number_or(json, "rotary_pct", c.rotary_share, 0, 1), 0, 1);
  c.rotary_width = static_cast<int64_t>(static_cast<double>(head_width) * c.rotary_share);
  check(c.rotary_width % 2 == 0, "{}: {} columns of each head turn (rotary_pct {}); rotary positions turn pairs",
        json.name(), c.rotary_width, c.rotary_share);
  c.activation = activation_of(json, "hidden_act", "gelu");
  c.epsilon = number_or(json, "layer_norm_eps", c.epsilon, 0, 1);
  c.deviation = number_or(json, "initializer_range", c.deviation, 0, 10);
  c.attention_dropout = number_or(json, "attention_dropout", 0, 0, 0.99);
  c.hidden_dropout = number_or(json, "hidden_dropout", 0, 0, 0.99);
  c.parallel_residual = boolean_or(json, "use_parallel_residual", true);
  c.attention_bias = boolean_or(json, "attention_bias", true);
  c.tied = boolean_or(json, "tie_word_embeddings", false);
  return c;
}

nlohmann::json GptNeoxConfig::to_json() const {
  nlohmann::json parameters = rotary.to_json();
  parameters["partial_rotary_factor"] = rotary_share;
  nlohmann::json json = {{"model_type", "gpt_neox"},
                         {"architectures", {"GPTNeoXForCausalLM"}},
                         {"vocab_size", vocabulary},
                         {"max_position_embeddings", context},
                         {"hidden_size", width},
                         {"intermediate_size", inner},
                         {"num_hidden_layers", layers},
                         {"num_attention_heads", heads},
                         {"rotary_pct", rotary_share},
                         {"rotary_emb_base", rotary.theta},
                         {"rope_parameters", parameters},
                         {"hidden_act", name_of(activation)},
                         {"layer_norm_eps", epsilon},
                         {"initializer_range", deviation},
                         {"attention_dropout", attention_dropout},
                         {"hidden_dropout", hidden_dropout},
                         {"use_parallel_residual", parallel_residual},
                         {"attention_bias", attention_bias},
                         {"tie_word_embeddings", tied},
                         {"torch_dtype", "float32"}};
  rotary.add_scaling(json);
  return json;
}

Model make_gpt_neox(const GptNeoxConfig& config) {
  Model model{.family = "gpt_neox",
              .parameters = parameters_of(config),
              .vocabulary = config.vocabulary,
              .context = config.context,
              .layers = config.layers,
              .dropout_keys = {"hidden_dropout", "attention_dropout"}};
  if (config.rotary_width > 0)
    model.constants.push_back({table_name, {{config.context, config.rotary_width}}, [config] {
                                 return config.rotary.table(config.context, config.rotary_width);
                               }});
  model.config = std::make_shared<const nlohmann::json>(config.to_json());
  model.hidden = [config](Graph& graph, const Pass& pass) { return Builder(graph, config, pass).hidden(); };
  model.head = [config](Graph& graph, const Pass&, Value hidden) {
    const Graph::Scope scope(graph, "embed_out");
    const std::string name = config.tied ? "gpt_neox.embed_in.weight" : "embed_out.weight";
    return matmul(graph, hidden, graph.persistent(name, {config.vocabulary, config.width}), {.transpose_b = true});
  };
  return model;
}

}  // namespace vkformer
