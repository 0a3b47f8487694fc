#pragma once
// Training data whose examples have lengths of their own: batches by length, of a few shapes.

#include "models/data/length_batches.h"
#include "models/data/training_data.h"

namespace vkformer {

class LengthData : public TrainingData {
 public:
  enum class Split : uint8_t { training, validation };

  std::vector<BatchShape> shapes() const override;
  std::vector<BatchShape> validation_shapes() const override;
  DataBatch training_batch(int64_t number) const override;
  int64_t epoch() const override { return batches_->epoch(); }
  int64_t validation_batches() const override { return std::ssize(validation_); }
  DataBatch validation_batch(int64_t index, int64_t count) const override;
  const LengthBatches& batches() const { return *batches_; }
  /// The shapes of the batches and how many `examples` ("pairs") each has, in lines.
  std::string describe(std::string_view examples) const;

 protected:
  /// Called by the constructor of what derives from it.
  void arrange(std::span<const ExampleLength> training, std::span<const ExampleLength> validation,
               const LengthBatches::Settings& settings);
  virtual BatchShape shape_of(const LengthBatches::Bucket& bucket) const = 0;
  /// The integers of some examples of a split. Rows past them are padding, their targets ignored. What is drawn for a
  /// training batch follows from its `number`; that of validation is -1 - its place.
  virtual DataBatch assemble(const BatchShape& shape, Split split, std::span<const uint32_t> examples,
                             int64_t number) const = 0;

 private:
  DataBatch assemble_batch(const LengthBatches::Batch& batch, Split split, int64_t number) const;

  std::unique_ptr<LengthBatches> batches_;
  std::vector<LengthBatches::Batch> validation_;
};

}  // namespace vkformer
