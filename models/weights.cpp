#include "models/weights.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "models/finite_weights.h"
#include "models/model_files.h"
#include "models/stacked_weights.h"
#include "runtime/check.h"
#include "runtime/files/safetensors.h"
#include "runtime/files/utf8.h"
#include "runtime/half.h"

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

/// The first of them, and how many more there are: an error is one line, whatever the model.
std::string listed(const std::vector<std::string>& all, std::string_view separator, size_t most) {
  const size_t shown = std::min(all.size(), most);
  return fmt::format("{}{}", fmt::join(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), separator),
                     shown < all.size() ? fmt::format("{}and {} more", separator, all.size() - shown) : "");
}

/// Unless it is the last one: all parts of a stack fail alike.
void add_once(std::vector<std::string>& list, std::string text) {
  if (list.empty() || list.back() != text) list.push_back(std::move(text));
}

bool same_shape(std::span<const int64_t> a, std::span<const int64_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

/// Gives the tensor's values piece by piece, from element `first` on. Pieces are multiples of `grain` elements.
template <class Visitor>
void visit_pieces(const WeightTensor& tensor, std::vector<float>& values, Visitor&& visit, int64_t grain = 1) {
  const int64_t piece = std::max(piece_elements / grain, int64_t{1}) * grain;
  for (int64_t first = 0; first < tensor.elements(); first += piece) {
    const int64_t count = std::min(piece, tensor.elements() - first);
    values.resize(static_cast<size_t>(count));
    tensor.read_floats(first, values);
    tensor.release(first, count);
    visit(first);
  }
}

/// Gives the transposed matrix's values piece by piece, whole rows of it from element `first` on.
template <class Visitor>
void visit_columns(const WeightTensor& tensor, const Shape& shape, std::vector<float>& values, Visitor&& visit) {
  const int64_t height = shape[0], width = shape[1], piece = std::max(piece_elements / height, int64_t{1});
  for (int64_t column = 0; column < width; column += piece) {
    values.resize(static_cast<size_t>(std::min(piece, width - column) * height));
    tensor.read_columns(column, values);
    tensor.release(0, tensor.elements());
    visit(column * height);
  }
}

/// Gives the tensor's elements as the file has them piece by piece, from element `first` on; of blocks whole rows.
template <class Visitor>
void visit_stored(const WeightTensor& tensor, const TensorType& stored, Visitor&& visit) {
  const BlockFormat& format = format_of(stored.dtype);
  const int64_t grain = is_blocks(stored.dtype) ? stored.shape.columns() : 1;
  const int64_t piece = std::max(piece_elements / grain, int64_t{1}) * grain;
  std::vector<std::byte> bytes;
  for (int64_t first = 0; first < tensor.elements(); first += piece) {
    const int64_t count = std::min(piece, tensor.elements() - first);
    bytes.resize(static_cast<size_t>(count / format.values * format.bytes));
    tensor.read_stored(first, bytes);
    tensor.release(first, count);
    visit(first, count, bytes);
  }
}

bool same_values(const WeightTensor& a, const WeightTensor& b) {
  if (!a.is_float() || !b.is_float() || !same_shape(a.shape(), b.shape())) return false;
  std::vector<float> values, others;
  bool same = true;
  visit_pieces(a, values, [&](int64_t first) {
    others.resize(values.size());
    b.read_floats(first, others);
    b.release(first, static_cast<int64_t>(others.size()));
    same = same && std::memcmp(values.data(), others.data(), values.size() * sizeof(float)) == 0;
  });
  return same;
}

/// Finds parameters in files, each tensor for one parameter at most.
class Finder {
 public:
  explicit Finder(const WeightSource& files) : files_(files) {}

  const WeightTensor* find(const ParameterSpec& parameter) {
    for (const std::string& name : names_of(parameter))
      if (const WeightTensor* tensor = files_.find(name); tensor && used_.insert(tensor).second) return tensor;
    return nullptr;
  }
  /// The same for a part of a stack, a tensor of all parts.
  std::optional<StackedWeight> find_in_stack(const ParameterSpec& parameter) {
    for (const std::string& name : names_of({.name = parameter.stack->tensor, .shape = {}}))
      if (auto found = vkformer::find_in_stack(files_, parameter, name)) {
        used_.insert(found->tensors.begin(), found->tensors.end());
        return found;
      }
    return std::nullopt;
  }
  /// Another tensor that the names of a parameter found as `found` mean, and whose values differ; or nullptr.
  const WeightTensor* unlike(const ParameterSpec& parameter, const WeightTensor& found) const {
    if (parameter.other_names.empty() || !parameter.one_tensor) return nullptr;
    for (const std::string& name : names_of(parameter))
      if (const WeightTensor* copy = files_.find(name); copy && !used(copy) && !same_values(*copy, found)) return copy;
    return nullptr;
  }
  bool used(const WeightTensor* tensor) const { return used_.contains(tensor); }

 private:
  static std::vector<std::string> names_of(const ParameterSpec& parameter) {
    std::vector<std::string> names = {parameter.name};
    names.insert(names.end(), parameter.other_names.begin(), parameter.other_names.end());
    for (size_t i = 0, full = names.size(); i < full; ++i)
      if (const size_t dot = names[i].find('.'); dot != std::string::npos) names.push_back(names[i].substr(dot + 1));
    // The text part of a model that also sees.
    for (size_t i = 0, full = names.size(); i < full; ++i) {
      names.push_back("language_model." + names[i]);
      if (!names[i].starts_with("model.")) continue;
      for (const char* part : {"model.language_model", "model.text_model"}) names.push_back(part + names[i].substr(5));
    }
    for (size_t i = 0, current = names.size(); i < current; ++i)
      if (std::string old = tensorflow_name(names[i]); !old.empty()) names.push_back(std::move(old));
    return names;
  }

  const WeightSource& files_;
  std::set<const WeightTensor*> used_;
};

}  // namespace

