#pragma once
// Parameters from and to a model folder's files.

#include "models/model.h"

namespace vkformer {

/// Loads every parameter from DIR/model.safetensors. Throws Error that lists missing or misshapen tensors; tensors of
/// the file that the model doesn't know are returned.
std::vector<std::string> load_parameters(Store& store, const std::vector<ParameterSpec>& parameters,
                                         const std::filesystem::path& file);
/// Writes them as a Hugging Face model.safetensors.
void save_parameters(const Store& store, const std::vector<ParameterSpec>& parameters,
                     const std::filesystem::path& file);

}  // namespace vkformer
