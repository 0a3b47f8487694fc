#pragma once
// A weight that files have as a code of a few bits for each value and scales for groups of them.

#include <functional>
#include <memory>

#include "models/quantised/packed_codes.h"

namespace vkformer {

/// What a matrix [rows, columns] is made of: value = (code - zero) * scale + bias, or value_of[code] * scale. Scales,
/// zeros and biases lie in a grid [ceil(rows / block_rows), ceil(columns / block_columns)], or in a line.
struct CodedMatrix {
  using Grid = std::function<std::vector<float>()>;  ///< reads it, row by row

  std::string name;       ///< of the weight
  std::string_view type;  ///< as reports call it: "INT4"; lives forever
  uint64_t bytes = 0;     ///< of all its tensors
  int64_t rows = 0, columns = 0;
  PackedCodes codes;
  bool turned = false;          ///< the codes are those of the transposed matrix
  std::vector<float> value_of;  ///< of each code; empty: codes are whole numbers
  float zero = 0;               ///< of all, where there are no zeros
  Grid scales, zeros, biases;   ///< the last two may be missing
  int64_t block_rows = 1, block_columns = 1;
  int64_t block_values = 0;     ///< in place of them: so many values share a scale, one behind the other across rows
  std::vector<int32_t> groups;  ///< by column, the column of the grid; empty: by block_columns
  bool powers_of_two = false;   ///< all scales are
};

/// Such a weight. Its stored() type is that of blocks with the same codes where there is one (their scales are f16,
/// those of files may be f32 or bf16), otherwise f16.
std::unique_ptr<WeightTensor> coded_weight(CodedMatrix matrix);

}  // namespace vkformer
