#pragma once
// GPUs of this machine whose drivers list nothing to this process.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runtime/host/files.h"

namespace vkformer {

/// What Linux shows of GPUs that Vulkan does not list, a line each with what to do: files under `devices` that this
/// user may not open, NVIDIA's driver without its Vulkan part. To be asked where no GPU is listed.
std::vector<std::string> hidden_gpus(
    const std::filesystem::path& devices = "/dev",
    const std::function<int(const std::filesystem::path&)>& error_of = host::open_error);

/// The variable of the environment by which the user says which drivers there are; nullptr where none is set.
const char* drivers_named_by();

}  // namespace vkformer
