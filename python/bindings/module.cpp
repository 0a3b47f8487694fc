// `import vkformer`: models, trainings and devices for Python, with numpy's arrays.

#include "python/bindings/module.h"

#include <pybind11/numpy.h>

#include "runtime/check.h"

PYBIND11_MODULE(_vkformer, module) {
  namespace py = pybind11;
  using namespace vkformer;
  py::dtype::of<float>();  // finds numpy while one thread is here: pybind11 waits for it with the GIL
  // Its own text is about templates of C++.
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const py::cast_error&) {
      PyErr_SetString(PyExc_TypeError, "a value is of a type that is not taken here; see help()");
    }
  });
  const auto error = py::register_exception<Error>(module, "Error", PyExc_RuntimeError);
  py::register_exception<DeviceLost>(module, "DeviceLost", error);
  module.attr("__version__") = VKFORMER_VERSION;
  python::add_devices(module);
  python::add_tokenizer(module);
  python::add_model(module);
  python::add_trainer(module);
}
