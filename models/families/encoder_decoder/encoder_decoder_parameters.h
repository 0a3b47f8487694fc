#pragma once
// What the tensors of the original Transformer, Marian and BART are called in files; internal to this folder.

#include "models/families/encoder_decoder/encoder_decoder.h"

namespace vkformer::encoder_decoder {

inline constexpr std::string_view qkv = "qkv";  ///< the joint tensor of a self-attention's input projections
inline constexpr int64_t convolved = 3, frames_per_position = 2;  ///< of Whisper's convolutions
/// The row of a learned position 0: BART's first two belong to none.
inline int64_t learned_offset(const EncoderDecoderConfig& config) { return config.sound ? 0 : 2; }
inline constexpr const char* sinusoid_table = "positions.table";

/// What a family calls its tensors.
struct Names {
  std::string_view tokens, stack_tokens, head, encoder, decoder;
  std::string_view self_attention, cross_attention, query, key, value, output;
  std::string_view inner, outer;  ///< of the feed-forward layers
  std::string_view self_norm, cross_norm, feed_forward_norm, final_norm;
};

const Names& names_of(const EncoderDecoderConfig& config);
std::string weight_of(std::string_view name);
/// The token embedding of a stack: its own, or the one that both share.
std::string embedding_of(const EncoderDecoderConfig& config, bool encoder);
std::string layer_name(std::string_view stack, int64_t layer);

std::vector<ParameterSpec> parameters_of(const EncoderDecoderConfig& config);

}  // namespace vkformer::encoder_decoder
