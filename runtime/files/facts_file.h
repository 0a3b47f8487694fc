#pragma once
// Facts of devices as JSON: what `vkformer devices --json` prints and --facts reads.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "runtime/device_facts.h"

namespace vkformer {

nlohmann::json facts_json(const DeviceFacts& facts);

/// The best device (discrete before integrated ones) of a file that has one device's facts_json(), or an array of them.
/// Throws Error naming file and key.
DeviceFacts load_facts(const std::filesystem::path& file);

}  // namespace vkformer
