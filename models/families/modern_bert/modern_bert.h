#pragma once
// ModernBERT (Warner et al. 2024): an encoder with rotary positions, norms before each part, gated feed-forward layers,
// and windows to both sides in all but every third layer.

#include "models/families/encoder_head.h"
#include "models/families/rotary.h"
#include "shaders/gated_unit/gated_unit.h"

namespace vkformer {

struct ModernBertConfig {
  using Head = EncoderHead;
  /// How a class of a sequence is read off its hidden states.
  enum class Pooling : uint8_t { first, mean };

  Head head = Head::masked;
  int64_t vocabulary = 50368;
  int64_t context = 8192;  ///< positions
  int64_t width = 768;     ///< C
  int64_t layers = 22;
  int64_t heads = 12;
  int64_t inner = 1152;                                 ///< F
  int64_t reach = 64;                                   ///< a layer with a window sees so many positions to either side
  std::vector<bool> windowed = {};                      ///< which layers have one
  RotaryConfig whole = {.theta = 160000}, window = {};  ///< angles of layers without and with one
  Gate gate = Gate::gelu;
  Activation head_activation = Activation::gelu;
  double epsilon = 1e-5;
  double deviation = 0.02;
  bool norm_bias = false, attention_bias = false, inner_bias = false, head_bias = false, decoder_bias = true;
  bool tied = true;  ///< the masked head's matrix is the word embedding
  Pooling pooling = Pooling::first;
  double embedding_dropout = 0;
  double attention_dropout = 0;  ///< of attention weights, and of what attention gives
  double inner_dropout = 0;
  double head_dropout = 0;  ///< of the heads but the masked one
  HeadClasses classes = {};

  /// Throws Error naming file and key for values that can't be.
  static ModernBertConfig from_json(const JsonObject& config);
  /// What `transformers` loads.
  nlohmann::json to_json() const;
};

Model make_modern_bert(const ModernBertConfig& config);

}  // namespace vkformer
