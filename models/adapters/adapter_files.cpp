#include "models/adapters/adapter_files.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

constexpr const char* config_name = "adapter_config.json";
constexpr const char* tensors_name = "adapter_model.safetensors";
constexpr std::string_view prefix = "base_model.model.";
constexpr const char* factor_a = ".lora_A.weight";
constexpr const char* factor_b = ".lora_B.weight";
constexpr int64_t most_rank = 1 << 16;

/// Keys that say nothing of what is computed, or that are read, or whose effect the tensors' names show.
const std::set<std::string_view> harmless{"auto_mapping",
                                          "base_model_name_or_path",
                                          "bias",
                                          "exclude_modules",
                                          "fan_in_fan_out",
                                          "inference_mode",
                                          "init_lora_weights",
                                          "layers_pattern",
                                          "layers_to_transform",
                                          "lora_alpha",
                                          "lora_dropout",
                                          "megatron_core",
                                          "modules_to_save",
                                          "peft_type",
                                          "peft_version",
                                          "qalora_group_size",
                                          "r",
                                          "revision",
                                          "target_modules",
                                          "task_type",
                                          "use_rslora"};

bool is_set(const nlohmann::json& value) {
  return !value.is_null() && value != false && !((value.is_object() || value.is_array()) && value.empty());
}

/// Ways to begin that change the base model's weights.
bool changes_base(const nlohmann::json& start) {
  return start.is_string() && start != "gaussian" && start != "orthogonal" && start != "true";
}

LoraConfig read_config(const JsonObject& json) {
  const std::string type = require_string(json, "peft_type");
  check(type == "LORA", "{}: peft_type '{}' is not supported, only LORA is", json.name(), printable(type, 60));
  for (const auto& [key, value] : json.value().items())
    check(harmless.contains(key) || !is_set(value), "{}: {} is not supported; without it the adapter would be another",
          json.name(), in_quotes(key, 80));
  check(string_or(json, "bias", "none") == "none", "{}: \"bias\" other than none is not supported", json.name());
  check(!json.has("init_lora_weights") || !changes_base(json.value()["init_lora_weights"]),
        "{}: \"init_lora_weights\" {} is not supported: it changes the base model, too", json.name(),
        json.value()["init_lora_weights"].dump());
  return {.rank = require_integer(json, "r", 1, most_rank),
          .alpha = number_or(json, "lora_alpha", 8, -1e6, 1e6),
          .dropout = number_or(json, "lora_dropout", 0, 0, 0.99),
          .rslora = boolean_or(json, "use_rslora", false)};
}

/// The strings of a list; none where there is no list.
std::vector<std::string> read_names(const JsonObject& json, const char* key) {
  const nlohmann::json& value = json.value();
  const auto given = value.find(key);
  std::vector<std::string> names;
  if (given == value.end() || !given->is_array()) return names;
  for (const nlohmann::json& name : *given) {
    check(name.is_string(), "{}: \"{}\" must have strings, not {}", json.name(), key, name.dump());
    names.push_back(name);
  }
  return names;
}

/// Modules by their names, where all of these and no others have tensors.
std::vector<std::string> read_targets(const JsonObject& json) {
  if (json.has("layers_to_transform") || json.has("exclude_modules")) return {};
  return read_names(json, "target_modules");
}

/// Those that PEFT saves whole by the task alone, which some of its versions don't write.
std::vector<std::string> usual_whole(const std::string& task) {
  if (task == "SEQ_CLS" || task == "TOKEN_CLS") return {"classifier", "score"};
  if (task == "QUESTION_ANS") return {"qa_outputs"};
  return {};
}

/// "classifier.weight" of "base_model.model.classifier.modules_to_save.default.weight", where PEFT's wrapper is in the
/// name; empty: of something else.
std::string whole_name(std::string_view tensor) {
  if (!tensor.starts_with(prefix) || tensor.find(".lora_") != tensor.npos) return {};
  std::string name(tensor.substr(prefix.size()));
  for (const std::string_view wrapper : {".modules_to_save.default.", ".modules_to_save."})
    if (const size_t at = name.find(wrapper); at != name.npos) name.replace(at, wrapper.size(), ".");
  return name;
}

/// The module of a parameter that one of these names ends, as PEFT looks for it; empty: none.
std::string whole_module(const std::string& parameter, const std::vector<std::string>& names) {
  for (size_t dot = parameter.find('.'); dot != parameter.npos; dot = parameter.find('.', dot + 1))
    for (const std::string& name : names)
      if (std::string module = parameter.substr(0, dot); module.ends_with(name)) return module;
  return {};
}

