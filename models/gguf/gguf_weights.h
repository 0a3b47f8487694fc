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

/// For each row of Hugging Face's tensor of `rows` rows, its row in the GGUF file. `heads`: for the orders by heads.
int64_t gguf_row(RowOrder order, int64_t row, int64_t rows, int64_t heads);

/// How many heads a row order is about: those of queries or of keys in a file of this architecture.
int64_t heads_of(RowOrder order, const GgufArchitecture& architecture, const GgufMetadata& metadata);

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
