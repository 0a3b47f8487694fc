#pragma once
// A model's parameters and constants in a Store: blocks, start values.

#include "models/model.h"

namespace vkformer {

/// A block of parameters: decayed ones first, so that AdamW updates it in one launch.
struct ParameterBlock {
  std::vector<const ParameterSpec*> parameters;
  int64_t decayed_elements = 0;
  bool trained = true;
  bool in_host = false;
  /// Parameters i and i + 1 are parts of one joint tensor.
  bool joins_next(size_t i) const {
    return i + 1 < parameters.size() && !parameters[i]->joint.empty() && !parameters[i]->apart &&
           parameters[i]->joint == parameters[i + 1]->joint;
  }
};

/// The parameters in as few blocks as the device's largest allocation permits, joint ones together; those whose entry
/// in `resting` is true (empty: none is) come in blocks of their own, behind the others, and so do, behind those of
/// their kind, those in host memory. Names of block i: see block_name(). Pointers into `parameters`, which must outlive
/// the result. Throws Error for a (joint) parameter larger than an allocation.
std::vector<ParameterBlock> parameter_blocks(const std::vector<ParameterSpec>& parameters, uint64_t max_allocation,
                                             const std::vector<bool>& resting = {});
std::string block_name(std::string_view what, size_t i);  ///< "parameters.0"

/// Adds block i of `what` ("parameters" under the tensors' own names; otherwise "what/name", and only for trained
/// blocks). `states`: where blocks of anything but parameters lie.
void add_parameter_blocks(StoreLayout& layout, std::string_view what, const std::vector<ParameterBlock>& blocks,
                          BlockMemory states = BlockMemory::device);

/// Adds the blocks of the parameters, and the model's constants.
void add_model(StoreLayout& layout, const Model& model, const std::vector<ParameterBlock>& blocks);
void write_constants(Store& store, const Model& model);
/// A store of both for the backend's device: constants written, parameters zero.
std::shared_ptr<Store> make_model_store(Backend& backend, const Model& model);

/// A matrix of so many rows, transposed.
std::vector<float> turned(std::span<const float> values, int64_t rows);
/// What a parameter starts with.
std::vector<float> start_values(const ParameterSpec& parameter, uint32_t seed);
/// Fills the parameters with their start values; they depend only on the seed and each tensor's name.
void initialize(Store& store, const std::vector<ParameterSpec>& parameters, uint32_t seed);

}  // namespace vkformer
