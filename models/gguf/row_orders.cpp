#include "models/gguf/row_orders.h"

namespace vkformer {
namespace {

/// Place `i` of heads of `width` places, in the file's order of heads.
int64_t in_value_heads(int64_t i, int64_t width, const RowHeads& heads) {
  const int64_t head = i / width, each = heads.heads / heads.key_heads;
  return (head % each * heads.key_heads + head / each) * width + i % width;
}

}  // namespace

RowHeads heads_of(RowOrder order,
                  const std::function<int64_t(std::string_view key, std::optional<int64_t> otherwise)>& setting) {
  switch (order) {
    case RowOrder::value_heads:
    case RowOrder::value_columns:
    case RowOrder::value_rows:
    case RowOrder::value_channels: {
      RowHeads heads{.heads = setting("ssm.time_step_rank", {}), .key_heads = setting("ssm.group_count", {})};
      if (order == RowOrder::value_rows || order == RowOrder::value_channels)
        heads.before = 2 * heads.key_heads * setting("ssm.state_size", {});
      return heads;
    }
    case RowOrder::key_pairs: {
      const int64_t heads = setting("attention.head_count", {});
      return {.heads = setting("attention.head_count_kv", heads)};
    }
    case RowOrder::grouped_heads: {
      const int64_t heads = setting("attention.head_count", {});
      return {.heads = heads, .key_heads = setting("attention.head_count_kv", heads)};
    }
    case RowOrder::query_pairs:
    case RowOrder::fused_heads: return {.heads = setting("attention.head_count", {})};
    default: return {};
  }
}

std::optional<RowPiece> piece_of(RowOrder order) {
  switch (order) {
    case RowOrder::first_half: return RowPiece{0, 2};
    case RowOrder::second_half: return RowPiece{1, 2};
    case RowOrder::first_third: return RowPiece{0, 3};
    case RowOrder::second_third: return RowPiece{1, 3};
    case RowOrder::last_third: return RowPiece{2, 3};
    case RowOrder::first_picture: return RowPiece{0, 2, true};
    case RowOrder::second_picture: return RowPiece{1, 2, true};
    default: return std::nullopt;
  }
}

int64_t parts_of(RowOrder order, const RowHeads& heads) {
  switch (order) {
    case RowOrder::query_pairs:
    case RowOrder::key_pairs: return 2 * heads.heads;
    case RowOrder::fused_heads: return 3 * heads.heads;
    case RowOrder::grouped_heads: return heads.heads + 2 * heads.key_heads;
    case RowOrder::value_heads:
    case RowOrder::value_rows:
    case RowOrder::value_channels:
    case RowOrder::value_columns: return heads.heads;
    default: return 0;
  }
}

int64_t gguf_row(RowOrder order, int64_t row, int64_t rows, const RowHeads& heads) {
  switch (order) {
    case RowOrder::query_pairs:
    case RowOrder::key_pairs: {
      const int64_t width = rows / heads.heads, head = row / width, half = row % width / (width / 2),
                    i = row % (width / 2);
      return head * width + 2 * i + half;
    }
    case RowOrder::fused_heads: {
      const int64_t width = rows / heads.heads / 3, head = row / (3 * width), part = row / width % 3, i = row % width;
      return (part * heads.heads + head) * width + i;
    }
    case RowOrder::grouped_heads: {
      const int64_t each = heads.heads / heads.key_heads, width = rows / parts_of(order, heads);
      const int64_t group = row / width / (each + 2), part = row / width % (each + 2), i = row % width;
      const int64_t head = part < each ? group * each + part : heads.heads + (part - each) * heads.key_heads + group;
      return head * width + i;
    }
    case RowOrder::value_heads:
    case RowOrder::value_rows:
    case RowOrder::value_channels:
      if (row < heads.before) return row;
      return heads.before + in_value_heads(row - heads.before, (rows - heads.before) / heads.heads, heads);
    default: return row;
  }
}

ColumnRun gguf_columns(RowOrder order, int64_t column, int64_t columns, const RowHeads& heads) {
  if (order != RowOrder::value_columns || heads.heads == heads.key_heads) return {column, columns - column};
  const int64_t width = columns / heads.heads;
  return {in_value_heads(column, width, heads), width - column % width};
}

}  // namespace vkformer
