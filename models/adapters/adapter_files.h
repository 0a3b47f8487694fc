#pragma once
// Adapters in PEFT's folders: adapter_config.json and adapter_model.safetensors, whose tensors are
// base_model.model.MODULE.lora_A.weight [r, in], base_model.model.MODULE.lora_B.weight [out, r], and those of modules
// that are trained whole, base_model.model.classifier.weight.

#include <filesystem>
#include <map>
#include <span>

#include "models/adapters/lora.h"
#include "runtime/files/safetensors.h"

namespace vkformer {

/// Whether a folder is one of these, and no model's.
bool is_adapter_folder(const std::filesystem::path& folder);

/// An adapter's folder, opened and checked.
class AdapterFiles {
 public:
  /// Throws Error for files that can't be read and, by its name, for whatever an adapter may have beside the two
  /// matrices of linear layers and whole modules: DoRA, ranks by module, biases, ...
  explicit AdapterFiles(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  const LoraConfig& config() const { return config_; }
  /// What the folder says its base model is; may be empty.
  const std::string& base() const { return base_; }
  /// What it was trained for, as PEFT calls that: "SEQ_CLS"; may be empty.
  const std::string& task() const { return task_; }
  /// Classes of the head that the file has; 0: it has none, or one of something else.
  int64_t classes() const;
  /// Gives the model this adapter: for the modules that the file has tensors of. Those of whole ones are the adapter's
  /// then (ParameterSpec::adapter). Throws Error when a tensor is of no such layer or module of the model, or of
  /// another size, and for whole modules of a model that writes text.
  void adapt(Model& model) const;
  /// Writes the adapter into the store of a model that it was given to.
  void load(Store& store, const Model& model) const;
  /// values += s * B A for a weight of a model that the adapter was given to, or its own ones of a whole module; others
  /// stay. Sums are in double.
  void merge(const Model& model, const ParameterSpec& parameter, std::span<float> values) const;

 private:
  std::string path_of(const LinearModule& module) const;
  std::vector<float> read(const LinearModule& module, const char* factor, std::initializer_list<int64_t> shape) const;
  std::vector<float> read(const TensorEntry& entry, std::span<const int64_t> shape) const;
  std::vector<float> read_whole(const ParameterSpec& parameter) const;
  std::vector<std::string> whole_modules_of(const Model& model) const;

  std::filesystem::path folder_;
  LoraConfig config_;
  std::string base_, task_;
  std::vector<std::string> targets_;  ///< names of modules; empty where the config does not list them
  std::vector<std::string> whole_;    ///< ends of the names of modules that may be there whole
  SafetensorsFile tensors_;
  std::map<std::string, std::string> whole_tensors_;  ///< names in the file, by the parameters' ones
};

/// Writes adapter_config.json and adapter_model.safetensors of a model's adapter, with its whole modules. Throws Error
/// for values that are not finite.
void save_adapter(const Store& store, const Model& model, const std::filesystem::path& folder);

}  // namespace vkformer
