#include "python/bindings/timing_rows.h"

namespace vkformer::python {

py::list timing_rows(const std::vector<ProgramTimings>& programs) {
  py::list rows;
  for (const ProgramTimings& program : programs)
    for (const Timing& timing : program.nodes) {
      py::dict row;
      row["program"] = program.program;
      row["scope"] = timing.scope;
      row["op"] = std::string(timing.op);
      row["kernel"] = std::string(timing.kernel);
      row["seconds"] = timing.seconds;
      row["flops"] = timing.cost.flops;
      row["bytes"] = timing.cost.bytes;
      rows.append(row);
    }
  return rows;
}

}  // namespace vkformer::python
