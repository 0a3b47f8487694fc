#pragma once
// Where rows and columns of Hugging Face's tensors lie in GGUF files.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "models/gguf/architectures.h"

namespace vkformer {

/// The heads that an order is about.
struct RowHeads {
  int64_t heads = 1;
  int64_t key_heads = 1;  ///< of heads of values, or of queries
  int64_t before = 0;     ///< rows of queries and keys in front of those of values
};

/// `setting`: what a file or a config says under a key without the architecture's name, above 0; where it is not there,
/// `otherwise`, or without that an Error.
RowHeads heads_of(RowOrder order,
                  const std::function<int64_t(std::string_view key, std::optional<int64_t> otherwise)>& setting);

/// Of a tensor of which Hugging Face has several in one: which of them it is.
struct RowPiece {
  int64_t index = 0, count = 1;
  bool by_turns = false;  ///< see JoinedRows
};
std::optional<RowPiece> piece_of(RowOrder order);

/// What the rows of a tensor, or its columns, are a multiple of where heads arrange them; otherwise 0.
int64_t parts_of(RowOrder order, const RowHeads& heads);

/// For each row of Hugging Face's tensor of `rows` rows, its row in the GGUF file.
int64_t gguf_row(RowOrder order, int64_t row, int64_t rows, const RowHeads& heads);

/// Columns from one on that are neighbours in the file, too.
struct ColumnRun {
  int64_t first = 0;  ///< in the file
  int64_t count = 0;
};
ColumnRun gguf_columns(RowOrder order, int64_t column, int64_t columns, const RowHeads& heads);

}  // namespace vkformer
