#include "models/weights.h"

#include <algorithm>
#include <cmath>

#include "runtime/check.h"
#include "runtime/files/safetensors.h"

namespace vkformer {
namespace {

/// Checkpoints of bare transformers leave out the "transformer." in front.
const TensorEntry* find_parameter(const SafetensorsFile& file, const std::string& name) {
  if (const TensorEntry* entry = file.find(name)) return entry;
  const size_t dot = name.find('.');
  return dot == std::string::npos ? nullptr : file.find(name.substr(dot + 1));
}

}  // namespace

std::vector<std::string> load_parameters(Store& store, const std::vector<ParameterSpec>& parameters,
                                         const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  std::string missing;
  std::vector<const TensorEntry*> entries;
  for (const ParameterSpec& parameter : parameters) {
    const TensorEntry* entry = find_parameter(file, parameter.name);
    entries.push_back(entry);
    if (!entry) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", parameter.name);
      continue;
    }
    check(Shape(entry->shape) == parameter.shape, "{}: tensor {} has shape {}, the config asks for {}", path.string(),
          entry->name, Shape(entry->shape).to_string(), parameter.shape.to_string());
  }
  check(missing.empty(), "{} lacks tensors that the config asks for: {}", path.string(), missing);
  std::vector<float> values;
  for (size_t i = 0; i < parameters.size(); ++i) {
    values.resize(static_cast<size_t>(parameters[i].shape.elements()));
    file.read_floats(*entries[i], values);
    store.write(parameters[i].name, values);
  }
  std::vector<std::string> extra;
  for (const TensorEntry& entry : file.tensors())
    if (std::find(entries.begin(), entries.end(), &entry) == entries.end()) extra.push_back(entry.name);
  return extra;
}

void save_parameters(const Store& store, const std::vector<ParameterSpec>& parameters,
                     const std::filesystem::path& path) {
  std::vector<TensorSource> tensors;
  std::vector<float> values;  // one tensor at a time
  for (const ParameterSpec& parameter : parameters) {
    const auto dimensions = parameter.shape.dimensions();
    tensors.push_back({.name = parameter.name,
                       .dtype = FileDType::f32,
                       .shape = {dimensions.begin(), dimensions.end()},
                       .data = [&store, &values, &parameter] {
                         values = store.read(parameter.name);
                         check(std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }),
                               "{} has values that are not finite: the training has diverged, so it is not saved; "
                               "lower --learning-rate",
                               parameter.name);
                         return std::as_bytes(std::span(values));
                       }});
  }
  write_safetensors(path, std::move(tensors));
}

}  // namespace vkformer
