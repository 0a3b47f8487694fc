#pragma once
// 16-bit floats and encoded weights in a graph: rewrites of the whole graph, so that no family knows of them.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/graph.h"

namespace vkformer {

/// How a loss is computed and differentiated.
struct MixedPrecision {
  DType products = DType::f32;  ///< of their operands: f32, or with mixed precision f16 or bf16
  bool values = false;          ///< with it: values between ops are of that type, too, where all that read them take it
  bool whole_rows = false;      ///< rows of logits are whole vectors, see with_whole_rows()
  int64_t most_logits = 0;      ///< bytes of them at a time, see with_loss_in_chunks(); 0: all
};

/// What computes a loss of logits is in this scope, and stays f32.
inline constexpr std::string_view loss_scope = "loss";

/// Every product of f32 matrices gets operands rounded to `precision.products`, of 16 bits, and still sums in f32. To
/// be applied before differentiate(): then the backward products are of that type, too, and the gradients of the f32
/// parameters are f32 (mixed precision, as PyTorch's autocast does it).
///
/// With `precision.values` what norms, products and attention give is of that type already, unless somebody reads it
/// who takes f32 alone: a residual stream, a loss without a kernel for it. Ops between follow their input. The gradient
/// of a 16-bit value is one, too. Rows of an odd number of columns stay f32.
Graph with_mixed_precision(const Graph& graph, const MixedPrecision& precision);

/// How a store keeps a matrix.
struct StoredType {
  DType dtype = DType::f32;
  bool turned = false;  ///< transposed: the second operand of products that read it as it is
  bool operator==(const StoredType&) const = default;
};

/// A part of a joint tensor: some of its rows, under a name of their own.
struct StoredPart {
  std::string name;
  Shape shape;
};

struct StoredTypes {
  std::map<std::string, StoredType> tensors;
  /// Joint weights whose parts are of unlike types, and joint biases: products with such weights are one for each part,
  /// and their results are joined.
  std::map<std::string, std::vector<StoredPart>> parts;
  std::set<std::string> apart;  ///< those joint weights
};

/// The same graph, reading the persistent tensors of these names as they are stored.
Graph with_types(Graph graph, const StoredTypes& types);

}  // namespace vkformer
