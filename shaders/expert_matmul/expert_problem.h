#pragma once
// What the ops of this folder and their kernels share.

#include "runtime/op.h"
#include "runtime/recorder.h"

namespace vkformer {

/// The sizes of a node. expert_matmul: y[pair, n] = a[k] op(b[e])[k, n] + bias[e, n] for each pair of a token and an
/// expert e; expert_matmul_backward: y[e, m, n] = sum of a[pair, m]^T b[pair, n] over the pairs of e.
struct ExpertProblem {
  int64_t experts = 1, pairs = 1;
  int64_t slots = 1;  ///< pairs of a token
  int64_t m = 0, n = 0, k = 0;
  bool backward = false;
  bool transpose_b = false;                     ///< b is [E, n, k]
  bool a_by_token = false, b_by_token = false;  ///< a row for each token, not for each pair
  bool has_bias = false;
  DType a_type = DType::f32, b_type = DType::f32;
};

/// The input of expert_matmul that is its optional bias.
constexpr size_t expert_bias = 3;

/// Inputs a, b, chosen, and of expert_matmul bias; output y.
ExpertProblem expert_problem(const Node& node);

// Of both ops.
std::vector<std::string_view> expert_candidates(const Node& node, const DeviceFacts& facts);
KernelRoom expert_room(std::string_view candidate);
int64_t expert_scratch(const Node& node, const DeviceFacts& facts, std::string_view candidate);
void record_experts(Recorder& recorder, const Node& node);

}  // namespace vkformer
