#include "models/quantised/packed_codes.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace vkformer {
namespace {

constexpr int64_t word = 4;

/// Bytes from `begin` on, whatever the type of the tensor's elements.
void read_bytes(const WeightTensor& tensor, int64_t begin, int64_t count, std::vector<std::byte>& out) {
  const int64_t size = static_cast<int64_t>(tensor.bytes()) / tensor.elements();
  const int64_t first = begin / size, end = (begin + count + size - 1) / size;
  out.resize(static_cast<size_t>((end - first) * size));
  tensor.read_stored(first, out);
  if (begin % size != 0) out.erase(out.begin(), out.begin() + begin % size);
}

}  // namespace

PackedCodes PackedCodes::stream(const WeightTensor& tensor, int64_t rows, int64_t columns, int bits) {
  const int64_t unit = std::lcm(bits, 8);
  return {.tensor = &tensor,
          .rows = rows,
          .columns = columns,
          .bits = bits,
          .unit_bytes = unit / 8,
          .unit_codes = unit / bits};
}

PackedCodes PackedCodes::in_words(const WeightTensor& tensor, int64_t rows, int64_t columns, int bits, bool down) {
  return {.tensor = &tensor,
          .rows = rows,
          .columns = columns,
          .bits = bits,
          .unit_bytes = word,
          .unit_codes = 8 * word / bits,
          .down = down};
}

int64_t PackedCodes::bytes() const {
  return down ? (rows + unit_codes - 1) / unit_codes * unit_bytes * columns : rows * units_across() * unit_bytes;
}

void PackedCodes::unpack(const std::byte* unit, int64_t first, int64_t count, uint8_t* out, int64_t stride) const {
  const bool in_order = places[1] == places[0];
  const uint32_t mask = (1u << bits) - 1;
  for (int64_t i = first, end = first + count; i < end; ++i, out += stride) {
    if (i == unit_codes) {
      unit += unit_bytes;
      end -= unit_codes;
      i = 0;
    }
    const int64_t bit = (in_order ? i : places[static_cast<size_t>(i)]) * bits, shift = bit % 8;
    auto code = std::to_integer<uint32_t>(unit[bit / 8]);
    if (shift + bits > 8) code |= std::to_integer<uint32_t>(unit[bit / 8 + 1]) << 8;
    *out = static_cast<uint8_t>((code >> shift & mask) ^ flipped);
  }
}

void PackedCodes::read(int64_t first_row, int64_t row_count, int64_t first_column, int64_t column_count,
                       std::span<uint8_t> out) const {
  std::vector<std::byte> bytes;
  if (!down) {
    const int64_t first_unit = first_column / unit_codes, end = first_column + column_count;
    const int64_t units = (end + unit_codes - 1) / unit_codes - first_unit, row_units = units_across();
    const bool whole_rows = units == row_units;
    if (whole_rows) read_bytes(*tensor, first_row * row_units * unit_bytes, row_count * row_units * unit_bytes, bytes);
    for (int64_t r = 0; r < row_count; ++r) {
      if (!whole_rows)
        read_bytes(*tensor, ((first_row + r) * row_units + first_unit) * unit_bytes, units * unit_bytes, bytes);
      const std::byte* unit = bytes.data() + (whole_rows ? r * row_units * unit_bytes : 0);
      unpack(unit, first_column % unit_codes, column_count, out.data() + r * column_count, 1);
    }
    return;
  }
  const int64_t words = unit_bytes / word, end = first_row + row_count;
  std::vector<std::byte> line;  // a word of each column
  std::vector<std::byte> units(static_cast<size_t>(column_count * unit_bytes));
  for (int64_t row = first_row; row < end;) {
    const int64_t unit = row / unit_codes, first = row % unit_codes, count = std::min(unit_codes - first, end - row);
    for (int64_t w = 0; w < words; ++w) {
      read_bytes(*tensor, ((unit * words + w) * columns + first_column) * word, column_count * word, line);
      for (int64_t c = 0; c < column_count; ++c)
        std::memcpy(&units[static_cast<size_t>(c * unit_bytes + w * word)], &line[static_cast<size_t>(c * word)], word);
    }
    for (int64_t c = 0; c < column_count; ++c)
      unpack(&units[static_cast<size_t>(c * unit_bytes)], first, count,
             out.data() + (row - first_row) * column_count + c, column_count);
    row += count;
  }
}

std::vector<uint8_t> PackedCodes::all() const {
  std::vector<uint8_t> codes(static_cast<size_t>(rows * columns));
  read(0, rows, 0, columns, codes);
  return codes;
}

}  // namespace vkformer
