#pragma once
// Drivers' statistics of a pipeline under names of our own.

#include <optional>

#include "runtime/pipeline_log.h"

namespace vkformer {

/// What decides whether a kernel suits a GPU. Nothing where the driver does not tell.
struct PipelineFigures {
  uint32_t subgroup_size = 0;
  std::optional<double> registers;  ///< of an invocation; on Intel the most that are alive at once, of a subgroup
  std::optional<double> spills;     ///< registers that went to memory (or how often)
  std::optional<double> scratch;    ///< bytes of an invocation, for spills and for arrays that found no registers
  std::optional<double> resident;   ///< subgroups (on Apple invocations) that a core or its part holds at once
  std::optional<double> shared;     ///< bytes of a workgroup
  std::optional<double> code;       ///< bytes

  bool spilled() const { return spills.value_or(0) > 0 || scratch.value_or(0) > 0; }
};

/// Of a pipeline of several codes those of the widest that spills least: it is the one that drivers run.
PipelineFigures figures_of(const PipelineRecord& record);

}  // namespace vkformer
