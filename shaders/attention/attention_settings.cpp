#include "shaders/attention/attention_settings.h"

namespace vkformer::attention_settings {

namespace {

/// None of them: training and decoding of most models. With few queries there is one, so that decoding kernels compute
/// one row; with few keys, gradients of them come a vector at a time.
Family plain() {
  return {64,
          64,
          {
              {.sizes = {2, 19, 19, 2, 2}, .layout = Layout::packed},
              {.sizes = {1, 11, 11, 3, 3}, .layout = Layout::packed, .margin = 1},
              {.sizes = {1, 37, 37, 1, 1}, .layout = Layout::packed, .margin = 2},
              {.sizes = {1, 70, 70, 2, 2}, .layout = Layout::packed, .size = 4},
              {},
              {.sizes = {1, 11, 23, 2, 2}, .causal = false},
              {.sizes = {2, 17, 6, 2, 2}, .layout = Layout::packed_kv, .causal = false},
              {.sizes = {1, 33, 33, 4, 2}},
              {.sizes = {1, 17, 40, 3, 1}},
              {.sizes = {1, 13, 4, 2, 1}},  // the first queries see nothing
              {.sizes = {3, 1, 50, 2, 2}, .with_position = true, .high_position = 45},
              {.sizes = {2, 9, 70, 6, 2}, .with_position = true, .low_position = 31, .high_position = 68},
              {.sizes = {1, 11, 9, 1, 1}, .with_position = true, .low_position = -4, .high_position = -2},
              {.sizes = {5, 1, 70, 4, 2}, .own_positions = true, .low_position = -1, .high_position = 71},
              {.sizes = {3, 37, 90, 2, 1}, .own_positions = true, .low_position = -9, .high_position = 60},
              {.sizes = {1, 10, 9, 1, 1}, .with_position = true, .low_position = 60, .high_position = 70},
              {.sizes = {1, 139, 139, 2, 1}, .size = 2},  // several blocks of every kernel
              {.sizes = {1, 1, 300, 2, 2}, .size = 3},
              {.sizes = {1, 1, 131, 2, 2}, .causal = false, .scale = 1},
              {.sizes = {1, 23, 23, 1, 1}, .window = 23},  // hides nothing
          }};
}

/// All but dropout. With few queries there are eight rows or more for each key head, as decoding kernels compute at
/// most eight. Masks hide all keys of some queries, and of a whole part of the keys.
Family ruled() {
  return {
      10,
      6,
      {
          {.sizes = {2, 70, 70, 2, 1}, .size = 3, .masks = 2, .mask_rows = 70, .biases = 1, .window = 5, .softcap = 50},
          {.sizes = {1, 67, 67, 1, 1},
           .layout = Layout::packed,
           .masks = 1,
           .mask_rows = 1,
           .biases = 1,
           .window = 1,
           .softcap = 2},
          {.sizes = {1, 41, 61, 2, 2}, .size = 8, .masks = 1, .mask_rows = 1, .biases = 1, .window = 33, .softcap = 2},
          {.sizes = {2, 29, 31, 1, 1},
           .causal = false,
           .size = 2,
           .masks = 1,
           .mask_rows = 29,
           .biases = 2,
           .window = 7,
           .softcap = 1.5},
          {.sizes = {7, 9, 10, 2, 1},
           .causal = false,
           .masks = 7,
           .mask_rows = 1,
           .biases = 7,
           .window = 2,
           .softcap = 5},
          {.sizes = {3, 21, 21, 2, 2},
           .layout = Layout::packed,
           .margin = 1,
           .causal = false,
           .masks = 3,
           .mask_rows = 1,
           .biases = 3,
           .window = 20,
           .softcap = 3},
          {.sizes = {1, 33, 9, 1, 1},
           .causal = false,
           .masks = 1,
           .mask_rows = 1,
           .mask_high = 0,
           .biases = 1,
           .window = 8,
           .softcap = 3},
          {.sizes = {2, 71, 71, 2, 1},  // a window to both sides
           .with_position = true,
           .low_position = 9,
           .high_position = 9,
           .size = 2,
           .masks = 2,
           .mask_rows = 1,
           .biases = 1,
           .window = 19,
           .softcap = 3},
          {.sizes = {2, 101, 101, 1, 1},
           .layout = Layout::packed_kv,
           .margin = 2,
           .masks = 2,
           .mask_rows = 101,
           .biases = 1,
           .window = 3,
           .softcap = 3},
          {.sizes = {2, 3, 257, 6, 2},
           .with_position = true,
           .low_position = 150,
           .high_position = 254,
           .size = 4,
           .masks = 2,
           .mask_rows = 3,
           .biases = 1,
           .window = 170,
           .softcap = 5},
          {.sizes = {1, 5, 50, 4, 2},
           .with_position = true,
           .low_position = 2,
           .high_position = 40,
           .masks = 1,
           .mask_rows = 1,
           .biases = 1,
           .window = 1,
           .softcap = 5},
          {.sizes = {1, 7, 9, 2, 1},
           .with_position = true,
           .low_position = 9,
           .high_position = 14,
           .masks = 1,
           .mask_rows = 7,
           .biases = 1,
           .window = 6,
           .softcap = 5},
          {.sizes = {2, 8, 131, 2, 1},
           .causal = false,
           .masks = 2,
           .mask_rows = 1,
           .biases = 2,
           .window = 100,
           .softcap = 20},
          {.sizes = {2, 8, 11, 1, 1},
           .causal = false,
           .masks = 2,
           .mask_rows = 8,
           .mask_high = 0,
           .biases = 1,
           .window = 9,
           .softcap = 3},
      },
      DType::f32,
      true,
      false,
      true};
}

/// Bias, window and dropout.
Family windowed_dropout() {
  return {10,
          6,
          {
              {.sizes = {2, 21, 21, 2, 2}, .layout = Layout::packed, .dropout = 0.3, .biases = 1, .window = 20},
              {.sizes = {1, 9, 13, 2, 1}, .causal = false, .dropout = 0.6, .size = 2, .biases = 1, .window = 11},
              {.sizes = {2, 41, 53, 2, 2}, .dropout = 0.4, .biases = 2, .window = 37},
              {.sizes = {2, 43, 43, 2, 1}, .layout = Layout::packed, .dropout = 0.25, .biases = 1, .window = 12},
              {.sizes = {1, 131, 150, 2, 1}, .dropout = 0.25, .biases = 1, .window = 70},
              {.sizes = {2, 11, 40, 2, 1},
               .with_position = true,
               .low_position = 5,
               .high_position = 29,
               .dropout = 0.5,
               .biases = 2,
               .window = 17},
          },
          DType::f32,
          false};
}

/// Mask and dropout, with odd widths and a value of one column.
Family masked_dropout() {
  return {7,
          1,
          {
              {.sizes = {2, 41, 53, 2, 2}, .dropout = 0.4, .masks = 1, .mask_rows = 41},
              {.sizes = {2, 70, 70, 2, 1}, .causal = false, .dropout = 0.1, .masks = 2, .mask_rows = 70},
              {.sizes = {3, 37, 37, 2, 2},
               .layout = Layout::packed,
               .margin = 1,
               .dropout = 0.5,
               .masks = 3,
               .mask_rows = 1},
              {.sizes = {7, 9, 10, 2, 1}, .causal = false, .dropout = 0.5, .masks = 7, .mask_rows = 1},
              {.sizes = {1, 13, 40, 3, 1},
               .with_position = true,
               .low_position = 5,
               .high_position = 29,
               .dropout = 0.5,
               .masks = 1,
               .mask_rows = 1},
          },
          DType::f32,
          false};
}

/// A bias, with widths above what kernels for CPUs take: the widest, and tails.
Family wide_bias() {
  return {
      256,
      130,
      {
          {.sizes = {2, 35, 41, 2, 1}, .causal = false, .biases = 2},
          {.sizes = {2, 33, 33, 1, 1}, .layout = Layout::packed, .biases = 1},
          {.sizes = {1, 8, 131, 2, 1}, .causal = false, .biases = 1},
          {.sizes = {2, 1, 300, 2, 2}, .with_position = true, .low_position = 40, .high_position = 298, .biases = 1},
      }};
}

/// The widest, whose results several workgroups share.
Family widest() {
  return {576,
          512,
          {{.sizes = {1, 35, 41, 2, 1}},
           {.sizes = {1, 1, 71, 2, 1}},
           {.sizes = {1, 35, 41, 3, 1}, .layout = Layout::shared},
           {.sizes = {2, 1, 141, 3, 1},
            .layout = Layout::shared,
            .with_position = true,
            .low_position = 90,
            .high_position = 140}}};
}

/// 16-bit values without rules. From block to block, scores of large q and k climb by more than 16-bit weights bear.
Family plain_halves() {
  return {64,
          64,
          {
              {.sizes = {1, 70, 70, 2, 1}, .layout = Layout::packed, .margin = 8, .size = 2},
              {.sizes = {2, 37, 139, 2, 2}, .causal = false, .size = 8},
              {.sizes = {1, 40, 102, 2, 1}},  // blocks with one pair that does not see each other
          },
          DType::f16,
          false};
}

/// 16-bit values under all rules. A mask hides everything; queries lie in a cache.
Family ruled_halves() {
  return {32,
          16,
          {
              {.sizes = {2, 70, 150, 4, 2},
               .layout = Layout::packed_kv,
               .dropout = 0.25,
               .size = 3,
               .masks = 2,
               .mask_rows = 70,
               .biases = 1,
               .window = 67,
               .softcap = 4},
              {.sizes = {1, 33, 9, 2, 1},
               .causal = false,
               .dropout = 0.25,
               .masks = 1,
               .mask_rows = 1,
               .mask_high = 0,
               .biases = 1,
               .window = 8,
               .softcap = 3},
              {.sizes = {2, 11, 140, 4, 2},
               .with_position = true,
               .low_position = 75,
               .high_position = 128,
               .dropout = 0.5,
               .masks = 2,
               .mask_rows = 1,
               .biases = 2,
               .window = 70,
               .softcap = 5},
          },
          DType::f16,
          true,
          false,
          true};
}

/// A window alone: kernels for matrix cores look at single pairs only in blocks that it cuts.
Family windowed_halves() {
  return {32,
          16,
          {{.sizes = {1, 90, 150, 2, 1}, .window = 120},
           {.sizes = {2, 90, 90, 2, 1}, .with_position = true, .low_position = 20, .high_position = 20, .window = 41}},
          DType::f16,
          false};
}

/// Wide heads, whose results two workgroups share on matrix cores.
Family wide_halves() {
  return {256,
          192,
          {{.sizes = {2, 41, 53, 2, 1}, .masks = 2, .mask_rows = 1, .window = 30},
           {.sizes = {1, 70, 70, 2, 2},
            .layout = Layout::packed,
            .causal = false,
            .size = 2,
            .masks = 1,
            .mask_rows = 70,
            .window = 67}},
          DType::f16,
          false};
}

/// Heads whose gradients of keys and of values are a dispatch each on matrix cores. Dropout and a softcap are
/// ruled_halves' to prove: no model has them with such heads, and with all rules at once kernels spill on most GPUs.
Family wider_halves() {
  return {128,
          96,
          {{.sizes = {2, 41, 53, 2, 1}, .masks = 2, .mask_rows = 1, .window = 30},
           {.sizes = {1, 70, 70, 2, 2},
            .layout = Layout::packed,
            .causal = false,
            .size = 2,
            .masks = 1,
            .mask_rows = 70,
            .window = 67}},
          DType::f16,
          false};
}

/// bf16 differs from f16 by a type.
Family masked_bf16() {
  return {32,
          16,
          {{.sizes = {1, 41, 53, 2, 1}, .causal = false, .dropout = 0.25, .masks = 1, .mask_rows = 41, .biases = 1}},
          DType::bf16,
          false};
}

Family wider_bf16() { return {128, 96, {{.sizes = {1, 41, 53, 2, 1}}}, DType::bf16, false}; }
Family wide_bf16() { return {256, 192, {{.sizes = {1, 41, 53, 2, 1}}}, DType::bf16, false}; }

/// f32 queries over caches of 16 bits: one, few and many.
Family half_caches() {
  return {64,
          32,
          {
              {.sizes = {2, 1, 300, 4, 2},
               .layout = Layout::packed_kv,
               .with_position = true,
               .low_position = 150,
               .high_position = 299,
               .size = 3},
              {.sizes = {1, 8, 131, 2, 1}, .causal = false, .size = 2},
              {.sizes = {3, 2, 131, 4, 2}, .own_positions = true, .low_position = 0, .high_position = 129},
              {.sizes = {2, 70, 150, 2, 1},
               .layout = Layout::packed_kv,
               .with_position = true,
               .low_position = 5,
               .high_position = 79},
          },
          DType::f16,
          false,
          true,
          true};
}
Family half_caches_bf16() {
  return {64,
          32,
          {{.sizes = {1, 3, 41, 2, 1}, .layout = Layout::packed_kv, .margin = 2},
           {.sizes = {1, 33, 41, 2, 1}, .layout = Layout::packed_kv, .margin = 2}},
          DType::bf16,
          false,
          true};
}

}  // namespace

std::vector<Family> float_families() {
  return {plain(), ruled(), windowed_dropout(), masked_dropout(), wide_bias(), widest()};
}
std::vector<Family> half_families() {
  return {plain_halves(), ruled_halves(), windowed_halves(), wide_halves(),
          wider_halves(), masked_bf16(),  wider_bf16(),      wide_bf16()};
}
std::vector<Family> cache_families() { return {half_caches(), half_caches_bf16()}; }

}  // namespace vkformer::attention_settings
