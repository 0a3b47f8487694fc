#include "tools/cli/pipeline_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "runtime/pipeline_figures.h"

namespace vkformer {

nlohmann::json pipeline_json(const PipelineRecord& record) {
  const PipelineFigures figures = figures_of(record);
  const auto number = [](const std::optional<double>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
  };
  auto codes = nlohmann::json::array();
  for (const PipelineCode& code : record.code)
    codes.push_back({{"subgroup_size", code.subgroup_size}, {"statistics", code.statistics}});
  return {{"name", record.name()},
          {"kernel", record.kernel},
          {"variant", record.variant},
          {"constants", record.constants},
          {"subgroup_size", record.subgroup_size},
          {"seconds", record.seconds},
          {"thread_seconds", record.thread_seconds},
          {"failure", record.failure},
          {"figures",
           {{"subgroup_size", figures.subgroup_size},
            {"registers", number(figures.registers)},
            {"spills", number(figures.spills)},
            {"scratch", number(figures.scratch)},
            {"resident", number(figures.resident)},
            {"shared", number(figures.shared)},
            {"code", number(figures.code)}}},
          {"code", std::move(codes)}};
}

std::vector<uint32_t> constants_from(const JsonObject& row) {
  const nlohmann::json& constants = row.value().contains("constants") ? row.value()["constants"] : nlohmann::json();
  check(constants.is_array() && std::ranges::all_of(constants, &nlohmann::json::is_number_unsigned),
        "{}: \"constants\" must be an array of numbers", row.name());
  return constants;
}

PipelineRecord pipeline_from(const JsonObject& row) {
  const auto subgroup_size = [](const JsonObject& object) {
    return static_cast<uint32_t>(require_integer(object, "subgroup_size", 0, 1 << 16));
  };
  PipelineRecord record{.kernel = printable(require_string(row, "kernel")),
                        .variant = printable(require_string(row, "variant")),
                        .constants = constants_from(row),
                        .subgroup_size = subgroup_size(row),
                        .thread_seconds = require_number(row, "thread_seconds", 0, 1e9),
                        .failure = printable(require_string(row, "failure"), 1000)};
  for (const JsonObject& code : require_objects(row, "code")) {
    PipelineCode& made = record.code.emplace_back(PipelineCode{.subgroup_size = subgroup_size(code), .statistics = {}});
    const JsonObject statistics = require_object(code, "statistics");
    for (const auto& [name, value] : statistics.value().items())
      made.statistics[name] = require_number(statistics, name, -1e300, 1e300);
  }
  return record;
}

}  // namespace vkformer
