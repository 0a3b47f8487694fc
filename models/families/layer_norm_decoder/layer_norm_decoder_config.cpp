#include "models/families/layer_norm_decoder/layer_norm_decoder_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/decoder_head.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

/// The probabilities of dropout, by their keys.
std::vector<std::pair<const char*, double LayerNormDecoder::*>> dropouts(const LayerNormDecoderKeys& keys) {
  std::vector<std::pair<const char*, double LayerNormDecoder::*>> all;
  for (const auto& [key, member] : {std::pair{keys.embedding_dropout, &LayerNormDecoder::embedding_dropout},
                                    {keys.attention_dropout, &LayerNormDecoder::attention_dropout},
                                    {keys.output_dropout, &LayerNormDecoder::output_dropout}})
    if (key) all.emplace_back(key, member);
  return all;
}

}  // namespace

void read_layer_norm_decoder(const JsonObject& json, LayerNormDecoder& d, const LayerNormDecoderKeys& keys) {
  d.classes = read_decoder_head(json, d.family, keys.architecture);
  d.vocabulary = integer_or(json, "vocab_size", d.vocabulary, 1, int64_t{1} << 24);
  d.context = integer_or(json, keys.context, d.context, 1, int64_t{1} << 24);
  d.width = integer_or(json, keys.width, d.width, 1, most_width);
  if (d.inner == 0) d.inner = 4 * d.width;
  if (keys.inner) d.inner = integer_or(json, keys.inner, d.inner, 1, 4 * most_width);
  d.windows.assign(static_cast<size_t>(integer_or(json, keys.layers, std::ssize(d.windows), 1, most_layers)), 0);
  d.heads = integer_or(json, keys.heads, d.heads, 1, most_width);
  d.kv_heads =
      keys.kv_heads ? integer_or(json, keys.kv_heads, d.kv_heads ? d.kv_heads : d.heads, 1, most_width) : d.heads;
  check(d.width % d.heads == 0, "{}: {} {} is not a multiple of {} {}", json.name(), keys.width, d.width, keys.heads,
        d.heads);
  check(d.heads % d.kv_heads == 0, "{}: {} {} is not a multiple of {} {}", json.name(), keys.heads, d.heads,
        keys.kv_heads, d.kv_heads);
  d.head_width = d.width / d.heads;
  check(d.head_width <= 256, "{}: heads of width {} ({} {} / {} {}); at most 256 is supported", json.name(),
        d.head_width, keys.width, d.width, keys.heads, d.heads);
  check(integer_or(json, "head_dim", d.head_width, 1, most_width) == d.head_width,
        "{}: head_dim {} is not {} / {}, which is {}; that is not supported for {}", json.name(),
        integer_or(json, "head_dim", 0, 1, most_width), keys.width, keys.heads, d.head_width, d.family);
  if (keys.activation) d.activation = activation_of(json, keys.activation, std::string(name_of(d.activation)));
  d.epsilon = keys.epsilon ? number_or(json, keys.epsilon, d.epsilon, 0, 1) : d.epsilon;
  d.deviation = number_or(json, keys.deviation, d.deviation, 0, 10);
  for (const auto& [key, dropout] : dropouts(keys)) d.*dropout = number_or(json, key, d.*dropout, 0, 0.99);
  d.tied = boolean_or(json, "tie_word_embeddings", d.tied);
}

Model make_layer_norm_decoder(const LayerNormDecoder& d, const LayerNormDecoderKeys& keys, const nlohmann::json& more) {
  nlohmann::json json = decoder_head_keys(d.family, keys.architecture, d.classes);
  json.update(nlohmann::json{{"vocab_size", d.vocabulary},
                             {keys.context, d.context},
                             {keys.width, d.width},
                             {keys.layers, d.windows.size()},
                             {keys.heads, d.heads},
                             {keys.deviation, d.deviation},
                             {"tie_word_embeddings", d.tied},
                             {"torch_dtype", "float32"}});
  if (keys.inner) json[keys.inner] = d.inner;
  if (keys.activation) json[keys.activation] = name_of(d.activation);
  if (keys.kv_heads) json[keys.kv_heads] = d.kv_heads;
  if (keys.epsilon) json[keys.epsilon] = d.epsilon;
  for (const auto& [key, dropout] : dropouts(keys)) json[key] = d.*dropout;
  json.update(more);
  Model model = make_layer_norm_decoder(d, json);
  for (const auto& [key, dropout] : dropouts(keys))
    if (std::ranges::count(model.dropout_keys, key) == 0) model.dropout_keys.emplace_back(key);
  return model;
}

double read_rotary(const JsonObject& json, LayerNormDecoder& d, const char* theta_key, const char* key, double share) {
  d.rotary = RotaryConfig::from_json(json, {.theta_key = theta_key, .context = d.context});
  check(d.rotary.scaling != RotaryConfig::Scaling::longrope, "{}: rope_type longrope is not supported for {}",
        json.name(), d.family);
  share = number_or(RotaryConfig::place(json), "partial_rotary_factor", number_or(json, key, share, 0, 1), 0, 1);
  d.turned = static_cast<int64_t>(static_cast<double>(d.head_width) * share);
  check(d.turned % 2 == 0, "{}: {} columns of each head turn ({} {}); rotary positions turn pairs", json.name(),
        d.turned, key, share);
  return share;
}

}  // namespace vkformer
