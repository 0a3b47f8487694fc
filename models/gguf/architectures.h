#pragma once
// What the architectures of GGUF files call their tensors and settings, and what Hugging Face does: as data.

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

/// How the rows of a tensor lie in a GGUF file.
enum class RowOrder : uint8_t {
  same,
  /// Hugging Face's [in, out] (Conv1D) is [out, in].
  transposed,
  /// Rotary positions turn neighbours, not columns half a head apart: of each of the query's heads, row 2 i + j is
  /// Hugging Face's row j D / 2 + i.
  query_pairs,
  key_pairs,  ///< the same for heads of keys
  /// The parts q, k, v one after the other, where Hugging Face has them side by side in each head.
  fused_heads,
  /// The same where each head of keys has several of queries in front of it.
  grouped_heads,
  experts,          ///< a matrix or a vector for each expert in one tensor, which Hugging Face has apart
  one_row,          ///< a vector, which Hugging Face has as a matrix of one row
  turned_matrices,  ///< several matrices, each transposed
  /// One half of the rows of a matrix; the other is of the row with the other of these orders.
  first_half,
  second_half,
  first_third,  ///< the same of three
  second_third,
  last_third,
  /// Of a convolution over two pictures that follow each other, [C, channels, 2, P, P]: what it has of one of them.
  first_picture,
  second_picture,
  as_rows,           ///< a matrix with a row for each group of heads, which Hugging Face has as a vector
  as_column,         ///< of one column
  rows_of_matrices,  ///< a matrix, of which Hugging Face has each row as a matrix of one row
  /// Of a delta net, which has one or more heads of values for each of keys: Hugging Face's head k n + i, the i-th of
  /// the n of head k of keys, is the file's i K + k.
  value_heads,
  value_rows,      ///< the same behind the rows of queries and keys
  value_channels,  ///< as value_rows; Hugging Face has each row as a matrix of one row
  value_columns,   ///< the same of columns
};

/// Tensors with one or both of the endings .weight and .bias, or one without. "{}" stands for the layer, a second one
/// for the expert.
struct TensorRow {
  std::string_view gguf;
  std::string_view hugging_face;
  RowOrder order = RowOrder::same;
  float added = 0;               ///< to Hugging Face's weights in a GGUF file: 1 for Gemma's norms, whose gains lack it
  std::string_view beside = {};  ///< the row of files that have this tensor, too
  bool bare = false;             ///< Hugging Face's name is as it stands here, without an ending behind it
  std::string_view ending = ".weight";  ///< the file's, of such a name
  bool decay = false;                   ///< a file has -exp of Hugging Face's values
  std::string_view second = {};  ///< of experts: the name of the second half of the rows of each of the file's matrices
  bool by_rank = false;          ///< Hugging Face counts the file's tensors of this name, whose numbers are layers
};

/// A setting. `gguf` follows the architecture's name and a dot.
struct KeyRow {
  enum class Kind : uint8_t { integer, number, boolean };
  std::string_view gguf;
  std::string_view hugging_face;
  Kind kind = Kind::integer;
  bool optional = false;
};

/// A setting that the format does not have, for every file of the architecture means the first of these values. The
/// others mean the same.
struct FixedRow {
  std::string_view hugging_face;
  std::vector<nlohmann::json> values;
};

struct GgufArchitecture {
  std::string_view name;                      ///< general.architecture
  std::vector<std::string_view> model_types;  ///< Hugging Face's; the first is what a file means
  std::string_view model_class;               ///< of "architectures"
  std::vector<KeyRow> keys;
  std::vector<FixedRow> fixed;
  std::vector<TensorRow> tensors;
  /// Hugging Face's tensors that the format has no place for.
  std::vector<std::string_view> dropped = {};
};

/// nullptr when it is not supported.
const GgufArchitecture* find_architecture(std::string_view name);
const GgufArchitecture* architecture_of_model(std::string_view model_type);
/// Names of all, for messages.
std::string known_architectures();

/// The numbers that stand for each "{}" of `pattern` in `name`; nothing where they don't fit.
std::optional<std::vector<int64_t>> match_name(std::string_view pattern, std::string_view name);
/// The layer of a GGUF file's tensor "blk.N. ..."; -1 of others.
int64_t layer_in_name(std::string_view tensor);
/// `pattern` with the numbers in the places of its "{}".
std::string fill_name(std::string_view pattern, const std::vector<int64_t>& numbers);

/// The row of a tensor, with its numbers and its ending.
struct NamedRow {
  const TensorRow* row = nullptr;
  std::vector<int64_t> numbers;
  std::string_view ending;  ///< ".weight", ".bias" or none
  bool second = false;      ///< it is of the second half

  std::string in_gguf() const { return fill_name(row->gguf, numbers).append(ending); }
  std::string in_hugging_face() const {
    return fill_name(second ? row->second : row->hugging_face, numbers).append(row->bare ? "" : ending);
  }
};
/// `has` tells which tensors a file has beside it.
std::optional<NamedRow> row_of_gguf(const GgufArchitecture& architecture, std::string_view tensor,
                                    const std::function<bool(std::string_view)>& has);
std::optional<NamedRow> row_of_hugging_face(const GgufArchitecture& architecture, std::string_view tensor,
                                            const std::function<bool(std::string_view)>& has);

}  // namespace vkformer
