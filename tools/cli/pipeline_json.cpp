#include "tools/cli/pipeline_json.h"

#include <nlohmann/json.hpp>

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

PipelineRecord pipeline_from(const nlohmann::json& row) {
  PipelineRecord record{.kernel = row.at("kernel"),
                        .variant = row.at("variant"),
                        .constants = row.at("constants"),
                        .subgroup_size = row.at("subgroup_size"),
                        .thread_seconds = row.at("thread_seconds"),
                        .failure = row.at("failure")};
  for (const auto& code : row.at("code")) record.code.push_back({code.at("subgroup_size"), code.at("statistics")});
  return record;
}

}  // namespace vkformer
