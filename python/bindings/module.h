#pragma once
// The parts of the Python module: each adds its classes and functions.

#include <pybind11/pybind11.h>

namespace vkformer::python {

void add_devices(pybind11::module_& module);
void add_tokenizer(pybind11::module_& module);
void add_model(pybind11::module_& module);
void add_trainer(pybind11::module_& module);

}  // namespace vkformer::python
