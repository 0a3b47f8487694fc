#include "python/bindings/arrays.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

namespace vkformer::python {

namespace {

py::array any_array(const py::handle& object, const std::string& what) {
  auto array = py::array::ensure(object);
  if (!array) throw py::value_error(what + " is no array of numbers");
  return array;
}

std::string type_text(const py::array& array) { return py::str(array.dtype()).cast<std::string>(); }

template <class T>
py::array_t<T> owning_array(std::vector<T> values, std::span<const int64_t> shape) {
  auto owner = std::make_unique<std::vector<T>>(std::move(values));
  T* const data = owner->data();
  const py::capsule keeper(owner.release(), [](void* kept) { delete static_cast<std::vector<T>*>(kept); });
  return py::array_t<T>(std::vector<py::ssize_t>(shape.begin(), shape.end()), data, keeper);
}

/// json.dumps(), where arrays and numbers of numpy are lists and numbers.
std::string json_text(const py::handle& object) {
  const py::cpp_function of_numpy([](const py::object& other) {
    if (!py::hasattr(other, "tolist")) throw py::type_error("a setting is of a type that JSON does not have");
    return other.attr("tolist")();
  });
  return py::module_::import("json")
      .attr("dumps")(object, py::arg("default") = of_numpy, py::arg("allow_nan") = false)
      .cast<std::string>();
}

template <class Json>
Json parsed(const std::string& text) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception&) {
    throw py::value_error("a text is no valid Unicode");
  }
}

}  // namespace

IntArray::IntArray(const py::handle& object, std::string what) : what_(std::move(what)) {
  const py::array array = any_array(object, what_);
  const char kind = array.dtype().kind();
  if (kind != 'i' && kind != 'u' && kind != 'b' && array.size() > 0)
    throw py::value_error(fmt::format("{} has {} where integers are wanted", what_, type_text(array)));
  shape_.assign(array.shape(), array.shape() + array.ndim());
  values_.reserve(static_cast<size_t>(array.size()));
  const auto take = [&](const auto& wide) {
    for (py::ssize_t i = 0; i < wide.size(); ++i) {
      const auto value = wide.data()[i];
      if (!std::in_range<int32_t>(value))
        throw py::value_error(fmt::format("{} has {}, which does not fit 32 bits", what_, value));
      values_.push_back(static_cast<int32_t>(value));
    }
  };
  constexpr int converted = py::array::c_style | py::array::forcecast;
  if (kind == 'u')
    take(py::array_t<uint64_t, converted>(array));
  else
    take(py::array_t<int64_t, converted>(array));
}

std::vector<int32_t> IntArray::row() && {
  if (shape_.size() != 1)
    throw py::value_error(fmt::format("{} has {} dimensions; one is wanted", what_, shape_.size()));
  return std::move(values_);
}

IdMatrix IntArray::matrix() && {
  if (shape_.empty() || shape_.size() > 2)
    throw py::value_error(fmt::format("{} has {} dimensions; [batch, positions] are wanted", what_, shape_.size()));
  return {shape_.size() == 1 ? 1 : shape_[0], shape_.back(), std::move(values_)};
}

FloatArray::FloatArray(const py::handle& object, const std::string& what) {
  const py::array array = any_array(object, what);
  const char kind = array.dtype().kind();
  if (kind != 'f' && kind != 'i' && kind != 'u')
    throw py::value_error(fmt::format("{} has {} where floats are wanted", what, type_text(array)));
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

std::string text_of(const py::handle& object, const char* what) {
  if (!py::isinstance<py::str>(object)) throw py::type_error(std::string(what) + " must be a str");
  return object.cast<std::string>();
}

nlohmann::json json_of(const py::handle& object) { return parsed<nlohmann::json>(json_text(object)); }

nlohmann::ordered_json ordered_json_of(const py::handle& object) {
  return parsed<nlohmann::ordered_json>(json_text(object));
}

py::object object_of(const nlohmann::json& json) { return py::module_::import("json").attr("loads")(json.dump()); }

}  // namespace vkformer::python
