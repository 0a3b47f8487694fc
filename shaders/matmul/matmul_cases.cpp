#include "shaders/matmul/matmul_cases.h"

#include <algorithm>

#include "runtime/encoding/encoding.h"
#include "shaders/common/result_type.h"
#include "shaders/elementwise/elementwise.h"

namespace vkformer {

namespace {

enum class Layout : uint8_t { nn, nt, tn, tn_joined };

struct Epilogue {
  bool bias = false;
  Activation activation = Activation::none;
  bool residual = false;
  double scale = 1;
};

Shape joined(const std::vector<int64_t>& head, std::initializer_list<int64_t> tail) {
  std::vector<int64_t> dimensions = head;
  dimensions.insert(dimensions.end(), tail);
  return Shape(dimensions);
}

/// `head`: leading dimensions; of both operands with `batched` or when the rows are joined, else of a alone.
Case make_case(Layout layout, std::vector<int64_t> head, bool batched, int64_t m, int64_t n, int64_t k,
               const Epilogue& epilogue = {}) {
  Shape a = joined(head, {m, k}), b = joined(batched ? head : std::vector<int64_t>{}, {k, n}), y = joined(head, {m, n});
  if (layout == Layout::nt) b = joined(batched ? head : std::vector<int64_t>{}, {n, k});
  if (layout == Layout::tn) a = joined(head, {k, m});
  if (layout == Layout::tn_joined) {
    a = joined(head, {k, m}), b = joined(head, {k, n}), y = Shape{m, n};
    k *= Shape(head).elements();
  }
  const bool transpose_a = layout == Layout::tn || layout == Layout::tn_joined;
  // Positive operands keep ReLU away from its kink, which finite differences cannot cross; scale chooses the side.
  const double low = epilogue.activation == Activation::relu ? 0.1 : -1;
  return {.inputs = {{.type = {a}, .low = low},
                     {.type = {b}, .low = low},
                     {.type = {Shape{n}}, .absent = !epilogue.bias},
                     {.type = {y}, .absent = !epilogue.residual}},
          .attributes = {{"transpose_a", transpose_a},
                         {"transpose_b", layout == Layout::nt},
                         {"join_rows", layout == Layout::tn_joined},
                         {"scale", epilogue.scale},
                         {"activation", static_cast<double>(epilogue.activation)}},
          .reduction = std::max({k, m, n})};
}

}  // namespace

// Sizes are push constants and cost nothing; alignment, layout, activation, types and the height of a few rows are
// constants of pipelines, which software drivers compile for up to seconds. So sizes come from a few classes: odd or
// whole quads; K below 64 where no kernel splits it; rows of 67 to 72, which are one number of tiles everywhere. Tiles
// of 64 are those of 32 with fewer loads each: f32 proves their layouts, 16-bit results that sums of ranges are
// rounded. Those with the shares of tiles of 128 are proved where these are and rows are whole quads.
std::vector<Case> matmul_cases() {
  std::vector<Case> list;
  const auto add = [&](Case c, DType a_type = DType::f32, DType b_type = DType::f32) {
    c.inputs[0].type.dtype = a_type;
    c.inputs[1].type.dtype = b_type;
    c.spared = {"tile64_8x8"};
    if (b_type != DType::f32) c.spared.insert(c.spared.end(), {"tile64", "tile64_split"});
    list.push_back(std::move(c));
  };
  const Epilogue bias{.bias = true}, linear{.bias = true, .residual = true, .scale = -0.5};
  const Epilogue all_gelu{.bias = true, .activation = Activation::gelu, .residual = true, .scale = 0.5};
  constexpr Layout nn = Layout::nn, nt = Layout::nt, tn = Layout::tn;

  // Several tiles, K in several ranges and blocks: odd everywhere, and whole quads.
  for (Layout layout : {nn, nt, tn}) {
    add(make_case(layout, {}, false, 67, 41, 131, layout == nn ? linear : bias));
    add(make_case(layout, {}, false, 72, 48, 100, bias));
    list.back().spared.clear();
  }
  add(make_case(nn, {}, false, 72, 48, 270, all_gelu));
  add(make_case(tn, {}, false, 72, 48, 270, {.residual = true}));
  add(make_case(nt, {}, false, 67, 48, 1024));  // rows of b a multiple of 4 KiB apart
  // Less than a tile.
  add(make_case(nn, {}, false, 1, 1, 1));
  add(make_case(nt, {}, false, 13, 3, 7, bias));
  // Several products, some of them starting unaligned; leading dimensions that join rows, or K.
  for (Layout layout : {nn, nt, tn}) add(make_case(layout, {2, 2}, true, 67, 41, 67, {.scale = 0.125}));
  add(make_case(nn, {2, 3}, false, 12, 41, 37));
  add(make_case(Layout::tn_joined, {3}, false, 67, 41, 23, {.scale = 3}));
  // Every activation.
  for (Activation activation :
       {Activation::relu, Activation::gelu_tanh, Activation::silu, Activation::tanh, Activation::quick_gelu})
    add(make_case(nn, {}, false, 13, 21, 19, {.bias = true, .activation = activation, .scale = -1}));
  // Few rows.
  add(make_case(nn, {}, false, 1, 97, 37, bias));
  add(make_case(nn, {}, false, 8, 96, 36, all_gelu));
  add(make_case(nt, {}, false, 3, 97, 37));
  add(make_case(nt, {3}, true, 3, 37, 21, bias));
  add(make_case(nt, {}, false, 1, 96, 56, bias));
  add(make_case(nt, {}, false, 4, 35, 56, linear));
  // So long or so wide that GPUs share them out in another way.
  add(make_case(nn, {}, false, 2, 21, 1030, bias));
  add(make_case(nn, {}, false, 1, 8201, 36));
  add(make_case(nt, {}, false, 2, 35, 1030));
  add(make_case(nt, {}, false, 3, 4101, 56, bias));
  add(make_case(nt, {}, false, 8, 8201, 56), DType::f32, DType::f16);
  // 16-bit operands: b alone as in a weight, or both.
  for (DType half : {DType::f16, DType::bf16}) {
    const bool is_f16 = half == DType::f16;
    add(make_case(is_f16 ? nn : nt, {}, false, 72, 48, 100, bias), DType::f32, half);
    add(make_case(is_f16 ? nt : nn, {}, false, 16, 96, 36, bias), DType::f32, half);
    add(make_case(nn, {}, false, 13, 97, 37), DType::f32, half);
    add(make_case(nn, {}, false, 1, 96, 36), DType::f32, half);
    add(make_case(nt, {}, false, 2, 19, 56, bias), DType::f32, half);
    for (Layout layout : {nn, nt, tn}) add(make_case(layout, {}, false, 16, 96, 36, bias), half, half);
    add(make_case(nn, {}, false, 13, 97, 37), half, half);
    add(make_case(nt, {}, false, 2, 19, 56), half, half);
  }
  add(make_case(nn, {}, false, 16, 96, 36, all_gelu), DType::f16, DType::f16);
  add(make_case(nt, {}, false, 5, 35, 2048), DType::f16, DType::f16);
  // Whole vectors of 8, blocks that end within a tile, and more of them along the rows than are walked together.
  add(make_case(nn, {}, false, 76, 136, 72, linear), DType::f16, DType::f16);
  add(make_case(nt, {}, false, 580, 140, 72, linear), DType::f16, DType::f16);
  add(make_case(tn, {}, false, 136, 72, 72, linear), DType::f16, DType::f16);
  // 16-bit results: whole vectors, whole pairs alone, and K in ranges.
  const auto add_half = [&](Case c, DType half) {
    c.inputs[3].type.dtype = half;
    c.inputs[2].constant = true;  // its gradient is a sum of what was rounded
    c.attributes.set("result", static_cast<double>(half));
    add(std::move(c), half, half);
  };
  add_half(make_case(nn, {}, false, 16, 96, 36, all_gelu), DType::f16);
  add_half(make_case(nt, {}, false, 76, 136, 72, linear), DType::f16);
  add_half(make_case(tn, {}, false, 136, 72, 72, linear), DType::f16);
  add_half(make_case(nn, {}, false, 67, 42, 131, linear), DType::f16);
  list.back().spared = {"tile64", "tile64_8x8"};
  add_half(make_case(nn, {}, false, 67, 42, 131, all_gelu), DType::bf16);
  list.back().spared = {"tile64", "tile64_8x8"};
  // Most of what an f16 can't hold, inside a block, past an edge, and before an activation.
  for (Case c : {make_case(nt, {}, false, 128, 128, 64, bias), make_case(nt, {}, false, 67, 42, 64, bias),
                 make_case(nn, {}, false, 16, 96, 36, all_gelu)}) {
    add_half(std::move(c), DType::f16);
    set_saturated_result(list.back().attributes, DType::f16);
    for (CaseInput& input : list.back().inputs) input.constant = true, input.low *= 300, input.high *= 300;
    list.back().spared = {"tile64", "tile64_8x8"};
  }
  // Several blocks of matrix cores, of several products, the second of which begins in the middle of a word.
  for (Layout layout : {nn, nt, tn})
    add(make_case(layout, {2}, true, layout == nn ? 67 : 13, 131, 67, bias), DType::f16, DType::f16);
  // Whole blocks of all sizes, of which a whole workgroup of matrix cores computes one.
  add(make_case(nn, {}, false, 256, 256, 320, bias), DType::f16, DType::f16);
  add(make_case(nt, {}, false, 256, 256, 64, linear), DType::f16, DType::f16);
  add_half(make_case(tn, {}, false, 256, 256, 64, linear), DType::f16);
  // Encoded blocks of every type in one row. Tiles decode them as embedding rows do, which prove that for every type.
  // Gradients, whose products read the same blocks the other way, are q8_0's to prove.
  const auto add_blocks = [&](Case c, DType type) {
    c.inputs[0].constant = type != DType::q8_0;
    add(std::move(c), DType::f32, type);
  };
  for (DType type : block_types) add_blocks(make_case(nt, {}, false, 1, 35, 512, bias), type);
  for (DType type : {DType::q8_0, DType::q4_0, DType::q4_k, DType::q6_k})
    add_blocks(make_case(nt, {}, false, 13, 35, type == DType::q8_0 ? 512 : 256), type);  // 512: in ranges of K
  // A few rows, several products, more columns, and for gradients blocks along N.
  add_blocks(make_case(nt, {}, false, 3, 19, 96, linear), DType::q8_0);
  add_blocks(make_case(nt, {2}, true, 8, 37, 64), DType::q4_0);
  add_blocks(make_case(nt, {}, false, 1, 4101, 256, all_gelu), DType::q4_k);
  list.back().spared.push_back("tile32");
  add_blocks(make_case(nt, {2}, true, 67, 131, 64, bias), DType::q8_0);
  add_blocks(make_case(nn, {}, false, 13, 256, 37, linear), DType::q8_0);
  add_blocks(make_case(nn, {}, false, 76, 256, 72), DType::q4_k);
  // Scales below the smallest normal f16.
  add_blocks(make_case(nt, {}, false, 1, 35, 512), DType::q6_k);
  list.back().inputs[1].low = -0.01;
  list.back().inputs[1].high = 0.01;
  return list;
}

}  // namespace vkformer
