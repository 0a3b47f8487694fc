#pragma once
// What a matmul kernel is: a row of its room's table, gpu/kernels.cpp or software/kernels.cpp. Adding a kernel is
// adding its .comp and its row there.

#include <span>

#include "runtime/recorder.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/matmul/matmul.args.h"

namespace vkformer {

/// The sizes and flags of a matmul node: `batch` products y[M, N] = op(a)[M, K] op(b)[K, N].
struct MatmulProblem {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  DType a_type = DType::f32, b_type = DType::f32, y_type = DType::f32;
  float scale = 1;
  Activation activation = Activation::none;
  bool saturated = false;  ///< finite results that an f16 can't hold become the largest
};

/// Inputs a, b, bias?, residual?; outputs y and, with an activation, the value before it.
MatmulProblem matmul_problem(const Node& node);

/// What ranges of K compute of it.
inline MatmulProblem sums_of(MatmulProblem p) {
  p.y_type = DType::f32;
  return p;
}

/// Tiles of rows x columns outputs that cover all products.
int64_t tile_count(const MatmulProblem& p, int64_t rows, int64_t columns);

/// A product about to be dispatched.
struct MatmulWork {
  const MatmulProblem& p;
  MatmulArgs args;
  uint32_t activation;  ///< of these dispatches: none where another one finishes their sums

  /// Whether every stored row of an operand starts at a multiple of `elements` elements.
  bool a_aligned(int64_t elements) const;
  bool b_aligned(int64_t elements) const;
  /// The same of y and, where there is one, of the residual.
  bool y_aligned(int64_t elements) const;
  bool has(uint flag) const { return (args.flags & flag) != 0; }  ///< MATMUL_*
  /// A residual that needs no activation before it: the first value of a sum.
  bool adds_residual_only() const { return activation == 0 && has(MATMUL_RESIDUAL); }
};

/// The variant for these types: "f32", "f32_f16", "f32_bf16", "f16", "bf16", with 16-bit results "f16_y", "bf16_y",
/// with blocks "f32_q8_0" and the like.
std::string_view variant_of(const MatmulProblem& p);

/// Ranges of K that are summed side by side, each of which has some of it.
struct SplitRanges {
  int64_t count, length;
};
/// `count` ranges, or fewer, that start at multiples of `step`, so that kernels keep their aligned loads.
SplitRanges even_ranges(int64_t k, int64_t count, int64_t step = 16);
/// So many that `tiles` tiles make that many workgroups: at least 2, where K is 64 or more.
SplitRanges ranges_to_fill(const MatmulProblem& p, int64_t workgroups, int64_t tiles);

struct MatmulKernel {
  std::string_view name;
  KernelRoom room;
  bool (*legal)(const MatmulProblem&, const DeviceFacts&);
  /// Whether it goes before all that are merely legal; asked only where it is legal. Of several, the first row wins:
  /// rows go from the most special to the most general, and what is merely legal is tried from the last row up.
  bool (*first)(const MatmulProblem&, const DeviceFacts&);
  bool half_results = false;  ///< whether it can store 16-bit results
  bool blocks = false;        ///< whether it can read b as encoded blocks

  // Either one dispatch,
  Launch (*launch)(const DeviceFacts&, const MatmulWork&) = nullptr;
  /// or one for several ranges of K side by side, for devices with more cores than the product has tiles; then
  /// matmul_reduce adds up their sums.
  SplitRanges (*ranges)(const MatmulProblem&, const DeviceFacts&) = nullptr;

  // or several of its own, with a workspace of so many bytes.
  void (*record)(Recorder&, const MatmulWork&) = nullptr;
  int64_t (*scratch)(const MatmulProblem&, const DeviceFacts&) = nullptr;
};

/// The tables of the rooms.
std::span<const MatmulKernel> matmul_gpu_kernels();
std::span<const MatmulKernel> matmul_software_kernels();

}  // namespace vkformer
