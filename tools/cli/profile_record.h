#pragma once
// What a profiled command measured, as JSON: pages/profile.html draws it, `vkformer profile --compare` reads two.

#include <nlohmann/json_fwd.hpp>

#include "runtime/backend.h"
#include "runtime/tuning.h"

namespace vkformer {

/// {"vkformer": version, "device", "driver", "timestamp_ns", "roof": {..} or null, "programs": [], "pipelines":
/// pipeline_json() of each}: all but the programs.
nlohmann::json profile_record(const Backend& backend, const std::optional<Roof>& roof);

/// What was measured of a program that ran with BackendOptions::profile; times in microseconds:
///  - "host", "plain", "device", "latency", "between": {"least", "median", "most", "runs"} of runs with timestamps and
///    without, of the device's part, from submission to the first dispatch, and of the host between two runs; null
///    where there is nothing;
///  - "kernels": by kernel_title() the number of dispatches, the sums over them of the medians ("us"), of the least
///    times, and of those of the first and of the second half of the runs; flops, bytes, whether these are only a
///    bound; the operands' types of work on "matrix" cores; with a roof "of_roof": {"copy", "arithmetic"}, the shares
///    of it that the medians are (above 1: the data came from a cache), null where there is none to compare with;
///  - "dispatches": columns, one value a dispatch: "kernel" and "scope" are indices, "start" and "last" are of the last
///    run, "us" are medians;
///  - "memory": bytes, "alive" by dispatch, and "peak", what is alive where most is.
/// Without timings there is only its "name".
nlohmann::json program_record(const std::string& title, const Program& program, const std::optional<Roof>& roof);

/// "matmul_tile (matmul)": one row of a profile.
std::string kernel_title(const Timing& timing);

}  // namespace vkformer
