#pragma once
// The towers of CLIP (Radford et al. 2021) and SigLIP (Zhai et al. 2023) that read texts: an EncoderStack over tokens
// and learned positions. CLIP's positions see those before them, and the state of the last token that the mask shows,
// which its tokenizer makes an end, is the text's; SigLIP's see all of a text that is filled up to the context with
// padding, which counts, and the state of the last position is the text's.

#include "models/families/vision/encoder_stack.h"

namespace vkformer {

struct TextTowerConfig {
  std::string family = "clip_text_model";  ///< or "siglip_text_model"
  bool is_clip() const { return family == "clip_text_model"; }
  int64_t vocabulary = 49408;
  int64_t context = 77;
  EncoderStack stack;
  int64_t padding = 1;       ///< the id that fills SigLIP's texts
  int64_t projection = 512;  ///< E; 0: the pooled state itself is the vector
  double deviation = 0.02;

  /// Throws Error naming file and key for values that can't be.
  static TextTowerConfig from_json(const JsonObject& config);
  /// The same of a tower whose config may lie in that of a model with two; `projection`: of CLIP, 0 for none.
  static TextTowerConfig tower(const JsonObject& config, const std::string& family, int64_t projection);
  /// What `transformers` loads.
  nlohmann::json to_json() const;
};

Model make_text_tower(const TextTowerConfig& config);

}  // namespace vkformer
