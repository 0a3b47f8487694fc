#pragma once
// Which weights lie in host memory where the device has no room for all.

#include "models/model.h"

namespace vkformer {

/// A tensor of parameters, as graphs read it: one, or all parts of a joint one.
struct WeightUse {
  std::vector<size_t> parameters;  ///< of the model
  int64_t bytes = 0;               ///< in the types they are stored in
  double read = 0;                 ///< bytes of it that a token reads; of a model that writes none, a batch
};

/// Weights that may leave the device's memory, the first to go first: those of which a token reads the smallest part
/// (tables of which rows are gathered, experts, what an encoder reads once a text), then feed-forward layers before
/// attention, later layers before earlier ones, and last what is in no layer. Neither norms, biases and other small
/// ones nor parameters that are trained (`frozen`: those that train() are), nor an adapter's.
std::vector<WeightUse> leaving_weights(const Model& model, bool frozen = false);

struct HostWeights {
  int64_t bytes = 0;
  double read = 0;  ///< see WeightUse

  bool operator==(const HostWeights&) const = default;
};

/// Lets weights lie in host memory (ParameterSpec::in_host) until those that stay, whatever they are, take at most
/// `budget` bytes, or no other may leave. What left early and would have room behind the last comes back.
HostWeights place_weights(Model& model, std::span<const WeightUse> leaving, int64_t budget);

/// The same until `needed`, the bytes of the device's memory that the model takes with all that runs over it, is at
/// most `available`, or no other may leave.
HostWeights fit_weights(Model& model, int64_t available, const std::function<int64_t(const Model&)>& needed,
                        bool frozen = false);

}  // namespace vkformer
