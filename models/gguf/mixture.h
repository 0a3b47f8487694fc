#pragma once
// Which tensors of a GGUF file get which type: llama.cpp's mixtures, as llama-quantize makes them without an importance
// matrix.

#include <string>
#include <string_view>
#include <vector>

#include "models/type_fallbacks.h"

namespace vkformer {

struct MixtureRow;

class Mixture {
 public:
  /// "f32", "f16", "bf16", "q8_0", "q4_0", "q4_k_m", ... Throws Error, with all names, for others.
  explicit Mixture(std::string_view name);

  /// Of general.file_type.
  uint32_t file_type() const;
  bool has_blocks() const;

  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
  };
  struct Sizes {
    int64_t layers = 0;           ///< of the decoder and of the encoder, where there are both
    int64_t queries_per_key = 1;  ///< heads of queries for each head of keys
    int64_t experts = 0;
    bool falcon = false;  ///< for whose weights llama-quantize has rules of their own
  };
  /// A type for each tensor of a file. Counts in `fallbacks` (optional) those whose rows don't take the mixture's.
  std::vector<DType> types_of(const std::vector<Tensor>& tensors, const Sizes& sizes,
                              TypeFallbacks* fallbacks = nullptr) const;

 private:
  const MixtureRow* row_;
};

/// Names of all mixtures, for messages.
std::string known_mixtures();

}  // namespace vkformer
