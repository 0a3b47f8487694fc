#pragma once
// Training data cut from a long text: windows of one length, random ones of what is trained on, and those of the
// validation split one after another.

#include <span>

#include "models/data/token_sequence.h"
#include "models/data/training_data.h"

namespace vkformer {

/// The tokens of a text that is trained on, and of another or its end, which is not; none: there is no validation.
struct TextSplit {
  TokenSequence training, validation;
};

/// `validation_fraction` of the ids, at their end, are for validation; 0: none.
TextSplit split_text(const TokenSequence& ids, double validation_fraction);

class WindowData : public TrainingData {
 public:
  struct Settings {
    int64_t context = 0;     ///< positions of a sequence
    int64_t rows = 1;        ///< windows of a micro-batch
    int64_t accumulate = 1;  ///< micro-batches of an iteration
    uint32_t seed = 0;
  };

  /// Tokens of both splits.
  int64_t size() const { return text_.training.size() + text_.validation.size(); }

  std::vector<BatchShape> shapes() const override { return {shape_}; }
  /// Random windows of the training split.
  DataBatch training_batch(int64_t number) const override;
  int64_t epoch() const override;
  int64_t validation_batches() const override;
  /// Targets of rows past the last window are ignored.
  DataBatch validation_batch(int64_t index, int64_t count) const override;

 protected:
  struct Window {
    std::vector<int32_t> tokens;
    /// Of all windows of a run, by which to draw: the same window of the validation split has always the same.
    uint64_t example;
  };
  /// Windows of `length` tokens; those of the validation split begin `stride` tokens apart. Throws Error when a split
  /// is shorter than one.
  WindowData(TextSplit text, int64_t length, int64_t stride, const BatchShape& shape, const Settings& settings);

  const BatchShape& shape() const { return shape_; }
  const Settings& settings() const { return settings_; }
  /// The integers of a batch, a row for each window. "targets" come last.
  virtual DataBatch assemble(std::span<const Window> windows) const = 0;

 private:
  int64_t validation_windows() const;
  Window window(const TokenSequence& text, int64_t start, uint64_t example) const;

  TextSplit text_;
  int64_t length_, stride_;
  BatchShape shape_;
  Settings settings_;
};

}  // namespace vkformer
