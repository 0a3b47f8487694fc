#pragma once
// Whole numbers of a few bits, one behind the other in the bytes of a tensor.

#include <array>
#include <span>

#include "runtime/files/weight_source.h"

namespace vkformer {

/// A matrix of codes of at most 8 bits. Within a unit of some bytes code i has the bits from i * bits on, the lowest
/// ones first.
struct PackedCodes {
  const WeightTensor* tensor = nullptr;
  int64_t rows = 0, columns = 0;  ///< of codes
  int bits = 8;
  int64_t unit_bytes = 1, unit_codes = 1;
  bool down = false;                   ///< units have neighbours of a column, and a tensor's row has words of 4 bytes
  std::array<uint8_t, 8> places = {};  ///< within a unit, of each of its codes; all 0: in their order
  uint8_t flipped = 0;                 ///< bits to be flipped in each code

  /// Codes [rows, columns] without a gap, whatever the bits.
  static PackedCodes stream(const WeightTensor& tensor, int64_t rows, int64_t columns, int bits);
  /// As many codes in each word of 32 bits as it has room for, the rest of it unused.
  static PackedCodes in_words(const WeightTensor& tensor, int64_t rows, int64_t columns, int bits, bool down);

  /// Bytes that the codes take, which the tensor must have.
  int64_t bytes() const;
  /// Codes of a part of the matrix, row by row. It must be in it.
  void read(int64_t first_row, int64_t row_count, int64_t first_column, int64_t column_count,
            std::span<uint8_t> out) const;
  std::vector<uint8_t> all() const;

 private:
  int64_t units_across() const { return (columns + unit_codes - 1) / unit_codes; }
  /// Codes from the first one of the unit on, which may go on in the units behind it.
  void unpack(const std::byte* unit, int64_t first, int64_t count, uint8_t* out, int64_t stride) const;
};

}  // namespace vkformer
