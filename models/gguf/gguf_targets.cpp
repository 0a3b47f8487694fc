#include "models/gguf/gguf_targets.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "models/finite_weights.h"
#include "models/gguf/gguf_weights.h"
#include "runtime/check.h"
#include "runtime/encoding/encoding.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

bool is_dropped(const GgufArchitecture& architecture, const std::string& name) {
  return std::ranges::any_of(architecture.dropped, [&](std::string_view part) { return name.starts_with(part); });
}

std::vector<int64_t> shape_of(const ParameterSpec& parameter, RowOrder order) {
  const auto dimensions = parameter.shape.dimensions();
  std::vector<int64_t> shape(dimensions.begin(), dimensions.end());
  if (order == RowOrder::transposed) std::ranges::reverse(shape);
  if (order == RowOrder::turned_matrices) std::swap(shape[1], shape[2]);
  if (order == RowOrder::one_row) shape.erase(shape.begin());
  if (order == RowOrder::as_column) shape.push_back(1);
  if (const auto piece = piece_of(order)) {
    if (piece->by_turns)
      shape.erase(shape.begin() + 2);
    else
      shape.front() /= piece->count;
  }
  if ((order == RowOrder::value_channels || order == RowOrder::rows_of_matrices) && shape.size() > 1)
    shape.erase(shape.begin() + 1);
  return shape;
}

/// Moves the rows and columns of Hugging Face's tensor to where the file has them.
std::vector<float> arranged(const Target& target, const RowHeads& heads, std::vector<float> values) {
  const RowOrder order = target.row->order;
  std::vector<float> result;
  const bool matrix = target.tensor.shape.size() > 1;
  if ((order == RowOrder::transposed && matrix) || order == RowOrder::turned_matrices) {
    result.resize(values.size());
    const int64_t ins = target.tensor.shape.back(), outs = target.tensor.shape.end()[-2], size = outs * ins;
    for (int64_t i = 0; i < std::ssize(values) / size; ++i)
      for (int64_t out = 0; out < outs; ++out)
        for (int64_t in = 0; in < ins; ++in)
          result[static_cast<size_t>(i * size + out * ins + in)] =
              values[static_cast<size_t>(i * size + in * outs + out)];
  } else if (parts_of(order, heads) > 0) {
    result.resize(values.size());
    const int64_t rows = target.tensor.shape[0], columns = static_cast<int64_t>(values.size()) / rows;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t place = gguf_row(order, row, rows, heads) * columns;
      for (int64_t column = 0; column < columns;) {
        const ColumnRun run = gguf_columns(order, column, columns, heads);
        std::copy_n(values.begin() + row * columns + column, run.count, result.begin() + place + run.first);
        column += run.count;
      }
    }
  } else {
    result = std::move(values);
  }
  if (const auto piece = piece_of(order)) {
    const auto& shape = target.tensor.shape;
    const int64_t size = std::ssize(result) / piece->count;
    const int64_t run = piece->by_turns ? shape.end()[-1] * shape.end()[-2] : size;
    std::vector<float> own;
    for (int64_t at = piece->index * run; at < std::ssize(result); at += piece->count * run)
      own.insert(own.end(), result.begin() + at, result.begin() + at + run);
    result = std::move(own);
  }
  if (target.row->decay)
    for (float& value : result) value = static_cast<float>(-std::exp(static_cast<double>(value)));
  if (target.row->added != 0 && target.tensor.name.ends_with(".weight"))
    for (float& value : result) value += target.row->added;
  return result;
}

std::vector<std::byte> encoded(const std::string& name, DType type, const std::vector<float>& values) {
  const BlockFormat& format = format_of(type);
  std::vector<std::byte> bytes(values.size() / static_cast<size_t>(format.values) * static_cast<size_t>(format.bytes));
  naming_tensor(name, [&] { encode(type, values, bytes); });
  return bytes;
}

}  // namespace

Target target_of(NamedValues tensor) {
  return {.tensor = {.name = std::move(tensor.name), .shape = {std::ssize(tensor.values)}},
          .row = nullptr,
          .parts = {},
          .values = std::move(tensor.values)};
}

