#include "runtime/backend.h"

#include "runtime/check.h"

namespace vkformer {

std::vector<float> Store::read(const std::string& name) const {
  const StoreLayout::Entry* entry = layout().find(name);
  check(entry != nullptr, "the store has no tensor '{}'", name);
  std::vector<float> data(static_cast<size_t>(entry->type.elements()));
  read(name, data);
  return data;
}

void Store::write(const std::string& name, std::span<const float> data) {
  write_elements(layout().require(name, {Shape{static_cast<int64_t>(data.size())}, DType::f32}), 0,
                 std::as_bytes(data));
}

void Store::write(const std::string& name, std::span<const int32_t> data) {
  write_elements(layout().require(name, {Shape{static_cast<int64_t>(data.size())}, DType::i32}), 0,
                 std::as_bytes(data));
}

void Store::write_part(const std::string& name, int64_t first, std::span<const float> data) {
  const StoreLayout::Entry* entry = layout().find(name);
  check(entry != nullptr, "the store has no tensor '{}'", name);
  const int64_t elements = entry->type.elements();
  check(entry->type.dtype == DType::f32 && first >= 0 && first <= elements &&
            static_cast<int64_t>(data.size()) <= elements - first,
        "tensor '{}' is {} {} in the store; {} floats don't fit behind the first {}", name, name_of(entry->type.dtype),
        entry->type.shape.to_string(), data.size(), first);
  write_elements(*entry, first, std::as_bytes(data));
}

namespace {

Value checked_input(const Graph& graph, const std::string& name, DType dtype, size_t elements) {
  const Value value = graph.find(name);
  const ValueInfo& info = graph.info(value);
  check(info.storage == Storage::input, "'{}' is not an input of the program", name);
  check(info.type.dtype == dtype && info.type.elements() == static_cast<int64_t>(elements),
        "input '{}' is {} {}; it was given {} elements of {}", name, name_of(info.type.dtype),
        info.type.shape.to_string(), elements, name_of(dtype));
  return value;
}

}  // namespace

void Program::write(const std::string& input, std::span<const float> data) {
  write_bytes(checked_input(graph_, input, DType::f32, data.size()), std::as_bytes(data));
}

void Program::write(const std::string& input, std::span<const int32_t> data) {
  write_bytes(checked_input(graph_, input, DType::i32, data.size()), std::as_bytes(data));
}

std::vector<float> Program::read(const std::string& output) const {
  const Value value = graph_.find(output);
  check(graph_.info(value).output, "'{}' is not an output of the program", output);
  std::vector<float> data(static_cast<size_t>(graph_.info(value).type.elements()));
  read_bytes(value, std::as_writable_bytes(std::span(data)));
  return data;
}

}  // namespace vkformer
