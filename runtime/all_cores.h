#pragma once
// Work of the host that falls into pieces: drawing and encoding weights, searching for the next tokens.

#include <cstdint>
#include <functional>

namespace vkformer {

/// Calls work(0) to work(count - 1), on all cores, in any order; returns when all are done. What one of them throws is
/// thrown, the first of several; those that have not begun are left then. Where no thread can be made, the caller does
/// it all.
void on_all_cores(int64_t count, const std::function<void(int64_t)>& work);

}  // namespace vkformer
