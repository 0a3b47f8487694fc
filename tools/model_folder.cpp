#include "tools/model_folder.h"

#include "runtime/check.h"
#include "runtime/files/checkpoint.h"

namespace vkformer {

std::filesystem::path resolve_model_folder(const std::filesystem::path& given) {
  check(std::filesystem::is_directory(given), "'{}' is not a folder; give a model folder or a run folder",
        given.string());
  if (std::filesystem::exists(given / "config.json")) return given;
  const auto latest = latest_checkpoint(given);
  check(latest.has_value(), "'{}' has neither a config.json nor a checkpoint of a run", given.string());
  return *latest;
}

}  // namespace vkformer