/// The part of a path behind its first dot, which models without a head lack.
std::string bare(const std::string& path) { return path.substr(path.find('.') + 1); }

}  // namespace

bool is_adapter_folder(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / config_name) && !std::filesystem::exists(folder / "config.json");
}

AdapterFiles::AdapterFiles(const std::filesystem::path& folder)
    : folder_(folder), tensors_([&] {
        check(std::filesystem::exists(folder / config_name), "'{}' has no {}; give an adapter's folder",
              folder.generic_string(), config_name);
        check(std::filesystem::exists(folder / tensors_name) || !std::filesystem::exists(folder / "adapter_model.bin"),
              "'{}' has adapter_model.bin and no {}; convert it (PEFT: save_pretrained)", folder.generic_string(),
              tensors_name);
        return folder / tensors_name;
      }()) {
  const JsonObject json = JsonObject::load(folder / config_name);
  config_ = read_config(json);
  base_ = string_or(json, "base_model_name_or_path", "");
  task_ = string_or(json, "task_type", "");
  targets_ = read_targets(json);
  whole_ = read_names(json, "modules_to_save");
  if (whole_.empty()) whole_ = usual_whole(task_);
  for (const TensorEntry& entry : tensors_.tensors())
    if (const std::string name = whole_name(entry.name); !name.empty())
      check(whole_tensors_.emplace(name, entry.name).second, "{} has {} twice", tensors_.name(), in_quotes(name, 120));
}

int64_t AdapterFiles::classes() const {
  for (const char* head : {"classifier.weight", "classifier.out_proj.weight", "score.weight", "logits_proj.weight",
                           "classification_head.out_proj.weight"})
    if (const auto found = whole_tensors_.find(head); found != whole_tensors_.end())
      if (const std::vector<int64_t>& shape = tensors_.require(found->second).shape; shape.size() == 2) return shape[0];
  return 0;
}

/// How the file calls a module; empty when it has no tensors of it.
std::string AdapterFiles::path_of(const LinearModule& module) const {
  for (const std::string& path : {module.path, bare(module.path)})
    if (tensors_.find(fmt::format("{}{}{}", prefix, path, factor_a))) return path;
  return {};
}

std::vector<float> AdapterFiles::read(const LinearModule& module, const char* factor,
                                      std::initializer_list<int64_t> shape) const {
  return read(tensors_.require(fmt::format("{}{}{}", prefix, path_of(module), factor)), shape);
}

std::vector<float> AdapterFiles::read(const TensorEntry& entry, std::span<const int64_t> shape) const {
  check(std::ranges::equal(entry.shape, shape), "{}: tensor {} is [{}], model and rank make it [{}]", tensors_.name(),
        in_quotes(entry.name, 160), fmt::join(entry.shape, ", "), fmt::join(shape, ", "));
  std::vector<float> values(static_cast<size_t>(entry.elements()));
  tensors_.read_floats(entry, values);
  return values;
}

/// Of a whole module.
std::vector<float> AdapterFiles::read_whole(const ParameterSpec& parameter) const {
  const auto found = whole_tensors_.find(parameter.name);
  check(found != whole_tensors_.end(), "{} lacks {}, which belongs to a module that is trained whole", tensors_.name(),
        in_quotes(std::string(prefix) + parameter.name, 160));
  return read(tensors_.require(found->second), parameter.shape.dimensions());
}

std::vector<std::string> AdapterFiles::whole_modules_of(const Model& model) const {
  std::vector<std::string> modules;
  for (const ParameterSpec& parameter : model.parameters) {
    const std::string module = whole_module(parameter.name, whole_);
    if (!module.empty() && !is_within(parameter.name, modules)) modules.push_back(module);
  }
  return modules;
}

