#pragma once
// The part of the class Model that tells of texts.

#include <pybind11/pybind11.h>

#include "python/bindings/arrays.h"
#include "python/bindings/loaded_model.h"

namespace vkformer::python {

using ModelClass = py::class_<LoadedModel, std::shared_ptr<LoadedModel>>;

inline py::array_t<float> array_of(Floats floats) { return array_of(std::move(floats.values), floats.shape); }

void add_telling(ModelClass& model);

}  // namespace vkformer::python
