#pragma once
// What a kernel of attention is: a row of its room's tables, gpu/kernels.cpp or software/kernels.cpp, in order of
// preference. Adding a kernel is adding its .comp and its row there. Internal to this folder.

#include <span>

#include "shaders/attention/attention_launch.h"

namespace vkformer {

struct AttentionKernel {
  std::string_view name;
  KernelRoom room;
  bool (*legal)(const AttentionProblem&, const DeviceFacts&);
  /// Whether it keeps its row's place, where it is legal; otherwise it comes behind all that do. None: always.
  bool (*first)(const AttentionProblem&, const DeviceFacts&) = nullptr;
  bool halves = false;     ///< also takes 16-bit values, in the variant of their type's name
  bool half_keys = false;  ///< also a mixed() problem, in the variant "f16_keys" or "bf16_keys"

  // Either one dispatch,
  Launch (*launch)(const AttentionProblem&, const DeviceFacts&, uint32_t wanted) = nullptr;
  std::string_view variant = "f32";

  // or several, with a workspace of so many bytes.
  void (*record)(Recorder&, const Node&, const AttentionProblem&, const AttentionArgs&, uint32_t wanted) = nullptr;
  int64_t (*scratch)(const AttentionProblem&) = nullptr;
};

/// A dispatch for the gradient of queries, one for those of keys and values, which may also be two, one for that of the
/// bias.
struct AttentionBackwardKernel {
  std::string_view name;
  KernelRoom room;
  bool (*legal)(const AttentionProblem&, const DeviceFacts&);
  bool (*first)(const AttentionProblem&, const DeviceFacts&) = nullptr;  ///< see AttentionKernel::first
  bool halves = false;                                                   ///< see AttentionKernel::halves
  Launch (*query)(const AttentionProblem&, const DeviceFacts&);
  Launch (*key_value)(const AttentionProblem&, const DeviceFacts&, uint32_t wanted);
  Launch (*bias)(const AttentionProblem&, const DeviceFacts&);
  std::string_view variant = "f32";
  bool keys_apart = false;  ///< a dispatch computes the gradient of keys or of values, not both
};

/// Of a kernel that takes the problem's types beside f32.
inline std::string_view variant_of(const AttentionProblem& problem) {
  if (problem.mixed()) return problem.k.type == DType::f16 ? "f16_keys" : "bf16_keys";
  return is_half(problem.type) ? name_of(problem.type) : Launch{}.variant;
}

/// Gives a launch of `kernel` the variant for the problem's types, unless it has one of its own.
template <class Kernel>
void set_variant(Launch& launch, const Kernel& kernel, const AttentionProblem& problem) {
  if (launch.variant == Launch{}.variant)
    launch.variant = is_half(problem.k.type) ? variant_of(problem) : kernel.variant;
}

/// The tables of the rooms.
std::span<const AttentionKernel> attention_software_kernels();
std::span<const AttentionKernel> attention_gpu_kernels();
std::span<const AttentionBackwardKernel> attention_backward_software_kernels();
std::span<const AttentionBackwardKernel> attention_backward_gpu_kernels();

/// The row of that name.
const AttentionKernel& attention_kernel(std::string_view name);
const AttentionBackwardKernel& attention_backward_kernel(std::string_view name);

}  // namespace vkformer
