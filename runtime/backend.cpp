#include "runtime/backend.h"

#include "runtime/check.h"
#include "runtime/encoding/encoding.h"
#include "runtime/encoding/planes.h"
#include "runtime/half.h"

namespace vkformer {

namespace {

/// Calls use(bytes) with the floats as elements of the tensor's type, of blocks whole rows.
template <class Use>
void with_elements(const TensorType& type, std::span<const float> data, Use&& use) {
  const DType dtype = type.dtype;
  if (is_blocks(dtype)) return use(std::span<const std::byte>(encode_rows(dtype, type.shape.columns(), data)));
  if (!is_half(dtype)) return use(std::as_bytes(data));
  std::vector<uint16_t> halves(data.size());
  for (size_t i = 0; i < data.size(); ++i) halves[i] = to_half(dtype, data[i]);
  use(std::as_bytes(std::span(halves)));
}

/// fill(bytes) writes elements of that type, which arrive in `data` as floats; integers keep their bits.
template <class Fill>
void read_floats(const TensorType& type, std::span<float> data, Fill&& fill) {
  const DType dtype = type.dtype;
  if (is_blocks(dtype)) {
    std::vector<std::byte> rows(static_cast<size_t>(type.bytes()));
    fill(std::span<std::byte>(rows));
    return decode_rows(dtype, type.shape.columns(), rows, data);
  }
  if (!is_half(dtype)) return fill(std::as_writable_bytes(data));
  std::vector<uint16_t> halves(data.size());
  fill(std::as_writable_bytes(std::span(halves)));
  for (size_t i = 0; i < data.size(); ++i) data[i] = from_half(dtype, halves[i]);
}

/// The rows as they lie on a device.
std::vector<std::byte> laid_out(const TensorType& type, std::span<const std::byte> blocks) {
  const int64_t columns = type.shape.columns();
  const int64_t rows = static_cast<int64_t>(blocks.size()) / encoded_bytes(type.dtype, columns);
  std::vector<std::byte> planes(static_cast<size_t>(rows * row_bytes(type.dtype, columns)));
  to_planes(type.dtype, columns, blocks, planes);
  return planes;
}

/// The type in which a tensor of the store takes floats.
DType type_for_floats(const StoreLayout::Entry* entry) {
  return entry && entry->type.dtype != DType::i32 ? entry->type.dtype : DType::f32;
}

}  // namespace

std::vector<float> Store::read(const std::string& name) const {
  const StoreLayout::Entry* entry = layout().find(name);
  check(entry != nullptr, "the store has no tensor '{}'", name);
  std::vector<float> data(static_cast<size_t>(entry->type.elements()));
  read(name, data);
  return data;
}

void Store::read(const std::string& name, std::span<float> data) const {
  const StoreLayout::Entry* entry = layout().find(name);
  const auto& known = layout().require(name, {Shape{static_cast<int64_t>(data.size())}, type_for_floats(entry)});
  read_floats(known.type, data, [&](std::span<std::byte> bytes) { read_elements(known, bytes); });
}

void Store::write(const std::string& name, std::span<const float> data) {
  const StoreLayout::Entry* entry = layout().find(name);
  const auto& known = layout().require(name, {Shape{static_cast<int64_t>(data.size())}, type_for_floats(entry)});
  with_elements(known.type, data, [&](std::span<const std::byte> bytes) { write_elements(known, 0, bytes); });
}

void Store::write(const std::string& name, std::span<const int32_t> data) {
  write_elements(layout().require(name, {Shape{static_cast<int64_t>(data.size())}, DType::i32}), 0,
                 std::as_bytes(data));
}

void Store::write_part(const std::string& name, int64_t first, std::span<const float> data) {
  const StoreLayout::Entry* entry = layout().find(name);
  check(entry != nullptr, "the store has no tensor '{}'", name);
  const int64_t elements = entry->type.elements();
  check(entry->type.dtype != DType::i32 && first >= 0 && first <= elements &&
            static_cast<int64_t>(data.size()) <= elements - first,
        "tensor '{}' is {} {} in the store; {} floats don't fit behind the first {}", name, name_of(entry->type.dtype),
        entry->type.shape.to_string(), data.size(), first);
  const int64_t columns = entry->type.shape.columns();
  check(!is_blocks(entry->type.dtype) || (first % columns == 0 && static_cast<int64_t>(data.size()) % columns == 0),
        "tensor '{}' {} is blocks; {} floats behind the first {} are no whole rows", name,
        entry->type.shape.to_string(), data.size(), first);
  with_elements(entry->type, data, [&](std::span<const std::byte> bytes) { write_elements(*entry, first, bytes); });
}

void Store::write_stored(const std::string& name, int64_t first, std::span<const std::byte> stored) {
  const StoreLayout::Entry* entry = layout().find(name);
  check(entry != nullptr, "the store has no tensor '{}'", name);
  const TensorType& type = entry->type;
  const int64_t grain = is_blocks(type.dtype) ? type.shape.columns() : 1, bytes = encoded_bytes(type.dtype, grain);
  const auto size = static_cast<int64_t>(stored.size());
  check(first >= 0 && first <= type.elements() && first % grain == 0 && size % bytes == 0 &&
            size / bytes <= (type.elements() - first) / grain,
        "tensor '{}' is {} {} in the store; {} bytes don't fit behind the first {} elements", name, name_of(type.dtype),
        type.shape.to_string(), size, first);
  if (is_blocks(type.dtype))
    write_elements(*entry, first, laid_out(type, stored));
  else
    write_elements(*entry, first, stored);
}

namespace {

Value checked_input(const Graph& graph, const std::string& name, DType dtype, size_t elements) {
  const Value value = graph.find(name);
  const ValueInfo& info = graph.info(value);
  check(info.storage == Storage::input, "'{}' is not an input of the program", name);
  const bool fits = info.type.dtype == dtype || (dtype == DType::f32 && info.type.dtype != DType::i32);
  check(fits && info.type.elements() == static_cast<int64_t>(elements),
        "input '{}' is {} {}; it was given {} elements of {}", name, name_of(info.type.dtype),
        info.type.shape.to_string(), elements, name_of(dtype));
  return value;
}

}  // namespace

void Program::write(const std::string& input, std::span<const float> data) {
  const Value value = checked_input(graph_, input, DType::f32, data.size());
  with_elements(graph_.info(value).type, data, [&](std::span<const std::byte> bytes) { write_bytes(value, bytes); });
}

void Program::write_blocks(const std::string& input, std::span<const std::byte> blocks) {
  const Value value = graph_.find(input);
  const TensorType& type = graph_.info(value).type;
  check(graph_.info(value).storage == Storage::input && is_blocks(type.dtype) &&
            encoded_bytes(type.dtype, type.elements()) == static_cast<int64_t>(blocks.size()),
        "'{}' is {} {}; {} bytes of blocks don't fit", input, name_of(type.dtype), type.shape.to_string(),
        blocks.size());
  write_bytes(value, laid_out(type, blocks));
}

void Program::write(const std::string& input, std::span<const int32_t> data) {
  write_bytes(checked_input(graph_, input, DType::i32, data.size()), std::as_bytes(data));
}

void Program::take_input(const std::string& input, Program& from, const std::string& output) {
  const Value target = graph_.find(input), source = from.graph_.find(output);
  const ValueInfo &taken = graph_.info(target), &given = from.graph_.info(source);
  check(taken.storage == Storage::input && given.output && taken.type.dtype == given.type.dtype &&
            taken.type.elements() <= given.type.elements(),
        "input '{}', {} {}, can't be taken from '{}', {} {}", input, name_of(taken.type.dtype),
        taken.type.shape.to_string(), output, name_of(given.type.dtype), given.type.shape.to_string());
  take_bytes(target, from, source);
}

void Program::take_bytes(Value input, Program&, Value) {
  fail("input '{}' of this program can't be another's output", graph_.info(input).name);
}

std::vector<int32_t> Program::read_ints(const std::string& output) const {
  const Value value = graph_.find(output);
  const ValueInfo& info = graph_.info(value);
  check(info.output && info.type.dtype == DType::i32, "'{}' is not an i32 output of the program", output);
  std::vector<int32_t> data(static_cast<size_t>(info.type.elements()));
  read_bytes(value, std::as_writable_bytes(std::span(data)));
  return data;
}

std::vector<float> Program::read(const std::string& output) const {
  const Value value = graph_.find(output);
  const ValueInfo& info = graph_.info(value);
  check(info.output, "'{}' is not an output of the program", output);
  std::vector<float> data(static_cast<size_t>(info.type.elements()));
  read_floats(info.type, data, [&](std::span<std::byte> bytes) { read_bytes(value, bytes); });
  return data;
}

void Backend::check_one_device(std::string_view what) const {
  check(parts().empty(), "{} takes one device; {} are several", what, facts().name);
}

void Backend::make_pipeline(const std::string& name, std::span<const uint32_t>) {
  fail("{} makes no pipelines, so none of {}", facts().name, name);
}

ProgramImage Backend::image(const Graph&, const PlanOptions&) { fail("{} records no commands", facts().name); }

}  // namespace vkformer
