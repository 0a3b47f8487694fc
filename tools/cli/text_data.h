#pragma once
// A text as training data: encoded once, split, and cut into batches that depend only on (seed, iteration).

#include <filesystem>

#include "models/text/vocabulary.h"

namespace vkformer {

/// Token ids and, for each, the token that follows: [rows, context] each, row-major.
struct Batch {
  std::vector<int32_t> ids, targets;
};

class TextData {
 public:
  /// The whole file. Throws Error when it can't be read or is empty.
  static std::string read(const std::filesystem::path& file);

  /// The last `validation_fraction` of the ids is the validation split. Throws Error when a split is shorter than one
  /// context and its next token.
  TextData(std::vector<int32_t> ids, double validation_fraction, int64_t context);

  /// Tokens of both splits.
  int64_t size() const { return static_cast<int64_t>(ids_.size()); }
  /// `rows` random windows of the training split.
  Batch training_batch(uint32_t seed, int64_t iteration, int64_t rows) const;
  /// Windows of the validation split that do not overlap; how many there are.
  int64_t validation_windows() const;
  /// `rows` windows: numbers first, first + 1, ... of `count` windows spread evenly over the split. Past `count` the
  /// targets are -100 (ignored).
  Batch validation_batch(int64_t first, int64_t count, int64_t rows) const;

 private:
  void append(Batch& batch, int64_t start) const;

  std::vector<int32_t> ids_;
  int64_t context_;
  int64_t training_tokens_;
};

}  // namespace vkformer
