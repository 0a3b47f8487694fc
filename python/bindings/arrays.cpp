#include "python/bindings/arrays.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

namespace vkformer::python {

namespace {

py::array any_array(const py::handle& object, const std::string& what) {
  auto array = py::array::ensure(object);
  if (!array) throw py::value_error(what + " is no array of numbers");
  return array;
}

bool in_c_order(const py::array& array) { return (array.flags() & py::array::c_style) != 0; }

template <class T>
py::array_t<T> owning_array(std::vector<T> values, std::span<const int64_t> shape) {
  auto owner = std::make_unique<std::vector<T>>(std::move(values));
  T* const data = owner->data();
  const py::capsule keeper(owner.release(), [](void* kept) { delete static_cast<std::vector<T>*>(kept); });
  return py::array_t<T>(std::vector<py::ssize_t>(shape.begin(), shape.end()), data, keeper);
}

std::string json_text(const py::handle& object) {
  const py::object of_numpy = py::module_::import("operator").attr("methodcaller")("tolist");
  return py::module_::import("json").attr("dumps")(object, py::arg("default") = of_numpy).cast<std::string>();
}

}  // namespace

IntArray::IntArray(const py::handle& object, const std::string& what) : what_(what), array_(any_array(object, what)) {
  const char kind = array_.dtype().kind();
  if (kind != 'i' && kind != 'u' && kind != 'b')
    throw py::value_error(
        fmt::format("{} has {} where integers are wanted", what, py::str(array_.dtype()).cast<std::string>()));
  shape_.assign(array_.shape(), array_.shape() + array_.ndim());
  const auto size = static_cast<size_t>(array_.size());
  if (kind == 'i' && array_.itemsize() == 4 && in_c_order(array_)) {
    values_ = {static_cast<const int32_t*>(array_.data()), size};
    return;
  }
  const py::array_t<int64_t, py::array::c_style | py::array::forcecast> wide(array_);
  copy_.reserve(size);
  for (size_t i = 0; i < size; ++i) {
    const int64_t value = wide.data()[i];
    if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max())
      throw py::value_error(fmt::format("{} has {}, which does not fit 32 bits", what, value));
    copy_.push_back(static_cast<int32_t>(value));
  }
  values_ = copy_;
}

IdMatrix IntArray::matrix() const {
  if (shape_.empty() || shape_.size() > 2)
    throw py::value_error(fmt::format("{} has {} dimensions; [batch, positions] are wanted", what_, shape_.size()));
  return {shape_.size() == 1 ? 1 : shape_[0], shape_.back(), {values_.begin(), values_.end()}};
}

FloatArray::FloatArray(const py::handle& object, const std::string& what) {
  const py::array array = any_array(object, what);
  const char kind = array.dtype().kind();
  if (kind != 'f' && kind != 'i' && kind != 'u')
    throw py::value_error(
        fmt::format("{} has {} where floats are wanted", what, py::str(array.dtype()).cast<std::string>()));
  array_ = decltype(array_)(array);
}

py::array_t<float> array_of(std::vector<float> values, std::span<const int64_t> shape) {
  return owning_array(std::move(values), shape);
}

py::array_t<int32_t> array_of(std::vector<int32_t> values) {
  const auto size = static_cast<int64_t>(values.size());
  return owning_array(std::move(values), std::span(&size, 1));
}

std::vector<int64_t> dimensions_of(const Shape& shape) {
  return {shape.dimensions().begin(), shape.dimensions().end()};
}

nlohmann::json json_of(const py::handle& object) { return nlohmann::json::parse(json_text(object)); }

nlohmann::ordered_json ordered_json_of(const py::handle& object) {
  return nlohmann::ordered_json::parse(json_text(object));
}

py::object object_of(const nlohmann::json& json) { return py::module_::import("json").attr("loads")(json.dump()); }

}  // namespace vkformer::python
