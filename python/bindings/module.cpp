// `import vkformer`: models, trainings and devices for Python, with numpy's arrays.

#include "python/bindings/module.h"

#include "runtime/check.h"

PYBIND11_MODULE(_vkformer, module) {
  namespace py = pybind11;
  using namespace vkformer;
  const auto error = py::register_exception<Error>(module, "Error", PyExc_RuntimeError);
  py::register_exception<DeviceLost>(module, "DeviceLost", error);
  module.attr("__version__") = VKFORMER_VERSION;
  python::add_devices(module);
  python::add_tokenizer(module);
  python::add_model(module);
  python::add_trainer(module);
}
