#include "runtime/pipeline_figures.h"

#include <algorithm>
#include <string_view>

namespace vkformer {

namespace {

using Figure = std::optional<double> PipelineFigures::*;

/// The names that Mesa's drivers give (26.1): RADV, NVK, ANV, Honeykrisp, Turnip; and NVIDIA's own.
const std::pair<std::string_view, Figure> names[] = {
    {"VGPRs", &PipelineFigures::registers},
    {"Number of GPRs", &PipelineFigures::registers},
    {"GPRs", &PipelineFigures::registers},
    {"Max live registers", &PipelineFigures::registers},
    {"Registers used", &PipelineFigures::registers},
    {"Register Count", &PipelineFigures::registers},
    {"Spilled VGPRs", &PipelineFigures::spills},
    {"Spill count", &PipelineFigures::spills},
    {"Spills to memory", &PipelineFigures::spills},
    {"Spills", &PipelineFigures::spills},
    {"STP Count", &PipelineFigures::spills},
    {"Scratch size", &PipelineFigures::scratch},
    {"Scratch Memory Size", &PipelineFigures::scratch},
    {"SLM size", &PipelineFigures::scratch},
    {"Scratch", &PipelineFigures::scratch},
    {"Private memory size", &PipelineFigures::scratch},
    {"Local Memory", &PipelineFigures::scratch},
    {"Subgroups per SIMD", &PipelineFigures::resident},
    {"Max warps/SM", &PipelineFigures::resident},
    {"Max Waves Per Core", &PipelineFigures::resident},
    {"Threads", &PipelineFigures::resident},
    {"LDS size", &PipelineFigures::shared},
    {"Workgroup Memory Size", &PipelineFigures::shared},
    {"Shared size", &PipelineFigures::shared},
    {"Code size", &PipelineFigures::code},
    {"Code Size", &PipelineFigures::code},
    {"Bytes", &PipelineFigures::code},
    {"Binary Size", &PipelineFigures::code},
};

PipelineFigures figures_of(const PipelineCode& code) {
  PipelineFigures figures{.subgroup_size = code.subgroup_size};
  for (const auto& [name, figure] : names)
    if (const auto found = code.statistics.find(std::string(name)); found != code.statistics.end())
      figures.*figure = std::max((figures.*figure).value_or(0), found->second);
  return figures;
}

}  // namespace

PipelineFigures figures_of(const PipelineRecord& record) {
  std::optional<PipelineFigures> best;
  const auto cost = [](const PipelineFigures& f) {
    return std::pair(f.spills.value_or(0) + f.scratch.value_or(0), -int64_t{f.subgroup_size});
  };
  for (const PipelineCode& code : record.code)
    if (const PipelineFigures figures = figures_of(code); !best || cost(figures) < cost(*best)) best = figures;
  return best.value_or(PipelineFigures{});
}

}  // namespace vkformer
