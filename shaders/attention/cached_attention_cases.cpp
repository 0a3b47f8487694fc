#include <algorithm>
#include <cmath>

#include "shaders/attention/attention_problem.h"

namespace vkformer {

namespace {

struct CaseParts {
  int64_t batches = 1, queries = 1, keys = 1, heads = 1, kv_heads = 1, head_width = 64, value_width = 64;
  double low = 0, high = 0;    ///< position
  bool own_positions = false;  ///< each row has one
  int64_t column = 0, rotary_width = 0, offsets = 0, masks = 0, mask_rows = 1, biases = 0, window = 0;
  DType type = DType::f32;  ///< of the cache
  double size = 1;          ///< x is in [-size, size]
  bool interleaved = false;
  double softcap = 0;
  bool sinks = false;
};

Case make_case(const CaseParts& p) {
  const int64_t cached = p.kv_heads * (p.head_width + p.value_width);
  const int64_t columns = p.column + p.heads * p.head_width + cached + p.column;
  return {.inputs = {{.type = {{p.batches, p.queries, columns}}, .low = -p.size, .high = p.size},
                     {.type = {{p.batches, p.keys, cached}, p.type}},
                     {.type = {{p.own_positions ? p.batches : 1}, DType::i32}, .low = p.low, .high = p.high},
                     {.type = {{13, std::max<int64_t>(p.rotary_width, 1)}}, .absent = p.rotary_width == 0},
                     {.type = {{std::max<int64_t>(p.offsets, 1)}, DType::i32},
                      .low = -1,
                      .high = 14,
                      .absent = p.offsets == 0},
                     {.type = {{std::max<int64_t>(p.masks, 1), p.mask_rows, p.keys}, DType::i32},
                      .low = 0,
                      .high = 1,
                      .absent = p.masks == 0},
                     {.type = {{std::max<int64_t>(p.biases, 1), p.heads, p.queries, p.keys}}, .absent = p.biases == 0},
                     {.type = {{p.heads}}, .low = -2, .high = 2, .absent = !p.sinks}},
          .attributes = {{"heads", static_cast<double>(p.heads)},
                         {"kv_heads", static_cast<double>(p.kv_heads)},
                         {"head_width", static_cast<double>(p.head_width)},
                         {"value_width", static_cast<double>(p.value_width)},
                         {"scale", 1 / std::sqrt(static_cast<double>(p.head_width))},
                         {"window", static_cast<double>(p.window)},
                         {"softcap", p.softcap},
                         {"column", static_cast<double>(p.column)},
                         {"rotary_width", static_cast<double>(p.rotary_width)},
                         {"interleaved", p.interleaved}},
          .reduction = p.keys + p.head_width};
}

}  // namespace

// Sizes and strides are push constants; rules, widths and the class of the capacity are pipelines. One of a narrow head
// over a long cache has more loads under way.
std::vector<Case> cached_attention_cases() {
  return {
      make_case({.keys = 1}),
      make_case({.batches = 2, .keys = 67, .heads = 3, .kv_heads = 3, .low = 1, .high = 66, .column = 5}),
      make_case({.batches = 2, .keys = 211, .heads = 4, .kv_heads = 2, .low = 150, .high = 210}),
      make_case({.keys = 11, .heads = 2, .kv_heads = 1, .low = -1, .high = -1}),
      make_case({.keys = 11, .heads = 2, .kv_heads = 1, .low = 11, .high = 11}),
      make_case({.keys = 11, .low = 30, .high = 30, .window = 5}),
      // Several positions, which lie within the cache, before it and behind it, or in a window with none before them.
      make_case({.batches = 2, .queries = 3, .keys = 67, .heads = 4, .kv_heads = 2, .low = 40, .high = 64}),
      make_case({.batches = 3,
                 .queries = 3,
                 .keys = 11,
                 .heads = 2,
                 .kv_heads = 1,
                 .low = -4,
                 .high = 12,
                 .own_positions = true,
                 .column = 5}),
      make_case({.batches = 2,
                 .queries = 8,
                 .keys = 211,
                 .heads = 4,
                 .kv_heads = 2,
                 .low = 1,
                 .high = 203,
                 .rotary_width = 64,
                 .offsets = 2,
                 .masks = 2,
                 .mask_rows = 8,
                 .biases = 2,
                 .window = 5,
                 .type = DType::f16}),
      make_case({.queries = 7,
                 .keys = 2500,
                 .heads = 2,
                 .kv_heads = 1,
                 .low = 2400,
                 .high = 2493,
                 .rotary_width = 64,
                 .sinks = true}),
      make_case({.batches = 3,
                 .keys = 1500,
                 .heads = 2,
                 .kv_heads = 1,
                 .low = 1000,
                 .high = 1499,
                 .rotary_width = 64,
                 .offsets = 3}),
      make_case({.keys = 2049, .heads = 2, .kv_heads = 1, .low = 1900, .high = 2048, .rotary_width = 64}),
      make_case({.batches = 9, .keys = 4097, .heads = 16, .kv_heads = 1, .low = 150, .high = 4096, .window = 2300}),
      make_case({.keys = 2500, .low = -1, .high = -1}),
      make_case({.keys = 2500, .heads = 2, .low = 2500, .high = 2500}),
      make_case({.batches = 2,
                 .keys = 2500,
                 .heads = 2,
                 .low = 150,
                 .high = 2499,
                 .masks = 2,
                 .biases = 1,
                 .window = 37,
                 .softcap = 2,
                 .sinks = true}),
      make_case({.keys = 600, .heads = 2, .kv_heads = 2, .head_width = 16, .value_width = 16, .low = 550, .high = 599}),
      make_case({.batches = 2, .keys = 131, .heads = 2, .low = 0, .high = 130, .rotary_width = 64, .offsets = 1}),
      make_case({.keys = 67, .heads = 2, .head_width = 512, .value_width = 512, .low = 50, .high = 66}),
      make_case({.batches = 3, .keys = 211, .heads = 4, .kv_heads = 2, .low = -1, .high = 211, .own_positions = true}),
      make_case({.batches = 5,
                 .keys = 2500,
                 .heads = 2,
                 .low = 1,
                 .high = 2499,
                 .own_positions = true,
                 .rotary_width = 64,
                 .offsets = 5}),
      make_case({.batches = 2,
                 .keys = 211,
                 .heads = 4,
                 .kv_heads = 2,
                 .low = 150,
                 .high = 210,
                 .column = 1,
                 .type = DType::f16}),
      // Its own key and value are beyond an f16, and so is the rest by its product with that.
      make_case({.keys = 1, .type = DType::f16, .size = 131008}),
      make_case({.batches = 3,
                 .keys = 2500,
                 .heads = 2,
                 .head_width = 80,
                 .value_width = 16,
                 .low = 2100,
                 .high = 2499,
                 .rotary_width = 64,
                 .offsets = 3,
                 .type = DType::f16}),
      make_case({.keys = 131, .heads = 2, .low = 0, .high = 130, .rotary_width = 64, .type = DType::bf16}),
      make_case({.batches = 3,
                 .keys = 131,
                 .heads = 6,
                 .kv_heads = 2,
                 .head_width = 20,
                 .value_width = 132,
                 .low = 40,
                 .high = 130,
                 .column = 3,
                 .rotary_width = 14,
                 .masks = 3,
                 .biases = 1,
                 .window = 37,
                 .interleaved = true,
                 .softcap = 2,
                 .sinks = true}),
  };
}

}  // namespace vkformer
