#pragma once
// Files that have several parameters in one tensor: the experts of gpt-oss, Qwen3.5 and Granite, what heads of latent
// attention have of keys and values, and Qwen3-Next's projections.

#include <functional>
#include <memory>

#include "models/model.h"
#include "runtime/files/weight_source.h"

namespace vkformer {

/// A part of a stack (see ParameterSpec::Stack), and what files have in its place.
struct StackedWeight {
  std::unique_ptr<const WeightTensor> weight;  ///< under the parameter's name
  std::vector<const WeightTensor*> tensors;    ///< of the files
};

/// The parameter as a part of the stack `name`, which lies in the files as floats [count, in, step * out] or, of a
/// vector, [count, step * out]; of `rows` as [count, step * out, in]; of `groups` as [count * step, in]; or of a matrix
/// as MXFP4: tensors NAME_blocks [count, step * out, in / 32, 16] and NAME_scales [count, step * out, in / 32] of
/// bytes. Nothing where there is no such tensor. Throws Error for another shape or type. `files` must outlive the
/// result.
std::optional<StackedWeight> find_in_stack(const WeightSource& files, const ParameterSpec& parameter,
                                           const std::string& name);

/// A tensor of the files that a model is written to: a parameter, or all parts of a stack.
struct FileTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<const ParameterSpec*> parts;

  /// All its values, from those of its parts.
  std::vector<float> values(const std::function<std::vector<float>(const ParameterSpec&)>& values_of) const;
};
/// In the order of the parameters, which must outlive the result.
std::vector<FileTensor> file_tensors(const std::vector<const ParameterSpec*>& parameters);
std::vector<FileTensor> file_tensors(const std::vector<ParameterSpec>& parameters);

}  // namespace vkformer
