#pragma once
// The memory plan of a training for people: printed, and held against what the device has.

#include "tools/cli/commands.h"

namespace vkformer {

/// What the programs of `plan` need, in a few lines.
void print_plan(const TrainingPlan& plan, const Backend& backend);
/// For `--plan`: the same with the biggest temporaries, or as JSON.
void print_dry_run(const TrainingPlan& plan, const Backend& backend, bool json);
/// Throws Error when the device's free memory is less than the plan, naming the biggest temporaries and what to change,
/// or where to go.
void check_fits(const TrainingPlan& plan, const Backend& backend);

}  // namespace vkformer
