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

/// Integers of 32 bits: those of an int32 array in C order where they lie, others as a copy. Throws ValueError, which
/// names `what`, for other numbers than integers and for those that have no room in 32 bits.
class IntArray {
 public:
  IntArray(const py::handle& object, const std::string& what);
  std::span<const int32_t> values() const { return values_; }
  /// Its dimensions.
  const std::vector<int64_t>& shape() const { return shape_; }
  /// As [batch, positions]; one dimension is one row. Throws ValueError for more.
  IdMatrix matrix() const;

 private:
  std::string what_;
  py::array array_;  ///< keeps the memory
  std::vector<int32_t> copy_;
  std::span<const int32_t> values_;
  std::vector<int64_t> shape_;
};

/// The same of float32; integers and float64 are converted.
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

/// What json.dumps() and json.loads() make of it; numpy's numbers and arrays count as Python's.
nlohmann::json json_of(const py::handle& object);
/// With keys in their order.
nlohmann::ordered_json ordered_json_of(const py::handle& object);
py::object object_of(const nlohmann::json& json);

}  // namespace vkformer::python
