#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/layers.h"
#include "models/families/t5/t5.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

constexpr int64_t most_distance = 1 << 20;

void check_architecture(const JsonObject& json) {
  check(boolean_or(json, "is_encoder_decoder", true),
        "{}: is_encoder_decoder false is not supported; of t5 vkformer runs T5ForConditionalGeneration", json.name());
  architecture_of(json, {"T5ForConditionalGeneration", "T5WithLMHeadModel", "MT5ForConditionalGeneration"});
}

/// "relu", or "gated-silu"; "gated-gelu" is gelu_new. Files also have what follows from it, which then holds.
void read_feed_forward(const JsonObject& json, T5Config& c) {
  const std::string given = string_or(json, "feed_forward_proj", "relu");
  const size_t dash = given.find('-');
  const bool gated = dash != std::string::npos;
  check(!gated || (given.starts_with("gated-") && given.find('-', dash + 1) == std::string::npos),
        "{}: feed_forward_proj '{}' is not supported; it is an activation or gated-<activation>", json.name(),
        printable(given, 60));
  c.gated = boolean_or(json, "is_gated_act", gated);
  if (json.has("dense_act_fn")) {
    c.activation = activation_of(json, "dense_act_fn", "");
  } else {
    const std::string name = given == "gated-gelu" ? "gelu_new" : gated ? given.substr(dash + 1) : given;
    const nlohmann::json alone = {{"feed_forward_proj", name}};
    c.activation = activation_of(JsonObject::parse(alone.dump(), json.name()), "feed_forward_proj", "");
  }
  check(!c.gated || c.activation == Activation::relu || c.activation == Activation::gelu ||
            c.activation == Activation::gelu_tanh || c.activation == Activation::silu,
        "{}: feed_forward_proj: gates with {} are not supported; known are relu, gelu, gelu_new, silu", json.name(),
        name_of(c.activation));
}

}  // namespace

T5Config T5Config::from_json(const JsonObject& json) {
  check_architecture(json);
  T5Config c;
  c.vocabulary = integer_or(json, "vocab_size", c.vocabulary, 1, int64_t{1} << 24);
  c.width = integer_or(json, "d_model", c.width, 1, most_width);
  c.head_width = integer_or(json, "d_kv", c.head_width, 1, 256);
  c.inner = integer_or(json, "d_ff", c.inner, 1, 4 * most_width);
  c.encoder_layers = integer_or(json, "num_layers", c.encoder_layers, 1, most_layers);
  c.decoder_layers = integer_or(json, "num_decoder_layers", c.encoder_layers, 1, most_layers);
  c.heads = integer_or(json, "num_heads", c.heads, 1, most_width);
  // The encoder needs a bucket of distance 0 and one of the others, before and after.
  c.buckets = integer_or(json, "relative_attention_num_buckets", c.buckets, 4, most_width);
  c.max_distance = integer_or(json, "relative_attention_max_distance", c.max_distance, 1, most_distance);
  check(c.max_distance > c.buckets / 2,
        "{}: relative_attention_max_distance {} is not greater than half of relative_attention_num_buckets {}",
        json.name(), c.max_distance, c.buckets);
  read_feed_forward(json, c);
  c.dropout = number_or(json, "dropout_rate", c.dropout, 0, 0.99);
  c.epsilon = number_or(json, "layer_norm_epsilon", c.epsilon, 0, 1);
  c.factor = number_or(json, "initializer_factor", c.factor, 0, 1e6);
  c.tied = boolean_or(json, "tie_word_embeddings", true);
  c.scaled_head = boolean_or(json, "scale_decoder_outputs", c.tied);
  return c;
}

void settle_t5_head(nlohmann::json& config, const JsonObject& read, const WeightSource& files) {
  const bool tied = boolean_or(read, "tie_word_embeddings", true);
  const bool scaled = boolean_or(read, "scale_decoder_outputs", tied);
  if (scaled) return;
  config["tie_word_embeddings"] = files.find("lm_head.weight") == nullptr;
  config["scale_decoder_outputs"] = false;
}

nlohmann::json T5Config::to_json() const {
  const std::string act(name_of(activation));
  const bool gelu = activation == Activation::gelu || activation == Activation::gelu_tanh;
  return {{"model_type", "t5"},
          {"architectures", {"T5ForConditionalGeneration"}},
          {"is_encoder_decoder", true},
          {"vocab_size", vocabulary},
          {"d_model", width},
          {"d_kv", head_width},
          {"d_ff", inner},
          {"num_layers", encoder_layers},
          {"num_decoder_layers", decoder_layers},
          {"num_heads", heads},
          {"relative_attention_num_buckets", buckets},
          {"relative_attention_max_distance", max_distance},
          {"feed_forward_proj", gated ? "gated-" + (gelu ? "gelu" : act) : act},
          {"dense_act_fn", act},
          {"is_gated_act", gated},
          {"dropout_rate", dropout},
          {"layer_norm_epsilon", epsilon},
          {"initializer_factor", factor},
          {"tie_word_embeddings", tied},
          {"scale_decoder_outputs", scaled_head},
          {"torch_dtype", "float32"}};
}

}  // namespace vkformer
