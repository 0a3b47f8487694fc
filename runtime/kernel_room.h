#pragma once
#include <cstdint>

namespace vkformer {

/// The kind of device a kernel was written for; it runs, and is proved, on others too.
enum class KernelRoom : uint8_t { any, cpu, gpu };

}  // namespace vkformer
