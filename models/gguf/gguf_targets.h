#pragma once
// What a GGUF file is written of: its tensors, and the model's that each is made of; internal to this folder.

#include "models/gguf/gguf_config.h"
#include "models/gguf/mixture.h"
#include "models/gguf/row_orders.h"
#include "models/model.h"
#include "models/stacked_weights.h"
#include "models/weights.h"
#include "runtime/files/gguf.h"

namespace vkformer {

/// A tensor to be written and what it is made of.
struct Target {
  Mixture::Tensor tensor;
  const TensorRow* row = nullptr;  ///< nullptr: `values` are all there is
  std::vector<const ParameterSpec*> parts;
  std::vector<float> values;
  std::optional<FileTensor> stack = {};  ///< the parts lie in it as in Hugging Face's files
};

/// Values that are no parameter's.
Target target_of(NamedValues tensor);

/// The file's tensors, in the order of the model's. Appends those without a place to `dropped`. Throws Error for others
/// that have none.
std::vector<Target> targets_of(const GgufArchitecture& architecture, const Model& model,
                               std::vector<std::string>& dropped);

/// The same with values, which are read when they are written: `setting` see heads_of(), `read` gives a parameter's.
/// `targets` and `types` must outlive it.
std::vector<GgufSource> sources_of(
    const std::vector<Target>& targets, const std::vector<DType>& types,
    const std::function<int64_t(std::string_view key, std::optional<int64_t> otherwise)>& setting,
    const std::function<std::vector<float>(const ParameterSpec&)>& read, const LoadProgress& progress);

}  // namespace vkformer
