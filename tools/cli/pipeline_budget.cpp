#include "tools/cli/pipeline_budget.h"

#include <fmt/core.h>

namespace vkformer {

namespace {

struct Bound {
  const char* what;
  std::optional<double> PipelineFigures::*figure;
  std::optional<double> PipelineBudget::*limit;
  bool least = false;
};

constexpr Bound bounds[] = {
    {"registers", &PipelineFigures::registers, &PipelineBudget::registers},
    {"registers spilled", &PipelineFigures::spills, &PipelineBudget::spills},
    {"bytes of scratch memory", &PipelineFigures::scratch, &PipelineBudget::scratch},
    {"bytes of shared memory", &PipelineFigures::shared, &PipelineBudget::shared},
    {"bytes of code", &PipelineFigures::code, &PipelineBudget::code},
    {"subgroups resident", &PipelineFigures::resident, &PipelineBudget::resident, true},
};

}  // namespace

std::vector<std::string> over_budget(const std::vector<PipelineRecord>& pipelines, const PipelineBudget& budget) {
  std::vector<std::string> lines;
  for (const Bound& bound : bounds) {
    const std::optional<double> limit = budget.*bound.limit;
    if (!limit) continue;
    size_t silent = 0;
    for (const PipelineRecord& record : pipelines) {
      const std::optional<double> value = figures_of(record).*bound.figure;
      silent += !value;
      if (!value || (bound.least ? *value >= *limit : *value <= *limit)) continue;
      lines.push_back(fmt::format("{}: {:g} {}, the budget is {} {:g}", record.name(), *value, bound.what,
                                  bound.least ? "at least" : "at most", *limit));
    }
    if (silent > 0)
      lines.push_back(fmt::format("{} of {} pipelines: the driver does not tell {}, so the budget of {:g} is unproved",
                                  silent, pipelines.size(), bound.what, *limit));
  }
  return lines;
}

}  // namespace vkformer