void AdapterFiles::adapt(Model& model) const {
  check(whole_.empty() || !model.generates(),
        "{}: \"modules_to_save\" is not supported for a model that writes text, as this {} model; without it the "
        "adapter would be another",
        (folder_ / config_name).generic_string(), model.family);
  const std::vector<std::string> whole = whole_modules_of(model);
  std::vector<std::string> paths;
  std::set<std::string> known;
  for (const ParameterSpec& parameter : model.parameters) {
    if (!is_within(parameter.name, whole)) continue;
    check(parameter.joint.empty() && !parameter.stack,
          "{}: {} is not supported among modules_to_save, for it is computed as one with others", tensors_.name(),
          in_quotes(parameter.name, 120));
    read_whole(parameter);
    known.insert(whole_tensors_.at(parameter.name));
  }
  for (const LinearModule& module : linear_modules(model)) {
    if (is_within(module.parameter, whole)) continue;
    const std::string path = path_of(module);
    const bool named = std::ranges::any_of(targets_, [&](const std::string& t) { return ends_path(module.path, t); });
    check(targets_.empty() || named == !path.empty(),
          "{}: there are {}tensors of module {}, which target_modules of {} {}", tensors_.name(), named ? "no " : "",
          in_quotes(module.path, 120), config_name, named ? "names" : "does not name");
    if (path.empty()) continue;
    for (const char* factor : {factor_a, factor_b}) known.insert(fmt::format("{}{}{}", prefix, path, factor));
    read(module, factor_a, {config_.rank, module.in});
    read(module, factor_b, {module.out, config_.rank});
    paths.push_back(module.path);
  }
  for (const TensorEntry& entry : tensors_.tensors())
    check(known.contains(entry.name), "{}: tensor {} belongs to no linear layer{} of this {} model", tensors_.name(),
          in_quotes(entry.name, 160), whole_.empty() ? "" : ", nor to modules_to_save,", model.family);
  check(!paths.empty(), "{} has no tensors", tensors_.name());
  vkformer::adapt(model, config_, paths, base_, whole);
  for (ParameterSpec& parameter : model.parameters) parameter.adapter |= is_within(parameter.name, whole);
}

void AdapterFiles::load(Store& store, const Model& model) const {
  const auto rank = static_cast<size_t>(config_.rank);
  for (const LowRankProduct& product : model.adapter->products) {
    const size_t columns = rank * product.modules.size();
    std::vector<float> all_a, all_b(static_cast<size_t>(product.out) * columns, 0);
    for (size_t m = 0; m < product.modules.size(); ++m) {
      const LinearModule& module = product.modules[m];
      const std::vector<float> a = read(module, factor_a, {config_.rank, module.in});
      const std::vector<float> b = read(module, factor_b, {module.out, config_.rank});
      all_a.insert(all_a.end(), a.begin(), a.end());
      for (size_t row = 0; row < static_cast<size_t>(module.out); ++row)
        std::copy_n(b.begin() + static_cast<std::ptrdiff_t>(row * rank), rank,
                    all_b.begin() +
                        static_cast<std::ptrdiff_t>((static_cast<size_t>(module.first) + row) * columns + m * rank));
    }
    store.write(product.a, all_a);
    store.write(product.b, all_b);
  }
  for (const ParameterSpec& parameter : model.parameters)
    if (is_within(parameter.name, model.adapter->whole)) store.write(parameter.name, read_whole(parameter));
}

void AdapterFiles::merge(const Model& model, const ParameterSpec& parameter, std::span<float> values) const {
  if (is_within(parameter.name, model.adapter->whole)) std::ranges::copy(read_whole(parameter), values.begin());
  for (const LowRankProduct& product : model.adapter->products)
    for (const LinearModule& module : product.modules) {
      if (module.parameter != parameter.name) continue;
      const auto in = static_cast<size_t>(module.in), out = static_cast<size_t>(module.out),
                 rank = static_cast<size_t>(config_.rank);
      const std::vector<float> a = read(module, factor_a, {config_.rank, module.in});
      const std::vector<float> b = read(module, factor_b, {module.out, config_.rank});
      std::vector<double> row(in);
      for (size_t o = 0; o < out; ++o) {
        std::ranges::fill(row, 0);
        for (size_t r = 0; r < rank; ++r) {
          const double factor = config_.scale() * static_cast<double>(b[o * rank + r]);
          for (size_t i = 0; i < in; ++i) row[i] += factor * static_cast<double>(a[r * in + i]);
        }
        for (size_t i = 0; i < in; ++i) {
          float& value = values[module.input_major ? i * out + o : o * in + i];
          value = static_cast<float>(static_cast<double>(value) + row[i]);
        }
      }
    }
}

