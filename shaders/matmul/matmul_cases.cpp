#include "shaders/matmul/matmul_cases.h"

#include <algorithm>

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

std::vector<Case> matmul_cases() {
  std::vector<Case> list;
  const Epilogue all_gelu{.bias = true, .activation = Activation::gelu, .residual = true, .scale = 0.5};
  for (Layout layout : {Layout::nn, Layout::nt, Layout::tn}) {
    const auto add = [&](int64_t m, int64_t n, int64_t k, const Epilogue& epilogue = {}) {
      list.push_back(make_case(layout, {}, false, m, n, k, epilogue));
    };
    add(1, 1, 1);
    add(5, 3, 7, all_gelu);
    add(67, 41, 37);                                // odd everywhere
    add(38, 130, 22, {.bias = true, .scale = -2});  // even, no multiple of 4
    add(64, 64, 64, {.residual = true});            // whole tiles
    add(36, 68, 100);                               // multiples of 4
    add(33, 65, 131, all_gelu);
    // K in blocks.
    add(13, 48, 270, all_gelu);
    list.push_back(make_case(layout, {2}, true, 13, 35, 270, {.bias = true, .residual = true, .scale = 0.5}));
    add(2, 48, 192, {.bias = true, .activation = Activation::relu, .residual = true});
    // Several products, some of them starting unaligned.
    list.push_back(make_case(layout, {3}, true, 5, 7, 11));
    list.push_back(make_case(layout, {2, 2}, true, 34, 20, 66, {.bias = true, .residual = true, .scale = 0.125}));
  }
  // Leading dimensions of a join its rows.
  list.push_back(make_case(Layout::nn, {2, 3}, false, 7, 9, 10, {.bias = true, .activation = Activation::gelu_tanh}));
  list.push_back(
      make_case(Layout::nt, {5}, false, 13, 65, 16, {.activation = Activation::gelu_tanh, .residual = true}));
  for (Activation activation : {Activation::silu, Activation::tanh, Activation::quick_gelu})
    list.push_back(make_case(Layout::nt, {}, false, 35, 21, 19, {.bias = true, .activation = activation}));
  list.push_back(make_case(Layout::tn_joined, {3}, false, 17, 10, 23, {.scale = 3}));
  list.push_back(make_case(Layout::tn_joined, {2, 4}, false, 32, 64, 32));
  // Few rows: every row count of the vector kernel's either layout, aligned or not.
  for (int64_t rows = 1; rows <= 8; ++rows)
    list.push_back(make_case(rows % 2 ? Layout::nn : Layout::nt, {}, false, rows, rows < 5 ? 96 : 97,
                             rows < 4 ? 68 : 69, {.bias = rows % 3 == 0}));
  list.push_back(make_case(Layout::nt, {3}, true, 1, 37, 20));
  for (int64_t rows : {1, 3, 4}) list.push_back(make_case(Layout::nt, {}, false, rows, 8 * rows + 5, 320, all_gelu));
  list.push_back(make_case(Layout::nn, {3}, true, 3, 36, 20, {.activation = Activation::relu, .scale = -1}));
  // Rows of b a multiple of 4 KiB apart: many rows of a, and few.
  for (int64_t rows : {33, 2}) list.push_back(make_case(Layout::nt, {}, false, rows, 35, 1024));
  // 16-bit operands: b alone as in a weight, or both, in all layouts; odd, and at whole quads.
  for (DType half : {DType::f16, DType::bf16})
    for (Layout layout : {Layout::nn, Layout::nt, Layout::tn})
      for (bool both : {false, true}) {
        if (!both && layout == Layout::tn) continue;
        const auto add = [&](Case c) {
          c.inputs[1].type.dtype = half;
          if (both) c.inputs[0].type.dtype = half;
          list.push_back(std::move(c));
        };
        add(make_case(layout, {}, false, 35, 41, 37, all_gelu));
        add(make_case(layout, {}, false, 36, 68, 100, {.bias = true}));
        if (!both) add(make_case(layout, {}, false, 1, 68, 36));
        if (!both) add(make_case(layout, {}, false, 2, 19, 144, {.bias = true}));
        if (!both && layout == Layout::nt) add(make_case(layout, {}, false, 2, 35, 2048));
        // Several blocks of several products, the second of which begins in the middle of a word.
        if (both) add(make_case(layout, {2}, true, 67, 131, 67, {.bias = true, .residual = true, .scale = -0.5}));
      }
  return list;
}

}  // namespace vkformer
