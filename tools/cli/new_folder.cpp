#include "tools/cli/new_folder.h"

#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "tools/cli/busy_watch.h"

namespace vkformer {

void in_new_folder(const std::filesystem::path& folder, const char* doing, const std::function<void()>& work) {
  namespace fs = std::filesystem;
  const bool existed = fs::exists(folder);
  check(!existed || (fs::is_directory(folder) && fs::is_empty(folder)),
        "{} is there already and is no empty folder; give a new --out", printable(folder.generic_string()));
  fs::create_directories(folder);
  const BusyWatch watch(doing, false);
  try {
    work();
  } catch (...) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) fs::remove_all(entry.path(), ignored);
    if (!existed) fs::remove(folder, ignored);
    throw;
  }
}

}  // namespace vkformer
