#pragma once
// XLNet (Yang et al. 2019, "XLNet: Generalized Autoregressive Pretraining for Language Understanding") in Hugging
// Face's layout: logits of the content stream at every position, the permutation language model's two streams, and
// sequence classification. A segment has no memory of earlier ones. Text generation, which Hugging Face does by adding
// a token to be predicted to each step, is not supported.

#include "models/model.h"
#include "shaders/elementwise/elementwise.h"

namespace vkformer {

struct XlnetConfig {
  enum class Head : uint8_t { language_model, classifier };
  Head head = Head::language_model;
  int64_t vocabulary = 32000;
  int64_t width = 1024;  ///< C
  int64_t layers = 24;
  int64_t heads = 16;
  int64_t inner = 4096;  ///< F
  Activation activation = Activation::gelu;
  int64_t farthest = 0;  ///< distances beyond it count as this one (clamp_len); 0: all are told apart
  double epsilon = 1e-12;
  double dropout = 0.1;
  double deviation = 0.02;
  bool tied = true;  ///< the head of the language model is the token embedding

  // Classifier.
  std::vector<std::string> classes = {};  ///< their names
  bool summary_first = false;             ///< of the first position, not the last, padded or not
  bool summary_project = true;            ///< through a layer of its own
  Activation summary_activation = Activation::tanh;
  double summary_first_dropout = 0, summary_last_dropout = 0.1;

  int64_t head_width() const { return width / heads; }

  /// The file sets no limit to the positions of a segment; this is ours: the table of distances is of this length.
  static constexpr int64_t context = 2048;
  /// Token types need only be told apart, so there may be any number of them.
  static constexpr int64_t segments = int64_t{1} << 31;

  /// Throws Error naming file and key for values that can't be, and for what is not supported: attn_type "uni",
  /// bi_data, same_length, other architectures and summaries.
  static XlnetConfig from_json(const JsonObject& config);
  /// What `transformers` loads with XLNetLMHeadModel or XLNetForSequenceClassification.
  nlohmann::json to_json() const;
};

/// sin and cos of the distances from context to -context + 1, [width, 2 * context]: row i is the frequency
/// 10000^(-2i / width), first of the sines, then of the cosines.
std::vector<float> distance_table(const XlnetConfig& config);

Model make_xlnet(const XlnetConfig& config);

}  // namespace vkformer
