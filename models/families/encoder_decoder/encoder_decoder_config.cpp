#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/encoder_decoder/encoder_decoder.h"
#include "models/families/layers.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using Positions = EncoderDecoderConfig::Positions;
using Stack = EncoderDecoderConfig::Stack;

constexpr int64_t most_width = 1 << 20, most_positions = 1 << 24, most_layers = 10000;

void check_stack(const JsonObject& json, const EncoderDecoderConfig& c, const Stack& stack,
                 std::string_view heads_key) {
  check(c.width % stack.heads == 0, "{}: d_model {} is not a multiple of {} {}", json.name(), c.width, heads_key,
        stack.heads);
  check(c.width / stack.heads <= 256, "{}: heads of width {} (d_model {} / {} {}); at most 256 is supported",
        json.name(), c.width / stack.heads, c.width, heads_key, stack.heads);
}

/// Our own keys of the original Transformer.
void read_own(const JsonObject& json, EncoderDecoderConfig& c) {
  c.context = integer_or(json, "max_position_embeddings", c.context, 1, most_positions);
  c.encoder.layers = require_integer(json, "encoder_layers", 1, most_layers);
  c.decoder.layers = require_integer(json, "decoder_layers", 1, most_layers);
  c.encoder.heads = c.decoder.heads = require_integer(json, "num_heads", 1, most_width);
  c.encoder.inner = c.decoder.inner = require_integer(json, "d_ff", 1, 4 * most_width);
  check_stack(json, c, c.encoder, "num_heads");
  c.activation = activation_of(json, "activation", "relu");
  c.epsilon = number_or(json, "layer_norm_eps", c.epsilon, 0, 1);
  c.pre_norm = boolean_or(json, "pre_norm", false);
  c.final_norm = boolean_or(json, "final_norm", c.pre_norm);
  c.scale_embedding = boolean_or(json, "scale_embedding", true);
  c.label_smoothing = number_or(json, "label_smoothing", 0, 0, 1);
  c.dropout = number_or(json, "dropout", c.dropout, 0, 0.99);
  const std::string positions = string_or(json, "positions", "sinusoidal");
  check(positions == "sinusoidal" || positions.starts_with("sinusoidal,"),
        "{}: positions '{}' are not supported; vaswani knows sinusoidal", json.name(), printable(positions, 60));
}

void read_hugging_face(const JsonObject& json, EncoderDecoderConfig& c) {
  const bool bart = c.family == "bart";
  architecture_of(json, bart ? std::vector<std::string>{"BartForConditionalGeneration", "BartModel"}
                             : std::vector<std::string>{"MarianMTModel", "MarianModel"});
  c.context = integer_or(json, "max_position_embeddings", 1024, 1, most_positions);
  const auto stack = [&](const std::string& side, Stack& s) {
    s.layers = integer_or(json, side + "_layers", 12, 1, most_layers);
    s.heads = integer_or(json, side + "_attention_heads", 16, 1, most_width);
    s.inner = integer_or(json, side + "_ffn_dim", 4096, 1, 4 * most_width);
    check_stack(json, c, s, side + "_attention_heads");
  };
  stack("encoder", c.encoder);
  stack("decoder", c.decoder);
  c.positions = bart ? Positions::learned : Positions::halves;
  c.embedding_norm = bart;
  c.logits_bias = true;
  c.activation = activation_of(json, "activation_function", "gelu");
  c.scale_embedding = boolean_or(json, "scale_embedding", false);
  c.dropout = number_or(json, "dropout", 0.1, 0, 0.99);
  c.attention_dropout = number_or(json, "attention_dropout", 0, 0, 0.99);
  c.activation_dropout = number_or(json, "activation_dropout", 0, 0, 0.99);
  c.deviation = number_or(json, "init_std", c.deviation, 0, 10);
}

/// "vocab_size" is the encoder's where the embeddings are apart, as in Marian.
void read_vocabularies(const JsonObject& json, EncoderDecoderConfig& c) {
  constexpr int64_t most = int64_t{1} << 24;
  // Transformers' usual ones, and that of the paper; before training a tokenizer decides.
  const int64_t usual = c.family == "bart" ? 50265 : c.family == "marian" ? 58101 : 37000;
  const int64_t source = integer_or(json, "vocab_size", usual, 1, most);
  c.vocabulary = integer_or(json, "decoder_vocab_size", source, 1, most);
  const bool shared = boolean_or(json, "share_encoder_decoder_embeddings", true);
  check(shared || c.family != "bart", "{}: BART's encoder and decoder share one embedding", json.name());
  check(!shared || c.vocabulary == source,
        "{}: decoder_vocab_size {} is not vocab_size {}, but share_encoder_decoder_embeddings is not false",
        json.name(), c.vocabulary, source);
  if (!shared) c.source_vocabulary = source;
}

}  // namespace

EncoderDecoderConfig EncoderDecoderConfig::from_json(const JsonObject& json) {
  EncoderDecoderConfig c;
  c.family = require_string(json, "model_type");
  read_vocabularies(json, c);
  c.width = require_integer(json, "d_model", 1, most_width);
  c.tied = boolean_or(json, "tie_word_embeddings", true);
  if (c.family == "vaswani")
    read_own(json, c);
  else
    read_hugging_face(json, c);
  return c;
}

nlohmann::json EncoderDecoderConfig::to_json() const {
  nlohmann::json json = {{"model_type", family},
                         {"vocab_size", encoder_vocabulary()},
                         {"d_model", width},
                         {"max_position_embeddings", context},
                         {"encoder_layers", encoder.layers},
                         {"decoder_layers", decoder.layers},
                         {"scale_embedding", scale_embedding},
                         {"tie_word_embeddings", tied},
                         {"dropout", dropout}};
  if (family != "bart") {
    json["decoder_vocab_size"] = vocabulary;
    json["share_encoder_decoder_embeddings"] = source_vocabulary == 0;
  }
  if (family == "vaswani") {
    json.update({{"num_heads", encoder.heads},
                 {"d_ff", encoder.inner},
                 {"activation", name_of(activation)},
                 {"layer_norm_eps", epsilon},
                 {"pre_norm", pre_norm},
                 {"final_norm", final_norm},
                 {"label_smoothing", label_smoothing},
                 {"positions", "sinusoidal"}});
    return json;
  }
  json.update({{"architectures", {family == "bart" ? "BartForConditionalGeneration" : "MarianMTModel"}},
               {"is_encoder_decoder", true},
               {"encoder_attention_heads", encoder.heads},
               {"decoder_attention_heads", decoder.heads},
               {"encoder_ffn_dim", encoder.inner},
               {"decoder_ffn_dim", decoder.inner},
               {"activation_function", name_of(activation)},
               {"attention_dropout", attention_dropout},
               {"activation_dropout", activation_dropout},
               {"init_std", deviation},
               {"torch_dtype", "float32"}});
  return json;
}

}  // namespace vkformer
