#pragma once
// Folders that verbs fill with many files.

#include <filesystem>
#include <functional>

namespace vkformer {

/// Makes the folder, runs `work`, which fills it, and takes away what it wrote when it throws. `doing`: told of slow
/// work. Throws Error for a folder that is not empty.
void in_new_folder(const std::filesystem::path& folder, const char* doing, const std::function<void()>& work);

}  // namespace vkformer