Weights::Weights(const std::vector<ParameterSpec>& parameters, const std::filesystem::path& path)
    : files_(open_weights(path)) {
  std::vector<std::string> missing, wrong;
  std::map<std::string_view, const WeightTensor*> unknown_types;  // and the first tensor of each
  Finder finder(*files_);
  for (const ParameterSpec& parameter : parameters) {
    if (parameter.adapter) {
      places_.push_back({nullptr, parameter});
      continue;
    }
    const WeightTensor* tensor = parameter.anew ? nullptr : finder.find(parameter);
    size_t index = tensor ? tensor->index() : 0;
    if (!tensor && parameter.stack) try {
        if (auto found = finder.find_in_stack(parameter)) {
          tensor = parts_.emplace_back(std::move(found->weight)).get();
          index = found->tensors.front()->index();
        }
      } catch (const Error& error) {
        add_once(wrong, error.what());
        continue;
      }
    if (!tensor) {
      const bool may_lack = parameter.optional || parameter.anew;
      add_once(may_lack ? absent_ : missing,
               parameter.stack && !is_gguf(path) ? parameter.stack->tensor : parameter.name);
      if (may_lack) places_.push_back({nullptr, parameter});
    } else if (!same_shape(tensor->shape(), parameter.shape.dimensions())) {
      wrong.push_back(fmt::format("tensor {} has shape {}, the config asks for {}", in_quotes(tensor->name(), 120),
                                  shape_text(tensor->shape()), parameter.shape.to_string()));
    } else if (!tensor->is_float()) {
      unknown_types.emplace(tensor->type(), tensor);
    } else {
      places_.push_back({tensor, parameter, index});
    }
  }
  for (const Place& place : places_)
    if (const WeightTensor* copy = place.tensor ? finder.unlike(place.parameter, *place.tensor) : nullptr)
      wrong.push_back(fmt::format("tensors {} and {} differ, for the config they are one (tie_word_embeddings)",
                                  in_quotes(place.tensor->name(), 120), in_quotes(copy->name(), 120)));
  for (const auto& [type, tensor] : unknown_types)
    wrong.push_back(fmt::format("{} is no type of weights that is supported (tensor {}{})", type,
                                in_quotes(tensor->name(), 120),
                                is_gguf(path) ? "; take a file of Q2_K to Q8_0, IQ4_NL, IQ4_XS or MXFP4" : ""));
  if (!missing.empty())
    wrong.insert(wrong.begin(), fmt::format("lacks {} tensor{} that the config asks for: {}", missing.size(),
                                            missing.size() == 1 ? "" : "s", listed(missing, ", ", 8)));
  check(wrong.empty(), "{}: {}", files_->name(), listed(wrong, "; ", 4));
  std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
    return a.tensor && b.tensor ? a.index < b.index : !a.tensor && b.tensor;
  });
  for (const Place& place : places_) by_name_.emplace(place.parameter.name, &place);
  for (const auto& tensor : files_->tensors())
    if (!finder.used(tensor.get())) extra_.push_back(tensor->name());
}

void Weights::share_with(const Weights& other) {
  const std::set<std::string_view> also(other.extra_.begin(), other.extra_.end());
  std::erase_if(extra_, [&](const std::string& tensor) { return !also.contains(tensor); });
}

