#pragma once
// The original Transformer (Vaswani et al. 2017, "Attention Is All You Need") and the Hugging Face families with its
// layers: Marian, BART, mBART, M2M-100 (and NLLB, which is one) and Pegasus. They differ in data: names of tensors,
// where norms stand, positions, activation. Whisper (Radford et al. 2022, "Robust Speech Recognition via Large-Scale
// Weak Supervision") has the same layers behind an encoder that reads sound.

#include "models/families/encoder_head.h"
#include "models/model.h"
#include "shaders/elementwise/elementwise.h"

namespace vkformer {

struct EncoderDecoderConfig {
  enum class Positions : uint8_t {
    sinusoidal,  ///< PE[2i] = sin(p / 10000^(2i / C)), PE[2i + 1] = cos of the same
    halves,      ///< Marian: all sines, then all cosines
    fairseq,     ///< M2M-100: halves whose slowest wave is 1 / 10000, and which count from the padding's id + 1 on
    learned,     ///< BART: a table of each stack, whose first two rows belong to no position; Whisper: all do
  };
  std::string family = "vaswani";  ///< or another model_type
  int64_t vocabulary = 0;          ///< of the decoder
  int64_t source_vocabulary = 0;   ///< of an encoder with an embedding of its own; 0: it has the decoder's
  int64_t context = 1024;
  int64_t width = 512;  ///< C
  struct Stack {
    int64_t layers = 6;
    int64_t heads = 8;
    int64_t inner = 2048;  ///< F
  } encoder, decoder;
  Positions positions = Positions::sinusoidal;
  int64_t padding = 1;  ///< the id, from which fairseq's positions count
  Activation activation = Activation::relu;
  double epsilon = 1e-5;
  bool pre_norm = false;        ///< x + f(norm(x)) instead of norm(x + f(x))
  bool final_norm = false;      ///< one more norm after each stack
  bool embedding_norm = false;  ///< a norm after the sum of token and position
  bool scale_embedding = true;  ///< tokens times sqrt(C)
  bool tied = true;             ///< the head is the token embedding
  bool logits_bias = false;     ///< final_logits_bias, which is not trained
  double label_smoothing = 0;
  double dropout = 0.1;           ///< of embeddings and of each sublayer's result
  double attention_dropout = 0;   ///< of attention weights
  double activation_dropout = 0;  ///< inside the feed-forward layers
  double deviation = 0.02;
  /// Of BART and mBART: the model tells apart texts, which encoder and decoder both read, by its last state.
  struct Classifier {
    HeadClasses classes;
    double dropout = 0;  ///< before and within the head
  };
  std::optional<Classifier> classifier;
  /// Of Whisper: two convolutions over log-mel spectra are what the encoder's layers see, half as many positions as
  /// there are frames, and keys have no biases.
  struct Sound {
    int64_t mels = 80;         ///< columns of a frame
    int64_t positions = 1500;  ///< most of the encoder; its table of them is not trained
  };
  std::optional<Sound> sound;
  int32_t decoder_start = 2;  ///< a classifier's decoder reads this token before a text

  bool is_hugging_face() const { return family != "vaswani"; }
  /// Whether encoder and decoder may have an embedding each.
  bool may_be_apart() const { return family == "vaswani" || family == "marian"; }
  int64_t encoder_vocabulary() const { return source_vocabulary > 0 ? source_vocabulary : vocabulary; }

  /// Throws Error naming file and key for values that can't be.
  static EncoderDecoderConfig from_json(const JsonObject& config);
  /// What `transformers` loads, with MarianMTModel for one; of "vaswani" our own keys.
  nlohmann::json to_json() const;
};

/// Of positions that are not learned, from `first` on: [positions, width], row-major.
std::vector<float> sinusoids(EncoderDecoderConfig::Positions kind, int64_t positions, int64_t width, int64_t first = 0);

Model make_encoder_decoder(const EncoderDecoderConfig& config);

}  // namespace vkformer
