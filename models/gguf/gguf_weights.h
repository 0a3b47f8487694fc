#pragma once
// The tensors of a GGUF file as Hugging Face names and arranges them.

#include "models/gguf/architectures.h"
#include "runtime/files/gguf.h"
#include "runtime/files/weight_source.h"
#include "runtime/tensor.h"

namespace vkformer {

/// The architecture that a file names. Throws Error for one that is not supported.
const GgufArchitecture& architecture_of(const GgufShards& shards);

/// The type in which this program knows values of a GGUF type; nothing for types it can't decode.
std::optional<DType> dtype_of(const GgufTensorType& type);
const GgufTensorType& gguf_type_of(DType dtype);

/// Of layers that predict tokens further on, behind the model's own. They are not read.
inline constexpr std::string_view further_layers = "nextn_predict_layers";
/// How many layers a file has but for those.
int64_t layers_of(const GgufShards& shards, const GgufArchitecture& architecture);

class GgufWeights : public WeightSource {
 public:
  /// Throws Error for what GgufShards and architecture_of() refuse, and for tensors whose rows can't be what their
  /// names say.
  explicit GgufWeights(const std::filesystem::path& path);

  const std::string& name() const override { return shards_.name(); }
  size_t file_count() const override { return shards_.files().size(); }
  uint64_t bytes() const override { return shards_.bytes(); }

 private:
  GgufShards shards_;
};

}  // namespace vkformer
