#pragma once
// T5 (Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer"), T5 v1.1
// and Flan-T5, with Hugging Face's config keys and tensor names: RMSNorm before each sublayer, no linear biases, scores
// without 1 / sqrt(D), and a bias by relative position that the layers of a stack share.

#include "models/model.h"
#include "runtime/files/weight_source.h"
#include "shaders/elementwise/elementwise.h"

namespace vkformer {

struct T5Config {
  int64_t vocabulary = 32128;
  int64_t width = 512;      ///< C, d_model
  int64_t head_width = 64;  ///< D, d_kv; heads * D need not be C
  int64_t inner = 2048;     ///< F, d_ff
  int64_t encoder_layers = 6, decoder_layers = 6;
  int64_t heads = 8;
  int64_t buckets = 32;        ///< of relative positions; the encoder halves them between before and after
  int64_t max_distance = 128;  ///< relative positions from here on share one bucket
  Activation activation = Activation::relu;
  bool gated = false;    ///< activation(x W0) * (x W1) instead of activation(x W)
  double dropout = 0.1;  ///< of embeddings, weights of attention, inner units, results of sublayers and of stacks
  double epsilon = 1e-6;
  double factor = 1;        ///< initializer_factor
  bool tied = true;         ///< the head is the token embedding
  bool scaled_head = true;  ///< the decoder's output is scaled by 1 / sqrt(C) before the head

  /// Throws Error naming file and key for values that can't be.
  static T5Config from_json(const JsonObject& config);
  /// What `transformers` loads with T5ForConditionalGeneration.from_pretrained.
  nlohmann::json to_json() const;
};

/// transformers writes tie_word_embeddings false, or true with scale_decoder_outputs false, for T5 v1.1 whether its
/// head is a tensor of its own or not: the files tell. Changes `config`, whose contents `read` has, to say the same.
void settle_t5_head(nlohmann::json& config, const JsonObject& read, const WeightSource& files);

Model make_t5(const T5Config& config);

}  // namespace vkformer
