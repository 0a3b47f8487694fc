#include "models/training/average.h"

#include <algorithm>

#include "models/stacked_weights.h"
#include "runtime/files/safetensors.h"

namespace vkformer {

void average_weights(const std::vector<std::filesystem::path>& folders, const std::vector<ParameterSpec>& parameters,
                     const std::filesystem::path& path) {
  std::vector<std::unique_ptr<SafetensorsFile>> files;
  for (const auto& folder : folders) files.push_back(std::make_unique<SafetensorsFile>(folder / "model.safetensors"));
  std::vector<TensorSource> tensors;
  std::vector<double> sums;  // of one tensor at a time
  std::vector<float> values;
  for (const FileTensor& tensor : file_tensors(parameters)) {
    tensors.push_back(
        {.name = tensor.name, .dtype = FileDType::f32, .shape = tensor.shape, .data = [&, name = tensor.name] {
           const auto elements = static_cast<size_t>(files.front()->require(name).elements());
           sums.assign(elements, 0);
           values.resize(elements);
           for (const auto& file : files) {
             file->read_floats(file->require(name), values);
             for (size_t i = 0; i < elements; ++i) sums[i] += static_cast<double>(values[i]);
           }
           std::ranges::transform(sums, values.begin(), [&](double sum) {
             return static_cast<float>(sum / static_cast<double>(files.size()));
           });
           return std::as_bytes(std::span(values));
         }});
  }
  write_safetensors(path, std::move(tensors));
}

}  // namespace vkformer
