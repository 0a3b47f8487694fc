#pragma once
// Adapters in PEFT's folders: adapter_config.json and adapter_model.safetensors, whose tensors are
// base_model.model.MODULE.lora_A.weight [r, in] and base_model.model.MODULE.lora_B.weight [out, r].

#include <filesystem>
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
  /// matrices of linear layers: DoRA, ranks by module, biases, whole modules, ...
  explicit AdapterFiles(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  const LoraConfig& config() const { return config_; }
  /// What the folder says its base model is; may be empty.
  const std::string& base() const { return base_; }
  /// Gives the model this adapter: for the modules that the file has tensors of. Throws Error when one of these is no
  /// linear layer of the model, or of another size.
  void adapt(Model& model) const;
  /// Writes the adapter into the store of a model that it was given to.
  void load(Store& store, const Model& model) const;
  /// values += s * B A for a weight of a model that the adapter was given to; others stay. Sums are in double.
  void merge(const Model& model, const ParameterSpec& parameter, std::span<float> values) const;

 private:
  std::string path_of(const LinearModule& module) const;
  std::vector<float> read(const LinearModule& module, const char* factor, std::initializer_list<int64_t> shape) const;

  std::filesystem::path folder_;
  LoraConfig config_;
  std::string base_;
  std::vector<std::string> targets_;  ///< names of modules; empty where the config does not list them
  SafetensorsFile tensors_;
};

/// Writes adapter_config.json and adapter_model.safetensors of a model's adapter. Throws Error for values that are not
/// finite.
void save_adapter(const Store& store, const Model& model, const std::filesystem::path& folder);

}  // namespace vkformer