std::vector<Target> targets_of(const GgufArchitecture& architecture, const Model& model,
                               std::vector<std::string>& dropped) {
  std::vector<Target> targets;
  const std::vector<FileTensor> filed = file_tensors(model.parameters);
  std::set<std::string_view> names;
  for (const ParameterSpec& parameter : model.parameters) names.insert(parameter.name);
  const auto has = [&](std::string_view tensor) {
    const auto row = row_of_gguf(architecture, tensor, [](std::string_view) { return true; });
    return row && names.contains(row->in_hugging_face());
  };
  for (const ParameterSpec& parameter : model.parameters) {
    // A classifier of tokens has the same name as one of texts, for which alone there is a place.
    if (is_dropped(architecture, parameter.name) ||
        (model.task == Task::tag && parameter.name.starts_with("classifier"))) {
      dropped.push_back(parameter.name);
      continue;
    }
    auto named = row_of_hugging_face(architecture, parameter.name, has);
    const bool in_stack = !named && parameter.stack;  // the format has it among others, too
    if (in_stack) named = row_of_hugging_face(architecture, parameter.stack->tensor, has);
    const bool classifier = model.task == Task::classify || model.task == Task::score;
    check(named.has_value(), "GGUF files of architecture {} have no place for tensor {}{}", architecture.name,
          in_quotes(parameter.name, 120), classifier ? " of a classifier; convert it to a folder" : "");
    if (named->row->by_rank) {
      int64_t& number = named->numbers.front();
      number = model.config->at("vision_config").at("deepstack_visual_indexes").at(static_cast<size_t>(number));
    }
    std::string name = named->in_gguf();
    const auto known = std::ranges::find(targets, name, [](const Target& target) { return target.tensor.name; });
    if (in_stack) {
      const FileTensor& stack = *std::ranges::find(filed, parameter.stack->tensor, &FileTensor::name);
      if (known == targets.end())
        targets.push_back({.tensor = {.name = std::move(name), .shape = stack.shape},
                           .row = named->row,
                           .parts = {},
                           .values = {},
                           .stack = stack});
      continue;
    }
    if (named->row->order == RowOrder::experts) {
      const int64_t halves = named->row->second.empty() ? 1 : 2;
      const int64_t place = named->numbers.at(1) * halves + (named->second ? 1 : 0);
      check(place == (known == targets.end() ? 0 : std::ssize(known->parts)), "tensor {} is not the next expert's",
            in_quotes(parameter.name, 120));
      if (known != targets.end()) {
        known->parts.push_back(&parameter);
        if (!named->second) ++known->tensor.shape.front();
        continue;
      }
    }
    std::vector<int64_t> shape = shape_of(parameter, named->row->order);
    if (named->row->order == RowOrder::experts) {
      if (!named->row->second.empty()) shape.front() *= 2;
      shape.insert(shape.begin(), 1);
    }
    targets.push_back({.tensor = {.name = std::move(name), .shape = std::move(shape)},
                       .row = named->row,
                       .parts = {&parameter},
                       .values = {}});
    const auto piece = piece_of(named->row->order);
    if (!piece) continue;
    // The other pieces' rows stand behind the first one's.
    const TensorRow* const end = architecture.tensors.data() + architecture.tensors.size();
    for (int64_t i = 1; i < piece->count; ++i) {
      named->row = std::ranges::find_if(named->row + 1, end, [&](const TensorRow& other) {
        const auto another = piece_of(other.order);
        return other.hugging_face == named->row->hugging_face && another && another->index == i;
      });
      if (named->row->bare) named->ending = named->row->ending;
      Target other = targets.back();
      other.tensor.name = named->in_gguf();
      other.row = named->row;
      targets.push_back(std::move(other));
    }
  }
  return targets;
}

std::vector<GgufSource> sources_of(
    const std::vector<Target>& targets, const std::vector<DType>& types,
    const std::function<int64_t(std::string_view key, std::optional<int64_t> otherwise)>& setting,
    const std::function<std::vector<float>(const ParameterSpec&)>& read, const LoadProgress& progress) {
  struct Written {
    uint64_t values = 0;
    std::vector<std::byte> bytes = {};  ///< of one tensor at a time
  };
  const auto written = std::make_shared<Written>();
  std::vector<GgufSource> sources;
  for (size_t i = 0; i < targets.size(); ++i)
    sources.push_back({.name = targets[i].tensor.name,
                       .type = &gguf_type_of(types[i]),
                       .shape = targets[i].tensor.shape,
                       .data = [=, &now = targets[i], type = types[i]] {
                         std::vector<float> values = now.values;
                         if (now.stack) values = now.stack->values(read);
                         if (now.row) {
                           for (const ParameterSpec* part : now.parts) {
                             const std::vector<float> more = read(*part);
                             values.insert(values.end(), more.begin(), more.end());
                           }
                           values = arranged(now, heads_of(now.row->order, setting), std::move(values));
                         }
                         check_finite(now.tensor.name, values, type);
                         written->bytes = encoded(now.tensor.name, type, values);
                         if (progress) progress((written->values += values.size()) * sizeof(float));
                         return std::span<const std::byte>(written->bytes);
                       }});
  return sources;
}

}  // namespace vkformer
