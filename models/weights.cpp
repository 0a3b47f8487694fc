#include "models/weights.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

constexpr int64_t piece_elements = int64_t{1} << 20;  // as large as a store's staging buffer

/// LayerNorms in files that were once converted from TensorFlow ("bert-base-uncased") have gamma and beta.
std::string tensorflow_name(const std::string& name) {
  for (const auto& [ours, theirs] :
       {std::pair<std::string_view, std::string_view>{"LayerNorm.weight", "LayerNorm.gamma"},
        {"LayerNorm.bias", "LayerNorm.beta"}})
    if (name.ends_with(ours)) return name.substr(0, name.size() - ours.size()).append(theirs);
  return {};
}

/// A file's shape may be one that Shape refuses.
std::string shape_text(std::span<const int64_t> shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

bool same_shape(std::span<const int64_t> a, std::span<const int64_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

bool is_float(FileDType dtype) {
  return dtype == FileDType::f32 || dtype == FileDType::f16 || dtype == FileDType::bf16;
}

/// Gives the tensor's values piece by piece, from element `first` on.
template <class Visitor>
void visit_pieces(const WeightFiles::Tensor& tensor, std::vector<float>& values, Visitor&& visit) {
  const auto& [file, entry] = tensor;
  for (int64_t first = 0; first < entry->elements(); first += piece_elements) {
    const int64_t count = std::min(piece_elements, entry->elements() - first);
    values.resize(static_cast<size_t>(count));
    file->read_floats(*entry, first, values);
    file->release(*entry, first, count);
    visit(first);
  }
}

bool same_values(const WeightFiles::Tensor& a, const WeightFiles::Tensor& b) {
  if (!is_float(a.entry->dtype) || !is_float(b.entry->dtype) || a.entry->shape != b.entry->shape) return false;
  std::vector<float> values, others;
  bool same = true;
  visit_pieces(a, values, [&](int64_t first) {
    others.resize(values.size());
    b.file->read_floats(*b.entry, first, others);
    b.file->release(*b.entry, first, static_cast<int64_t>(others.size()));
    same = same && std::memcmp(values.data(), others.data(), values.size() * sizeof(float)) == 0;
  });
  return same;
}

/// Finds parameters in files, each tensor for one parameter at most.
class Finder {
 public:
  explicit Finder(const WeightFiles& files) : files_(files) {}

  const WeightFiles::Tensor* find(const ParameterSpec& parameter) {
    for (const std::string& name : names_of(parameter))
      if (const WeightFiles::Tensor* tensor = files_.find(name); tensor && used_.insert(tensor->entry).second)
        return tensor;
    return nullptr;
  }
  /// Another tensor that the names of a parameter found as `found` mean, and whose values differ; or nullptr.
  const WeightFiles::Tensor* unlike(const ParameterSpec& parameter, const WeightFiles::Tensor& found) const {
    if (parameter.other_names.empty() || !parameter.one_tensor) return nullptr;
    for (const std::string& name : names_of(parameter))
      if (const WeightFiles::Tensor* copy = files_.find(name); copy && !used(copy->entry) && !same_values(*copy, found))
        return copy;
    return nullptr;
  }
  bool used(const TensorEntry* entry) const { return used_.contains(entry); }

 private:
  static std::vector<std::string> names_of(const ParameterSpec& parameter) {
    std::vector<std::string> names = {parameter.name};
    names.insert(names.end(), parameter.other_names.begin(), parameter.other_names.end());
    for (size_t i = 0, full = names.size(); i < full; ++i)
      if (const size_t dot = names[i].find('.'); dot != std::string::npos) names.push_back(names[i].substr(dot + 1));
    for (size_t i = 0, current = names.size(); i < current; ++i)
      if (std::string old = tensorflow_name(names[i]); !old.empty()) names.push_back(std::move(old));
    return names;
  }

  const WeightFiles& files_;
  std::set<const TensorEntry*> used_;
};

}  // namespace

Weights::Weights(const std::vector<ParameterSpec>& parameters, const std::filesystem::path& path) : files_(path) {
  std::vector<std::string> missing, wrong;
  Finder finder(files_);
  for (const ParameterSpec& parameter : parameters) {
    if (parameter.adapter) continue;
    const WeightFiles::Tensor* tensor = parameter.anew ? nullptr : finder.find(parameter);
    if (!tensor) {
      const bool may_lack = parameter.optional || parameter.anew;
      (may_lack ? absent_ : missing).push_back(parameter.name);
      if (may_lack) places_.push_back({nullptr, parameter});
    } else if (!same_shape(tensor->entry->shape, parameter.shape.dimensions())) {
      wrong.push_back(fmt::format("tensor {} has shape {}, the config asks for {}", in_quotes(tensor->entry->name, 120),
                                  shape_text(tensor->entry->shape), parameter.shape.to_string()));
    } else if (!is_float(tensor->entry->dtype)) {
      wrong.push_back(fmt::format("tensor {} is {}, not F32, F16 or BF16", in_quotes(tensor->entry->name, 120),
                                  name_of(tensor->entry->dtype)));
    } else {
      places_.push_back({tensor, parameter});
    }
  }
  for (const Place& place : places_)
    if (const WeightFiles::Tensor* copy = place.tensor ? finder.unlike(place.parameter, *place.tensor) : nullptr)
      wrong.push_back(fmt::format("tensors {} and {} differ, for the config they are one",
                                  in_quotes(place.tensor->entry->name, 120), in_quotes(copy->entry->name, 120)));
  if (!missing.empty())
    wrong.insert(wrong.begin(), fmt::format("lacks {} tensor{} that the config asks for: {}", missing.size(),
                                            missing.size() == 1 ? "" : "s", fmt::join(missing, ", ")));
  check(wrong.empty(), "{}: {}", files_.name(), fmt::join(wrong, "; "));
  std::sort(places_.begin(), places_.end(),
            [](const Place& a, const Place& b) { return std::less<>()(a.tensor, b.tensor); });
  for (const WeightFiles::Tensor& tensor : files_.tensors())
    if (!finder.used(tensor.entry)) extra_.push_back(tensor.entry->name);
}

void Weights::load(Store& store, const LoadProgress& progress) const {
  uint64_t done = 0;
  std::vector<float> values;
  for (const auto& [tensor, parameter] : places_) {
    if (!tensor) {
      store.write(parameter.name, start_values(parameter, 0));
      continue;
    }
    visit_pieces(*tensor, values, [&, name = parameter.name, entry = tensor->entry](int64_t first) {
      store.write_part(name, first, values);
      done += values.size() * static_cast<uint64_t>(size_of(entry->dtype));
      if (progress) progress(done);
    });
  }
}

void Weights::save(const std::filesystem::path& path, const LoadProgress& progress, const Change& change) const {
  uint64_t done = 0;
  std::vector<TensorSource> tensors;
  std::vector<float> values, piece;  // of one tensor at a time
  for (const Place& place : places_) {
    const auto dimensions = place.parameter.shape.dimensions();
    tensors.push_back({.name = place.parameter.name,
                       .dtype = FileDType::f32,
                       .shape = {dimensions.begin(), dimensions.end()},
                       .data = [&] {
                         if (!place.tensor) {
                           values = start_values(place.parameter, 0);
                         } else {
                           values.resize(static_cast<size_t>(place.parameter.shape.elements()));
                           visit_pieces(*place.tensor, piece, [&](int64_t first) {
                             std::copy(piece.begin(), piece.end(), values.begin() + first);
                           });
                           done += place.tensor->entry->bytes.size();
                           if (progress) progress(done);
                         }
                         if (change) change(place.parameter, values);
                         return std::as_bytes(std::span(values));
                       }});
  }
  write_safetensors(path, std::move(tensors));
}

std::vector<std::string> load_parameters(Store& store, const std::vector<ParameterSpec>& parameters,
                                         const std::filesystem::path& path, const LoadProgress& progress) {
  const Weights weights(parameters, path);
  weights.load(store, progress);
  return weights.extra();
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
