#pragma once
// What a training makes, as files: a model's weights, or its adapter.

#include <filesystem>

#include "models/parameters.h"

namespace vkformer {

/// Writes model.safetensors, or the files of the model's adapter. Throws Error for values that are not finite.
void save_trained(const Store& store, const Model& model, const std::filesystem::path& folder);
/// Reads it back. The weights of a model with an adapter are not there, so they stay.
void load_trained(Store& store, const Model& model, const std::filesystem::path& folder);

}  // namespace vkformer
