#pragma once
// A pipeline as JSON, in profiles and in reports of `vkformer pipelines`.

#include <nlohmann/json_fwd.hpp>

#include "runtime/files/json_file.h"
#include "runtime/pipeline_log.h"

namespace vkformer {

/// {"name", "kernel", "variant", "constants", "subgroup_size", "seconds", "thread_seconds", "failure",
///  "figures": PipelineFigures by name, null where the driver does not tell,
///  "code": [{"subgroup_size", "statistics": the driver's own}]}.
nlohmann::json pipeline_json(const PipelineRecord& record);

/// What pipeline_json() wrote, but for what follows from it. Throws Error, which names the file and the place in it,
/// for anything else.
PipelineRecord pipeline_from(const JsonObject& row);
/// Its constants alone.
std::vector<uint32_t> constants_from(const JsonObject& row);

}  // namespace vkformer
