#pragma once
// Parameters from and to a model folder's files.

#include <string_view>
#include <unordered_map>

#include "models/parameters.h"
#include "runtime/files/safetensors.h"
#include "runtime/files/weight_source.h"

namespace vkformer {

/// Called while parameters are loaded or converted, with the bytes of the files read so far.
using LoadProgress = std::function<void(uint64_t done)>;

/// A model's parameters found in files and checked, but not read: so that what is wrong with a folder is known before a
/// device allocates anything.
class Weights {
 public:
  /// `path`: of a model, see open_weights(). A parameter may be stored under its name, one of
  /// its other_names, or without the part of its name up to the first dot (bare transformers leave that out). Throws
  /// Error that lists the first tensors that are missing, misshapen or of a type that can't be read, or tied ones of
  /// which the files have copies that differ, and how many more there are. Those of an adapter are not looked for and
  /// not loaded: see models/adapters/adapter_files.h.
  Weights(const std::vector<ParameterSpec>& parameters, const std::filesystem::path& path);

  const WeightSource& files() const { return *files_; }
  /// Tensors of the files that no parameter uses, second copies of tied ones included.
  const std::vector<std::string>& extra() const { return extra_; }
  /// Tensors that another part of the model uses, which has `other` from the same files, are not among them any more.
  void share_with(const Weights& other);
  /// Optional parameters that the files leave out, and those that begin anew.
  const std::vector<std::string>& absent() const { return absent_; }
  /// Writes every parameter into the store, piece by piece: no more than some MiB of the files are in memory at a time.
  void load(Store& store, const LoadProgress& progress = {}) const;
  /// The type of the files' values of a parameter where a store could have the same, otherwise f16 for blocks and f32;
  /// `turned`: blocks of the transposed matrix are asked for. Throws Error for a parameter that is none of the model's.
  DType stored_type(std::string_view parameter, bool turned) const;
  /// All values of one parameter. Throws Error for one that is none of the model's.
  std::vector<float> read(std::string_view parameter) const;
  /// Called with the values of a parameter before they are written.
  using Change = std::function<void(const ParameterSpec& parameter, std::span<float> values)>;
  /// Writes every parameter under its own name, or with the others of its stack, to one safetensors file, in f32, f16
  /// or bf16; one tensor is in memory at a time. Throws Error for values that are no finite numbers in it.
  void save(const std::filesystem::path& file, const LoadProgress& progress = {}, const Change& change = {},
            FileDType dtype = FileDType::f32) const;

 private:
  struct Place {
    const WeightTensor* tensor = nullptr;  ///< nullptr: the files leave it out
    ParameterSpec parameter;
    size_t index = 0;  ///< in the files
  };
  static std::vector<float> read(const Place& place);
  const Place& place_of(std::string_view parameter) const;

  std::unique_ptr<const WeightSource> files_;
  std::vector<std::unique_ptr<const WeightTensor>> parts_;  ///< of stacks
  std::vector<Place> places_;                               ///< in the order of the files
  std::unordered_map<std::string_view, const Place*> by_name_;
  std::vector<std::string> extra_, absent_;
};

/// Weights(parameters, path).load(store). Returns the extra tensors.
std::vector<std::string> load_parameters(Store& store, const std::vector<ParameterSpec>& parameters,
                                         const std::filesystem::path& path, const LoadProgress& progress = {});

/// Writes them as one Hugging Face model.safetensors.
void save_parameters(const Store& store, const std::vector<ParameterSpec>& parameters,
                     const std::filesystem::path& file);

}  // namespace vkformer
