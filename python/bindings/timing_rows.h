#pragma once
// What programs took, as rows of a table.

#include <pybind11/pybind11.h>

#include "python/bindings/session.h"

namespace vkformer::python {

/// A dict for each node: "program", "scope", "op", "kernel", "seconds", "flops" and "bytes", which it must compute and
/// move at least.
pybind11::list timing_rows(const std::vector<ProgramTimings>& programs);

}  // namespace vkformer::python
