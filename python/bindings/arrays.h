#pragma once
// numpy's arrays, and whatever else has a buffer or __array__, as the runtime takes and gives numbers.

#include <pybind11/numpy.h>

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "models/id_batch.h"
#include "runtime/tensor.h"

namespace vkformer::python {

namespace py = pybind11;

/// Integers of an array, as 32 bits.
class IntArray {
 public:
  /// Throws ValueError, which names `what`, for other numbers than integers and for those without room in 32 bits.
  IntArray(const py::handle& object, std::string what);
  const std::vector<int64_t>& shape() const { return shape_; }
  /// Of one dimension. Throws ValueError for another number of them.
  std::vector<int32_t> row() &&;
  /// As [batch, positions]; one dimension is one row. Throws ValueError for more.
  IdMatrix matrix() &&;
  /// Whatever the shape.
  std::vector<int32_t> all() && { return std::move(values_); }

 private:
  std::string what_;
  std::vector<int64_t> shape_;
  std::vector<int32_t> values_;
};

/// Floats of an array: those of a float32 array in C order where they lie, other numbers as a copy. Throws ValueError
/// for what are none.
class FloatArray {
 public:
  FloatArray(const py::handle& object, const std::string& what);
  std::span<const float> values() const { return {array_.data(), static_cast<size_t>(array_.size())}; }
  std::vector<int64_t> shape() const { return {array_.shape(), array_.shape() + array_.ndim()}; }

 private:
  py::array_t<float, py::array::c_style | py::array::forcecast> array_;
};

/// An array that has the vector's memory.
py::array_t<float> array_of(std::vector<float> values, std::span<const int64_t> shape);
py::array_t<int32_t> array_of(std::vector<int32_t> values);
std::vector<int64_t> dimensions_of(const Shape& shape);

/// A str. Throws TypeError, which names `what`, for anything else.
std::string text_of(const py::handle& object, const char* what);
/// What json.dumps() and json.loads() make of it; numpy's numbers and arrays count as Python's. Throws ValueError and
/// TypeError for what is no JSON.
nlohmann::json json_of(const py::handle& object);
/// With keys in their order.
nlohmann::ordered_json ordered_json_of(const py::handle& object);
py::object object_of(const nlohmann::json& json);

}  // namespace vkformer::python
