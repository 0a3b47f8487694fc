#pragma once
// The head that an adapter brings along: a base model's config.json may have another one, or other classes.

#include "models/adapters/adapter_files.h"

namespace vkformer {

/// In an adapter's folder beside PEFT's files: the keys of config.json that its model has otherwise than its base.
inline constexpr const char* adapter_head_file = "head.json";

/// The model of a folder with the head of an adapter, if there is one, which is not given to it yet. Where PEFT alone
/// wrote the folder, its task and the rows of its head tell; classes are called as the base's config calls as many,
/// else LABEL_0, LABEL_1, .. Throws Error like load_model().
Model load_model(const std::filesystem::path& folder, const AdapterFiles* adapter);

}  // namespace vkformer
