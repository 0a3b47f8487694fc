#pragma once
// What makes one vector of a text's hidden states.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace vkformer {

/// Which hidden states of a text, its special tokens among them, become its embedding.
enum class Pooling : uint8_t {
  mean,   ///< of all tokens
  first,  ///< that of the first token, [CLS]
  last,   ///< that of the last token, which has seen all others in a decoder
};
const char* name_of(Pooling pooling);
/// Throws Error for a name that is none.
Pooling pooling_named(std::string_view name);

/// What each hidden state of rows of `length` counts in the row's vector, [B, T]; `mask` as batches have it.
std::vector<float> pooling_weights(std::span<const int32_t> mask, size_t length, Pooling pooling);

}  // namespace vkformer
