#pragma once
// The weights of a folder that is quantised, under the names and in the shapes that the original model has.

#include "models/quantised/quantisation.h"
#include "runtime/files/weight_source.h"

namespace vkformer {

/// Tensors of GPTQ, AWQ, compressed-tensors, FP8, bitsandbytes, modelopt and MLX as what they stand for: LAYER.weight
/// [out, in] in place of all others of that layer but its bias. Scales of activations are left out: products take
/// these as they are.
class QuantisedWeights : public WeightSource {
 public:
  /// Throws Error naming a tensor that lacks what belongs to it, that has another shape or type than it must, or of
  /// which nobody knows what it does.
  QuantisedWeights(std::unique_ptr<const WeightSource> files, const Quantisation& how);

  const std::string& name() const override { return files_->name(); }
  size_t file_count() const override { return files_->file_count(); }
  uint64_t bytes() const override { return files_->bytes(); }

 private:
  std::unique_ptr<const WeightSource> files_;
};

}  // namespace vkformer