void Weights::load(Store& store, const LoadProgress& progress) const {
  uint64_t done = 0;
  std::vector<float> values;
  for (const auto& [tensor, parameter, index] : places_) {
    if (!tensor) {
      if (!parameter.adapter) initialize(store, {parameter}, 0);
      continue;
    }
    const auto report = [&, stored = tensor](int64_t values_done) {
      const double share = static_cast<double>(values_done) / static_cast<double>(stored->elements());
      if (progress) progress(done + static_cast<uint64_t>(share * static_cast<double>(stored->bytes())));
    };
    const auto write = [&, name = parameter.name, dtype = parameter.dtype](int64_t first) {
      if (is_half(dtype)) check_finite(name, values, dtype);
      if (is_blocks(dtype))
        naming_tensor(name, [&] { store.write_part(name, first, values); });
      else
        store.write_part(name, first, values);
      report(first + std::ssize(values));
    };
    if (tensor->stored(parameter.turned) == parameter.dtype)
      visit_stored(*tensor, parameter.stored(),
                   [&, name = parameter.name](int64_t first, int64_t count, std::span<const std::byte> bytes) {
                     store.write_stored(name, first, bytes);
                     report(first + count);
                   });
    else if (parameter.turned)
      visit_columns(*tensor, parameter.shape, values, write);
    else
      visit_pieces(*tensor, values, write, is_blocks(parameter.dtype) ? parameter.shape.columns() : 1);
    done += tensor->bytes();
  }
}

std::vector<float> Weights::read(const Place& place) {
  if (!place.tensor) return start_values(place.parameter, 0);
  std::vector<float> values(static_cast<size_t>(place.parameter.shape.elements())), piece;
  visit_pieces(*place.tensor, piece,
               [&](int64_t first) { std::copy(piece.begin(), piece.end(), values.begin() + first); });
  return values;
}

const Weights::Place& Weights::place_of(std::string_view parameter) const {
  const auto place = by_name_.find(parameter);
  check(place != by_name_.end(), "{}: the model has no parameter {}", files_->name(), in_quotes(parameter, 120));
  return *place->second;
}

std::vector<float> Weights::read(std::string_view parameter) const { return read(place_of(parameter)); }

DType Weights::stored_type(std::string_view parameter, bool turned) const {
  const WeightTensor* tensor = place_of(parameter).tensor;
  if (!tensor) return DType::f32;
  if (const auto stored = tensor->stored(turned)) return *stored;
  // Blocks whose values lie in another order than the parameter's, too.
  const std::string_view type = tensor->type();
  if (type == "F16" || type.starts_with("Q") || type.starts_with("IQ")) return DType::f16;
  return type == "BF16" ? DType::bf16 : DType::f32;
}

void Weights::save(const std::filesystem::path& path, const LoadProgress& progress, const Change& change,
                   FileDType dtype) const {
  uint64_t done = 0;
  const DType rounded = dtype == FileDType::f16 ? DType::f16 : dtype == FileDType::bf16 ? DType::bf16 : DType::f32;
  // What is never trained is small and may not bear rounding: a bias of 10 by which experts are chosen, of which
  // hundredths tell one from another.
  const auto type_of = [rounded](const ParameterSpec& parameter) {
    return parameter.training == ParameterSpec::Training::never ? DType::f32 : rounded;
  };
  std::vector<const ParameterSpec*> parameters;
  for (const Place& place : places_) parameters.push_back(&place.parameter);
  const auto values_of = [&](const ParameterSpec& parameter) {
    const Place& place = place_of(parameter.name);
    std::vector<float> values = read(place);
    if (place.tensor) done += place.tensor->bytes();
    if (progress) progress(done);
    if (change) change(parameter, values);
    check_finite(parameter.name, values, type_of(parameter));
    return values;
  };
  std::vector<TensorSource> tensors;
  std::vector<float> values;     // of one tensor at a time
  std::vector<uint16_t> halves;  // the same in 16 bits
  for (FileTensor& file : file_tensors(parameters)) {
    const DType type = type_of(*file.parts.front());
    const FileDType filed = type == DType::f32 ? FileDType::f32 : dtype;
    tensors.push_back(
        {.name = file.name, .dtype = filed, .shape = file.shape, .data = [&, type, tensor = std::move(file)] {
           values = tensor.values(values_of);
           if (type == DType::f32) return std::as_bytes(std::span(values));
           halves.resize(values.size());
           std::ranges::transform(values, halves.begin(), [type](float value) { return to_half(type, value); });
           return std::as_bytes(std::span(halves));
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
  const auto values_of = [&store](const ParameterSpec& parameter) {
    std::vector<float> values = store.read(parameter.name);
    check(std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }),
          "{} has values that are not finite: the training has diverged, so it is not saved; lower --learning-rate",
          parameter.name);
    return values;
  };
  std::vector<TensorSource> tensors;
  std::vector<float> values;  // one tensor at a time
  for (FileTensor& file : file_tensors(parameters))
    tensors.push_back(
        {.name = file.name, .dtype = FileDType::f32, .shape = file.shape, .data = [&, tensor = std::move(file)] {
           values = tensor.values(values_of);
           return std::as_bytes(std::span(values));
         }});
  write_safetensors(path, std::move(tensors));
}

}  // namespace vkformer
