#include "models/gguf/gguf_export.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "models/embedding/recipe.h"
#include "models/finite_weights.h"
#include "models/gguf/architectures.h"
#include "models/gguf/gguf_config.h"
#include "models/gguf/gguf_generation.h"
#include "models/gguf/gguf_tokenizer.h"
#include "models/gguf/gguf_weights.h"
#include "models/gguf/row_orders.h"
#include "models/model_files.h"
#include "models/stacked_weights.h"
#include "runtime/check.h"
#include "runtime/encoding/encoding.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

using nlohmann::json;

/// A tensor to be written and what it is made of.
struct Target {
  Mixture::Tensor tensor;
  const TensorRow* row = nullptr;  ///< nullptr: `values` are all there is
  std::vector<const ParameterSpec*> parts;
  std::vector<float> values;
  std::optional<FileTensor> stack = {};  ///< the parts lie in it as in Hugging Face's files
};

bool is_dropped(const GgufArchitecture& architecture, const std::string& name) {
  return std::ranges::any_of(architecture.dropped, [&](std::string_view part) { return name.starts_with(part); });
}

/// What becomes of the hidden states: an encoder's file always says it, a decoder's where it makes embeddings.
void add_pooling(GgufPairs& pairs, const GgufArchitecture& architecture, const Model& model,
                 const std::filesystem::path& folder) {
  constexpr uint32_t none = 0, by_classifier = 4;
  const std::string key = std::string(architecture.name) + ".pooling_type";
  if (model.task == Task::classify || model.task == Task::score) return pairs.add_integer(key, by_classifier);
  const EmbeddingRecipe recipe = embedding_recipe(folder);
  check(recipe.dense.empty(), "{}: GGUF files have no place for its Dense layers; convert it to a folder",
        folder.generic_string());
  if (recipe.said)
    pairs.add_integer(key, gguf_number(recipe.pooling));
  else if (!model.generates())
    pairs.add_integer(key, none);
}

bool is_half(RowOrder order) { return order == RowOrder::first_half || order == RowOrder::second_half; }

std::vector<int64_t> shape_of(const ParameterSpec& parameter, RowOrder order) {
  const auto dimensions = parameter.shape.dimensions();
  std::vector<int64_t> shape(dimensions.begin(), dimensions.end());
  if (order == RowOrder::transposed) std::ranges::reverse(shape);
  if (order == RowOrder::turned_matrices) std::swap(shape[1], shape[2]);
  if (order == RowOrder::one_row) shape.erase(shape.begin());
  if (order == RowOrder::as_column) shape.push_back(1);
  if (is_half(order)) shape.front() /= 2;
  if ((order == RowOrder::value_channels || order == RowOrder::rows_of_matrices) && shape.size() > 1)
    shape.erase(shape.begin() + 1);
  return shape;
}

/// The file's tensors, in the order of the model's. Appends those without a place to `dropped`.
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
    if (named->row->order != RowOrder::first_half) continue;
    named->row = std::ranges::find_if(
        named->row, architecture.tensors.data() + architecture.tensors.size(), [&](const TensorRow& other) {
          return other.hugging_face == named->row->hugging_face && other.order == RowOrder::second_half;
        });
    Target second = targets.back();
    second.tensor.name = named->in_gguf();
    second.row = named->row;
    targets.push_back(std::move(second));
  }
  for (NamedValues& tensor : rotary_tensors(*model.config))
    targets.push_back({.tensor = {.name = tensor.name, .shape = {std::ssize(tensor.values)}},
                       .row = nullptr,
                       .parts = {},
                       .values = std::move(tensor.values)});
  return targets;
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
  if (is_half(order)) {
    const auto middle = result.begin() + std::ssize(result) / 2;
    order == RowOrder::first_half ? result.erase(middle, result.end()) : result.erase(result.begin(), middle);
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

/// What a config says under the name that it has for a key of the file.
std::optional<int64_t> setting_in(const json& config, const GgufArchitecture& architecture, std::string_view key) {
  for (const KeyRow& row : architecture.keys) {
    if (row.gguf != key) continue;
    if (const auto value = config.find(row.hugging_face); value != config.end() && value->is_number())
      return value->get<int64_t>();
  }
  return std::nullopt;
}

/// In files that list the heads of layers the first has none: what llama-quantize looks at.
bool starts_without_heads(const json& config) {
  for (const char* key : {"layer_types", "layers_block_type"})
    if (const auto types = config.find(key); types != config.end() && types->is_array() && !types->empty())
      for (const char* other : {"mamba", "conv", "moe", "mlp"})
        if (types->front() == other) return true;
  return false;
}

/// The config as files have it. A Granite 4 without state spaces is a plain Granite there, and llama.cpp runs it as
/// nothing else; a Nemotron-H with experts has a name of its own.
json config_of_file(const Model& model) {
  json config = *model.config;
  if (model.family == "nemotron_h" && std::ranges::count(config.at("layers_block_type"), json("moe")) > 0)
    config["model_type"] = "nemotron_h_moe";
  if (model.family != "granitemoehybrid" || std::ranges::count(config.at("layer_types"), json("mamba")) > 0)
    return config;
  check(config.at("num_local_experts") == 0 && config.at("position_embedding_type") == "rope",
        "a GGUF file can't say a granitemoehybrid without state spaces that has experts, or no positions");
  config.update({{"model_type", "granite"}, {"intermediate_size", config.at("shared_intermediate_size")}});
  return config;
}

/// A folder's name, or what a GGUF file calls itself.
std::string name_of_model(const std::filesystem::path& model) {
  if (!is_gguf(model)) return model.filename().generic_string();
  const GgufShards shards(model);
  const GgufMetadata& metadata = shards.metadata();
  return metadata.has("general.name") ? std::string(metadata.text("general.name")) : model.stem().generic_string();
}

}  // namespace

