#include <nlohmann/json.hpp>

#include "python/bindings/arrays.h"
#include "python/bindings/module.h"
#include "python/bindings/session.h"
#include "runtime/backend.h"
#include "runtime/files/facts_file.h"

namespace vkformer::python {

namespace {

py::object devices() {
  auto rows = nlohmann::json::array();
  {
    const WithoutGil without;
    for (const DeviceListing& listing : list_devices()) {
      rows.push_back(facts_json(listing.facts));
      rows.back().update({{"index", rows.size() - 1}, {"unusable", listing.unusable}, {"default", listing.best}});
    }
  }
  return object_of(rows);
}

}  // namespace

void add_devices(py::module_& module) {
  module.def("devices", devices,
             R"(What there is to run on: a dict for each Vulkan device, as `vkformer devices --json` prints it.

"index" and "name" are what `device` may be elsewhere, "default" says which one is taken where it is not given, and
"unusable" why one can't be taken, "" for those that can.)");
}

}  // namespace vkformer::python