namespace {

/// The shortest names that mean these modules and no others.
std::vector<std::string> target_names(const Model& model) {
  std::set<std::string> paths, ends;
  for (const LowRankProduct& product : model.adapter->products)
    for (const LinearModule& module : product.modules) {
      paths.insert(module.path);
      ends.insert(module.path.substr(module.path.rfind('.') + 1));
    }
  for (const LinearModule& module : linear_modules(model))
    if (!paths.contains(module.path) && ends.contains(module.path.substr(module.path.rfind('.') + 1)))
      return {paths.begin(), paths.end()};
  return {ends.begin(), ends.end()};
}

/// What PEFT calls it; null where that has no name.
nlohmann::json task_type(const Model& model) {
  switch (model.task) {
    case Task::causal: return "CAUSAL_LM";
    case Task::seq2seq: return "SEQ_2_SEQ_LM";
    case Task::classify:
    case Task::score:
    case Task::number: return "SEQ_CLS";
    case Task::tag: return "TOKEN_CLS";
    case Task::answer: return "QUESTION_ANS";
    case Task::states: return "FEATURE_EXTRACTION";
    default: return nullptr;
  }
}

nlohmann::json config_of(const Model& model) {
  const LoraConfig& config = model.adapter->config;
  const std::vector<std::string>& whole = model.adapter->whole;
  const nlohmann::json alpha = config.alpha == std::round(config.alpha)
                                   ? nlohmann::json(static_cast<int64_t>(config.alpha))
                                   : nlohmann::json(config.alpha);
  return {{"peft_type", "LORA"},
          {"task_type", task_type(model)},
          {"base_model_name_or_path", model.adapter->base},
          {"inference_mode", true},
          {"r", config.rank},
          {"lora_alpha", alpha},
          {"lora_dropout", config.dropout},
          {"use_rslora", config.rslora},
          {"target_modules", target_names(model)},
          {"fan_in_fan_out", model.adapter->products[0].modules[0].input_major},
          {"bias", "none"},
          {"init_lora_weights", true},
          {"modules_to_save", whole.empty() ? nlohmann::json() : nlohmann::json(whole)}};
}

}  // namespace

void save_adapter(const Store& store, const Model& model, const std::filesystem::path& folder) {
  check(model.adapter != nullptr, "this {} model has no adapter to save", model.family);
  const auto rank = static_cast<size_t>(model.adapter->config.rank);
  std::vector<TensorSource> tensors;
  std::vector<float> values;  // one tensor at a time
  const auto read = [&store](const std::string& name) {
    std::vector<float> all = store.read(name);
    check(std::ranges::all_of(all, [](float v) { return std::isfinite(v); }),
          "{} has values that are not finite: the training has diverged, so it is not saved; lower --learning-rate",
          name);
    return all;
  };
  for (const LowRankProduct& product : model.adapter->products)
    for (size_t m = 0; m < product.modules.size(); ++m) {
      const LinearModule& module = product.modules[m];
      const auto count = rank * static_cast<size_t>(module.in), columns = rank * product.modules.size();
      tensors.push_back({.name = fmt::format("{}{}{}", prefix, module.path, factor_a),
                         .dtype = FileDType::f32,
                         .shape = {model.adapter->config.rank, module.in},
                         .data = [&values, &product, read, m, count] {
                           const std::vector<float> all = read(product.a);
                           const auto first = all.begin() + static_cast<std::ptrdiff_t>(m * count);
                           values.assign(first, first + static_cast<std::ptrdiff_t>(count));
                           return std::as_bytes(std::span(values));
                         }});
      tensors.push_back({.name = fmt::format("{}{}{}", prefix, module.path, factor_b),
                         .dtype = FileDType::f32,
                         .shape = {module.out, model.adapter->config.rank},
                         .data = [&values, &product, &module, read, m, rank, columns] {
                           const std::vector<float> all = read(product.b);
                           values.clear();
                           for (int64_t row = module.first; row < module.first + module.out; ++row) {
                             const auto first = all.begin() + static_cast<std::ptrdiff_t>(
                                                                  static_cast<size_t>(row) * columns + m * rank);
                             values.insert(values.end(), first, first + static_cast<std::ptrdiff_t>(rank));
                           }
                           return std::as_bytes(std::span(values));
                         }});
    }
  for (const ParameterSpec& parameter : model.parameters) {
    if (!is_within(parameter.name, model.adapter->whole)) continue;
    const auto dimensions = parameter.shape.dimensions();
    tensors.push_back({.name = std::string(prefix) + parameter.name,
                       .dtype = FileDType::f32,
                       .shape = {dimensions.begin(), dimensions.end()},
                       .data = [&values, &parameter, read] {
                         values = read(parameter.name);
                         return std::as_bytes(std::span(values));
                       }});
  }
  write_safetensors(folder / tensors_name, std::move(tensors));
  write_json(folder / config_name, config_of(model));
}

}  // namespace vkformer