GgufLosses write_model_as_gguf(const std::filesystem::path& file, const Model& model, const Weights& weights,
                               const std::filesystem::path& folder, const Mixture& mixture,
                               const LoadProgress& progress, const Weights::Change& change) {
  const json config = config_of_file(model);
  const GgufArchitecture* architecture = architecture_of_model(config.at("model_type").get<std::string>());
  check(model.family != "gemma3_text" || model.generates(),
        "GGUF files of gemma3_text with use_bidirectional_attention are not supported");
  check(architecture != nullptr, "GGUF files of {} are not supported; vkformer writes: {}", model.family,
        known_architectures());
  GgufLosses losses;
  std::vector<Target> targets = targets_of(*architecture, model, losses.left_out);
  const auto setting = [&](std::string_view key, std::optional<int64_t> otherwise) {
    const std::optional<int64_t> said = setting_in(config, *architecture, key);
    return said ? *said : otherwise.value();
  };
  const int64_t heads = setting("attention.head_count", {});
  const int64_t kv_heads = setting("attention.head_count_kv", config.value("num_key_value_heads", heads));
  const auto setting_of_rows = [&](std::string_view key, std::optional<int64_t> otherwise) {
    return key == "attention.head_count_kv" ? kv_heads : setting(key, otherwise);
  };
  std::vector<Mixture::Tensor> tensors;
  for (Target& target : targets) {
    std::vector<int64_t>& shape = target.tensor.shape;
    if (target.row && target.row->order == RowOrder::as_rows) {
      const int64_t groups = setting("ssm.group_count", {});
      shape = {groups, shape[0] / groups};
    }
    tensors.push_back(target.tensor);
  }
  const std::vector<DType> types =
      mixture.types_of(tensors,
                       {.layers = setting("block_count", {}),
                        .queries_per_key = starts_without_heads(config) ? 1 : heads / kv_heads,
                        .experts = setting("expert_count", 0),
                        .falcon = architecture->name == "falcon"},
                       &losses.fallbacks);

  GgufPairs pairs;
  pairs.add_text("general.architecture", architecture->name);
  pairs.add_text("general.name", name_of_model(folder));
  pairs.add_integer("general.file_type", mixture.file_type());
  if (mixture.has_blocks()) pairs.add_integer("general.quantization_version", 2);
  add_config(pairs, *architecture, config);
  add_pooling(pairs, *architecture, model, folder);
  add_tokenizer(pairs, folder, config, model.vocabulary);
  if (has_model_json(folder, generation_file)) add_sampling(pairs, load_model_json(folder, generation_file));

  const auto read = [&](const ParameterSpec& part) {
    std::vector<float> values = weights.read(part.name);
    if (change) change(part, values);
    return values;
  };
  uint64_t done = 0;
  std::vector<std::byte> bytes;  // of one tensor at a time
  std::vector<GgufSource> sources;
  for (size_t i = 0; i < targets.size(); ++i) {
    const Target& target = targets[i];
    sources.push_back(
        {.name = target.tensor.name, .type = &gguf_type_of(types[i]), .shape = target.tensor.shape, .data = [&, i] {
           const Target& now = targets[i];
           std::vector<float> values = now.values;
           if (now.stack) values = now.stack->values(read);
           if (now.row) {
             for (const ParameterSpec* part : now.parts) {
               const std::vector<float> more = read(*part);
               values.insert(values.end(), more.begin(), more.end());
             }
             values = arranged(now, heads_of(now.row->order, setting_of_rows), std::move(values));
           }
           check_finite(now.tensor.name, values, types[i]);
           bytes = encoded(now.tensor.name, types[i], values);
           if (progress) progress(done += values.size() * sizeof(float));
           return std::span<const std::byte>(bytes);
         }});
  }
  write_gguf(file, pairs, sources);
  return losses;
}

}  // namespace vkformer
