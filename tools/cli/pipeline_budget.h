#pragma once
// What pipelines may take at most, and which take more.

#include <string>
#include <vector>

#include "runtime/pipeline_figures.h"

namespace vkformer {

/// Bounds that somebody set; the same units as PipelineFigures.
struct PipelineBudget {
  std::optional<double> registers, spills, scratch, shared, code;
  std::optional<double> resident;  ///< at least that many
};

/// A line for each figure of each pipeline beyond the budget, and for each bound that a driver's silence leaves
/// unproved.
std::vector<std::string> over_budget(const std::vector<PipelineRecord>& pipelines, const PipelineBudget& budget);

}  // namespace vkformer
