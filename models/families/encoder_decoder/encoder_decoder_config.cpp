#include <algorithm>
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

/// What sets Hugging Face's families apart, and what a config.json stands for that leaves a key out.
struct HuggingFaceFamily {
  std::string_view type, prefix, task;  ///< PREFIXTASK is the architecture that writes, PREFIXModel another
  Positions positions;
  bool pre_norm, embedding_norm, logits_bias, classifies;
  int64_t vocabulary;
  std::string_view activation = "gelu";
  bool scale_embedding = false;
  double attention_dropout = 0;
  bool sound = false;

  std::string architecture() const { return fmt::format("{}{}", prefix, task); }
  std::string classifier() const { return fmt::format("{}ForSequenceClassification", prefix); }
};

constexpr std::string_view writes = "ForConditionalGeneration";
constexpr HuggingFaceFamily hugging_face_families[] = {
    {"marian", "Marian", "MTModel", Positions::halves, false, false, true, false, 58101},
    {"bart", "Bart", writes, Positions::learned, false, true, true, true, 50265},
    {"mbart", "MBart", writes, Positions::learned, true, true, true, true, 50265},
    {"m2m_100", "M2M100", writes, Positions::fairseq, true, false, false, false, 128112, "relu", true, 0.1},
    {"pegasus", "Pegasus", writes, Positions::halves, true, false, true, false, 50265},
    {"whisper", "Whisper", writes, Positions::learned, true, false, false, false, 51865, "gelu", false, 0, true}};

const HuggingFaceFamily& hugging_face_family(const EncoderDecoderConfig& c) {
  return *std::ranges::find(hugging_face_families, c.family, &HuggingFaceFamily::type);
}

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
  const HuggingFaceFamily& family = hugging_face_family(c);
  std::vector<std::string> architectures = {family.architecture(), fmt::format("{}Model", family.prefix)};
  if (family.classifies) architectures.push_back(family.classifier());
  if (architecture_of(json, architectures) == 2) {
    c.classifier = {.classes = classes_of_head(json, EncoderHead::sequence),
                    .dropout = number_or(json, "classifier_dropout", 0, 0, 0.99)};
    c.decoder_start = static_cast<int32_t>(integer_or(json, "decoder_start_token_id", 2, 0, c.vocabulary - 1));
  }
  if (family.sound) {
    c.sound = {.mels = integer_or(json, "num_mel_bins", 80, 1, 1024),
               .positions = integer_or(json, "max_source_positions", 1500, 1, most_positions)};
    c.context = integer_or(json, "max_target_positions", 448, 1, most_positions);
    check(c.tied, "{}: tie_word_embeddings false is not supported; whisper's head is its token embedding", json.name());
  } else {
    c.context = integer_or(json, "max_position_embeddings", 1024, 1, most_positions);
  }
  const Stack usual = family.sound ? Stack{4, 6, 1536} : Stack{12, 16, 4096};
  const auto stack = [&](const std::string& side, Stack& s) {
    s.layers = integer_or(json, side + "_layers", usual.layers, 1, most_layers);
    s.heads = integer_or(json, side + "_attention_heads", usual.heads, 1, most_width);
    s.inner = integer_or(json, side + "_ffn_dim", usual.inner, 1, 4 * most_width);
    check_stack(json, c, s, side + "_attention_heads");
  };
  stack("encoder", c.encoder);
  stack("decoder", c.decoder);
  c.positions = family.positions;
  if (c.positions == Positions::fairseq) c.padding = integer_or(json, "pad_token_id", 1, 0, c.vocabulary - 1);
  check(c.width >= 4 || (c.positions != Positions::fairseq && !c.sound),
        "{}: d_model {} is too narrow for {}'s positions; at least 4", json.name(), c.width, c.family);
  c.pre_norm = c.final_norm = family.pre_norm;
  c.embedding_norm = family.embedding_norm;
  c.logits_bias = family.logits_bias;
  c.activation = activation_of(json, "activation_function", std::string(family.activation));
  c.scale_embedding = boolean_or(json, "scale_embedding", family.scale_embedding);
  c.dropout = number_or(json, "dropout", family.sound ? 0 : 0.1, 0, 0.99);
  c.attention_dropout = number_or(json, "attention_dropout", family.attention_dropout, 0, 0.99);
  c.activation_dropout = number_or(json, "activation_dropout", 0, 0, 0.99);
  c.deviation = number_or(json, "init_std", c.deviation, 0, 10);
}

/// "vocab_size" is the encoder's where the embeddings are apart, as in Marian.
void read_vocabularies(const JsonObject& json, EncoderDecoderConfig& c) {
  constexpr int64_t most = int64_t{1} << 24;
  // Transformers' usual ones, and that of the paper; before training a tokenizer decides.
  const int64_t usual = c.is_hugging_face() ? hugging_face_family(c).vocabulary : 37000;
  const int64_t source = integer_or(json, "vocab_size", usual, 1, most);
  c.vocabulary = integer_or(json, "decoder_vocab_size", source, 1, most);
  const bool shared = boolean_or(json, "share_encoder_decoder_embeddings", true);
  check(shared || c.may_be_apart(), "{}: encoder and decoder of a {} model share one embedding", json.name(), c.family);
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
  c.is_hugging_face() ? read_hugging_face(json, c) : read_own(json, c);
  return c;
}

nlohmann::json EncoderDecoderConfig::to_json() const {
  nlohmann::json json = {{"model_type", family},
                         {"vocab_size", encoder_vocabulary()},
                         {"d_model", width},
                         {"encoder_layers", encoder.layers},
                         {"decoder_layers", decoder.layers},
                         {"scale_embedding", scale_embedding},
                         {"tie_word_embeddings", tied},
                         {"dropout", dropout}};
  if (sound) {
    json["num_mel_bins"] = sound->mels;
    json["max_source_positions"] = sound->positions;
    json["max_target_positions"] = context;
  } else {
    json["max_position_embeddings"] = context;
  }
  if (may_be_apart()) {
    json["decoder_vocab_size"] = vocabulary;
    json["share_encoder_decoder_embeddings"] = source_vocabulary == 0;
  }
  if (!is_hugging_face()) {
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
  json.update({{"architectures", {hugging_face_family(*this).architecture()}},
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
  if (positions == Positions::fairseq) json["pad_token_id"] = padding;
  if (classifier) {
    json["architectures"] = {hugging_face_family(*this).classifier()};
    json["classifier_dropout"] = classifier->dropout;
    json["decoder_start_token_id"] = decoder_start;
    json.update(class_keys(classifier->classes));
  }
  return json;
}

}  // namespace vkformer
