#pragma once

#include "runtime/graph.h"

namespace vkformer {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  int64_t decayed_elements = 0;  ///< weight decay applies to the first so many elements of the block
  bool decay_gradient = false;   ///< torch.optim.Adam: decay is added to the gradient instead
  double clip_norm = 0;          ///< 0: no clipping; else the gradient is scaled by min(1, clip_norm / (norm + 1e-6))
  bool scaled = false;           ///< the gradient and its norm are those of a scaled loss
};

/// One step of PyTorch's AdamW over a whole parameter block:
///   g = gradient * clip factor                      (torch.nn.utils.clip_grad_norm_)
///   p *= 1 - learning_rate * weight_decay           (the first `decayed_elements` only; with decay_gradient,
///                                                    g += weight_decay * p in its place)
///   m += (1 - beta1) (g - m);  v = beta2 v + (1 - beta2) g^2
///   p -= learning_rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
/// All four tensors are f32 with one element count. `schedule` is f32 [3] in the step buffer: {learning_rate,
/// 1 - beta1^t, sqrt(1 - beta2^t)} with t counting from 1; with `scaled` [4], the last one 1 / the loss's scale, by
/// which gradient and norm are multiplied first, and nothing changes when the norm is not finite. `norm` is the f32 [1]
/// of global_norm(), absent when clip_norm is 0 and nothing is scaled. Gives {parameters, moment1, moment2}, changed in
/// place. Not differentiable.
Values adamw(Graph& graph, Value parameters, Value gradient, Value moment1, Value moment2, Value schedule, Value norm,
             const AdamWOptions& options);

}  // namespace vkformer
