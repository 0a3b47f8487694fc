#include "models/families/layers.h"

#include <algorithm>

#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "shaders/cache_write/cache_write.h"
#include "shaders/dropout/dropout.h"
#include "shaders/embedding/embedding.h"
#include "shaders/last_visible/last_visible.h"
#include "shaders/layer_norm/layer_norm.h"
#include "shaders/matmul/matmul.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rms_norm/rms_norm.h"
#include "shaders/slice/slice.h"
#include "shaders/swap_axes/swap_axes.h"

namespace vkformer {

namespace {

constexpr std::pair<std::string_view, Activation> activations[] = {{"gelu_new", Activation::gelu_tanh},
                                                                   {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                                                   {"gelu_fast", Activation::gelu_tanh},
                                                                   {"gelu", Activation::gelu},
                                                                   {"relu", Activation::relu},
                                                                   {"silu", Activation::silu},
                                                                   {"swish", Activation::silu},
                                                                   {"quick_gelu", Activation::quick_gelu},
                                                                   {"tanh", Activation::tanh}};

constexpr const char* reach_name = "window.reach";

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

}  // namespace

std::string join_names(std::string_view outer, std::string_view inner) {
  return inner.empty() ? std::string(outer) : fmt::format("{}.{}", outer, inner);
}

Pass encoder_pass(const Pass& pass) { return {.ids = pass.source, .mask = pass.source_mask, .seed = pass.seed}; }

ConstantSpec reach_constant(int64_t reach) {
  return {reach_name, {{1}, DType::i32}, [reach] { return std::vector<float>{static_cast<float>(reach)}; }};
}

/// The position lies ahead by the reach, and the window reaches as far back from where the query stands.
void Layers::see_both_ways(AttentionOptions& options, int64_t reach) {
  options.causal = true;
  options.position = constant(reach_name, {1}, DType::i32);
  options.window = 2 * reach + 1;
}

Value Layers::last_rows(Value x) {
  const Shape shape = graph_.shape(x);
  const int64_t B = shape[0], T = shape[1], C = shape[2];
  if (!pass_.mask) return slice(graph_, reshape(graph_, x, {B, T * C}), (T - 1) * C, C);
  const Value rows = embedding(graph_, reshape(graph_, x, {B * T, C}), last_visible(graph_, pass_.mask));
  return reshape(graph_, rows, {B, C});
}

Value Layers::linear(Value x, const std::string& name, int64_t out, const LinearOptions& options) {
  const Graph::Scope scope(graph_, last_part(name));
  const int64_t in = columns(x);
  const Value weight = tensor(name + ".weight", options.input_major ? Shape{in, out} : Shape{out, in});
  const Value bias = options.bias ? tensor(name + ".bias", {out}) : Value{};
  // A product can scale itself and add the residual, but neither a bias nor an activation is scaled then.
  const bool scales = options.scale == 1 || (!options.bias && options.activation == Activation::none);
  const bool adds = scales && !(pass_.seed && options.dropout > 0);
  const Value y = matmul(graph_, x, weight,
                         {.transpose_b = !options.input_major,
                          .scale = scales ? static_cast<float>(options.scale) : 1,
                          .bias = bias,
                          .activation = options.activation,
                          .residual = adds ? options.residual : Value{}});
  return adds ? y : drop(scales ? y : scale(graph_, y, options.scale), options.dropout, options.residual);
}

Value Layers::layer_norm(Value x, const std::string& name, double epsilon, bool bias) {
  const Graph::Scope scope(graph_, last_part(name));
  const Shape gain{columns(x)};
  return vkformer::layer_norm(graph_, x, tensor(name + ".weight", gain), bias ? tensor(name + ".bias", gain) : Value{},
                              static_cast<float>(epsilon));
}

Value Layers::rms_norm(Value x, const std::string& name, double epsilon, double gain_offset) {
  const Graph::Scope scope(graph_, last_part(name));
  return vkformer::rms_norm(graph_, x, tensor(name + ".weight", {columns(x)}), static_cast<float>(epsilon), DType::f32,
                            static_cast<float>(gain_offset));
}

Value Layers::rms_norm_sum(Value x, const std::string& name, double epsilon, double gain_offset, const NormedSum& sum) {
  const Graph::Scope scope(graph_, last_part(name));
  return vkformer::rms_norm_sum(graph_, x, tensor(name + ".weight", {columns(x)}), static_cast<float>(epsilon),
                                static_cast<float>(gain_offset), sum);
}

Value Layers::heads_first(Value x, int64_t heads) {
  const Shape& shape = graph_.shape(x);
  const Shape rows{shape.rows(), heads, shape.columns() / heads};
  return swap_axes(graph_, reshape(graph_, x, rows), 0);
}

Value Layers::drop(Value x, double probability, Value residual) {
  if (pass_.seed && probability > 0) return dropout(graph_, x, probability, pass_.seed, ++streams_, residual);
  return residual ? add(graph_, x, residual) : x;
}

void Layers::set_dropout(AttentionOptions& options, double probability) {
  if (!pass_.seed || probability <= 0) return;
  options.dropout = static_cast<float>(probability);
  options.seed = pass_.seed;
  options.stream = ++streams_;
}

/// [B, S] as attention takes it, [B, 1, S], of the first `count` keys.
Value Layers::mask(Value keys, int64_t count) {
  if (!keys || graph_.shape(keys).rank() == 3) return keys;
  const Value first = slice(graph_, keys, 0, count);
  return reshape(graph_, first, {graph_.shape(first)[0], 1, count});
}

KeysValues Layers::in_cache(KeysValues own, const AttentionOptions& options, const std::string& cache) {
  if (!pass_.position) return own;
  const int64_t kv_heads = options.kv_heads ? options.kv_heads : options.heads;
  const int64_t k_width = kv_heads * options.head_width;
  const int64_t v_width = kv_heads * (options.value_width ? options.value_width : options.head_width);
  const auto write = [&](const std::string& name, HeadColumns source, int64_t width) {
    const Shape shape{graph_.shape(source.value)[0], pass_.capacity, width};
    return cache_write(graph_, graph_.persistent(name, shape, Role::cache), {source.value, source.column},
                       pass_.position);
  };
  const HeadColumns k = own.k, v = own.v;
  if (k.value == v.value && v.column == k.column) {
    const Value filled = write(cache, k, k_width);
    return {{filled, 0}, {filled, 0}, true};
  }
  if (k.value == v.value && v.column == k.column + k_width) {
    const Value filled = write(cache, k, k_width + v_width);
    return {{filled, 0}, {filled, k_width}, true};
  }
  return {{write(cache + ".key", k, k_width)}, {write(cache + ".value", v, v_width)}, true};
}

Value Layers::attend(HeadColumns q, const KeysValues& seen, AttentionOptions options, double dropout) {
  set_dropout(options, dropout);
  if (!options.mask) options.mask = mask(pass_.mask, graph_.shape(seen.k.value)[1]);
  if (seen.cached && options.causal) options.position = pass_.position;
  return attention(graph_, q, seen.k, seen.v, options);
}

Value Layers::cross_attention(Value q, Value k, Value v, AttentionOptions options, double dropout) {
  set_dropout(options, dropout);
  options.causal = false;
  options.mask = mask(pass_.source_mask, graph_.shape(k)[1]);
  const Shape shape = graph_.shape(q);
  const int64_t sources = graph_.shape(k)[0];
  const bool beams = sources != shape[0];
  check(shape[0] % sources == 0, "{} decoder rows don't share {} sources evenly", shape[0], sources);
  if (beams) q = reshape(graph_, q, {sources, shape[0] / sources * shape[1], shape[2]});
  const Value y = attention(graph_, {q}, {k}, {v}, options);
  return beams ? reshape(graph_, y, {shape[0], shape[1], graph_.shape(y).columns()}) : y;
}

Value Layers::remembered(const std::string& name, int64_t columns, const std::function<Value(Value)>& project) {
  if (pass_.memory) return project(pass_.memory);
  return graph_.persistent(name, {pass_.sources, pass_.source_capacity, columns}, Role::memory);
}

void Layers::remember(const std::string& name, Value projected) {
  cache_write(graph_, graph_.persistent(name, graph_.shape(projected), Role::memory), {projected, 0}, pass_.position);
}

Activation activation_of(const JsonObject& config, const char* key, const std::string& fallback) {
  const std::string name = string_or(config, key, fallback);
  std::string names;
  for (const auto& [text, activation] : activations) {
    if (text == name) return activation;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", text);
  }
  fail("{}: {} '{}' is not supported; known are {}", config.name(), key, printable(name, 60), names);
}

Gate gate_of(const JsonObject& config, const char* key, const std::string& fallback) {
  constexpr Gate gates[] = {Gate::silu, Gate::gelu, Gate::gelu_tanh, Gate::relu};
  const Activation chosen = activation_of(config, key, fallback);
  const auto gate = std::ranges::find(gates, chosen, [](Gate known) { return static_cast<Activation>(known); });
  check(gate != std::end(gates), "{}: {} '{}' is not supported; gates are silu, gelu, gelu_pytorch_tanh or relu",
        config.name(), key, string_or(config, key, ""));
  return *gate;
}

std::string_view name_of(Activation activation) {
  for (const auto& [text, known] : activations)
    if (known == activation) return text;
  return "linear";
}

}  // namespace vkformer
