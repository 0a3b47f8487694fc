#include "models/families/decoder/latent_config.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/decoder/decoder_config.h"
#include "runtime/check.h"
#include "shaders/attention/attention.h"

namespace vkformer {

namespace {

constexpr const char *query_rank_key = "q_lora_rank", *rank_key = "kv_lora_rank", *plain_key = "qk_nope_head_dim";
constexpr const char *turned_key = "qk_rope_head_dim", *value_key = "v_head_dim", *neighbours_key = "rope_interleave";

}  // namespace

void read_latent(const JsonObject& json, Decoder& d) {
  Decoder::Latent& latent = d.latent;
  const bool one_matrix = json.value().contains(query_rank_key) && !json.has(query_rank_key);
  latent.query_rank = one_matrix ? 0 : integer_or(json, query_rank_key, latent.query_rank, 0, most_width);
  latent.rank = integer_or(json, rank_key, latent.rank, 1, most_head_width);
  latent.plain = integer_or(json, plain_key, latent.plain, 1, most_width);
  latent.turned = integer_or(json, turned_key, latent.turned, 2, most_head_width);
  latent.value_width = integer_or(json, value_key, latent.value_width, 1, most_width);
  check(latent.turned % 2 == 0, "{}: {} {} is odd; rotary positions turn pairs", json.name(), turned_key,
        latent.turned);
  check(latent.rank + latent.turned <= most_head_width, "{}: {} {} and {} {} are more than {} together", json.name(),
        rank_key, latent.rank, turned_key, latent.turned, most_head_width);
  check(d.kv_heads == d.heads, "{}: num_key_value_heads is {}, num_attention_heads {}; latent attention has them equal",
        json.name(), d.kv_heads, d.heads);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  d.turns_neighbours = boolean_or(json, neighbours_key, true);
  d.head_width = latent.turned;
  read_rotary(json, d);
  d.score_scale = d.rotaries[0].score_factor() / std::sqrt(static_cast<double>(latent.plain + latent.turned));
  for (Decoder::Layer& layer : d.layers) layer.mixer = Decoder::Mixer::latent_attention;
}

nlohmann::json latent_keys(const Decoder& d) {
  nlohmann::json keys = d.rotaries[0].keys();
  keys.update({{query_rank_key, d.latent.query_rank > 0 ? nlohmann::json(d.latent.query_rank) : nlohmann::json()},
               {rank_key, d.latent.rank},
               {plain_key, d.latent.plain},
               {turned_key, d.latent.turned},
               {value_key, d.latent.value_width},
               {neighbours_key, d.turns_neighbours},
               {"attention_bias", d.input_bias}});
  return keys;
}

}  // namespace vkformer
