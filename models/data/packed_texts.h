#pragma once
// Texts of unlike lengths side by side in rows of one length, as training data of a causal model: positions count anew
// in each text, and none sees another.

#include "models/data/learned_text.h"
#include "models/data/training_data.h"

namespace vkformer {

/// Which texts share a row: the longest first, each in the fullest row that has room (best fit decreasing). Texts of
/// one length come in the order given. `lengths` are at most `row`.
std::vector<std::vector<uint32_t>> pack(std::span<const int64_t> lengths, std::span<const uint32_t> order, int64_t row);

class PackedTexts : public TrainingData {
 public:
  struct Settings {
    int64_t rows = 1;       ///< B
    int64_t positions = 0;  ///< T
    uint32_t seed = 0;
  };
  /// Texts have at least 2 and at most T + 1 ids, one of which is learned behind the first. Throws Error when there is
  /// no training text.
  PackedTexts(std::vector<LearnedText> training, std::vector<LearnedText> validation, const Settings& settings);

  std::vector<BatchShape> shapes() const override { return {shape_}; }
  DataBatch training_batch(int64_t number) const override;
  int64_t epoch() const override { return batches_of(training_rows_); }
  int64_t validation_batches() const override { return batches_of(std::ssize(validation_rows_)); }
  DataBatch validation_batch(int64_t index, int64_t count) const override;
  /// Rows, and how full they are, in a line.
  std::string describe() const;

 private:
  using Row = std::vector<uint32_t>;
  struct Epoch {
    int64_t number = -1;
    std::vector<Row> rows;
  };

  int64_t batches_of(int64_t rows) const { return (rows + shape_.rows - 1) / shape_.rows; }
  std::vector<Row> shuffled(int64_t epoch) const;
  DataBatch assemble(const std::vector<LearnedText>& texts, std::span<const Row> rows, int64_t batch) const;

  std::vector<LearnedText> training_, validation_;
  BatchShape shape_;
  uint32_t seed_;
  int64_t training_rows_ = 0;  ///< of every epoch: it follows from the lengths alone
  std::vector<Row> validation_rows_;
  mutable Epoch current_;  ///< the last one asked for
};

}  // namespace vkformer
