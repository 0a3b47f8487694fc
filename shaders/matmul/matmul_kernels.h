#pragma once
// Which kernels can compute a matmul node on a device, and how each is launched.

#include "runtime/recorder.h"
#include "shaders/elementwise/elementwise.h"

namespace vkformer {

/// The sizes and flags of a matmul node: `batch` products y[M, N] = op(a)[M, K] op(b)[K, N].
struct MatmulProblem {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  DType a_type = DType::f32, b_type = DType::f32;
  float scale = 1;
  Activation activation = Activation::none;
};

/// Inputs a, b, bias?, residual?; outputs y and, with an activation, the value before it.
MatmulProblem matmul_problem(const Node& node);

/// Whether kernels can rely on the device's subgroups, of 4 to 16 lanes, and pass values between these: then one can own a
/// tile in registers.
bool lanes_legal(const DeviceFacts& facts);

/// Op::candidates, Op::scratch and Op::record of matmul.
std::vector<std::string_view> matmul_candidates(const Node& node, const DeviceFacts& facts);
int64_t matmul_scratch(const Node& node, const DeviceFacts& facts, std::string_view candidate);
void record_matmul(Recorder& recorder, const Node& node);

}  // namespace vkformer
