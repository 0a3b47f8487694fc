#pragma once
// This machine, this user, this process.

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string>

namespace vkformer::host {

/// Of this machine.
std::string machine_name();

/// Bytes that the system could give to programs without swapping; UINT64_MAX where it does not say.
uint64_t available_memory();

/// Where programs of this user keep what can be made again; empty where nothing tells.
std::filesystem::path cache_folder();

int64_t process_id();

/// By the clocks of this place.
std::tm local_time(std::time_t time);

/// Sets a variable of the environment that is there already or not. False where that can't be.
bool set_variable(const char* name, const char* value);

}  // namespace vkformer::host
