#pragma once
// What a training reads: batches that follow from the seed and their number alone, so that a resumed run sees the same.

#include <memory>
#include <string>
#include <vector>

#include "models/training/training_batch.h"

namespace vkformer {

/// A batch with its values.
struct DataBatch {
  BatchShape shape;
  std::vector<std::pair<std::string, std::vector<int32_t>>> inputs;     ///< by the names of add_inputs(), and "targets"
  int64_t tokens = 0;                                                   ///< that are not padding
  std::vector<std::pair<std::string, std::vector<float>>> floats = {};  ///< the same of floats: "source" that is sound

  /// Valid while this object is.
  TrainingBatch view() const;
  /// The integers of an input that it has.
  const std::vector<int32_t>& values(std::string_view input) const;
  /// The same of floats.
  const std::vector<float>& numbers(std::string_view input) const;
  /// Positions that are computed, padding included, of sources and targets.
  int64_t positions() const { return shape.rows * (shape.positions + shape.source_positions); }
};

class TrainingData {
 public:
  virtual ~TrainingData() = default;
  /// Shapes of all that is trained on, the one with most positions first.
  virtual std::vector<BatchShape> shapes() const = 0;
  /// Those of validation that training has not.
  virtual std::vector<BatchShape> validation_shapes() const { return {}; }
  /// Micro-batch `number` (0, 1, ...) of the run. The same object gives the same batch for a number, whatever was asked
  /// for before.
  virtual DataBatch training_batch(int64_t number) const = 0;
  /// Micro-batches that see every example once or, where examples are drawn, as many tokens as there are.
  virtual int64_t epoch() const = 0;
  /// Batches of the whole validation split; 0: there is none.
  virtual int64_t validation_batches() const = 0;
  /// Batch `index` of `count` that are spread evenly over the validation split.
  virtual DataBatch validation_batch(int64_t index, int64_t count) const = 0;
};

}  // namespace vkformer
