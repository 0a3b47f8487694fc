#pragma once
// The settings that attention's kernels are proved with, from which attention_cases.cpp makes the cases.

#include <vector>

#include "runtime/tensor.h"

namespace vkformer::attention_settings {

/// One shape, from which the cases of all three ops are made.
struct Setting {
  struct Sizes {
    int64_t B = 1, T = 1, S = 1, heads = 1, kv_heads = 1;
  } sizes = {};
  /// `shared`: values are the first columns of the keys, which has no gradient.
  enum class Layout { separate, packed, packed_kv, shared } layout = Layout::separate;
  int64_t margin = 0;  ///< columns that belong to nobody, before q, k and v
  bool causal = true;
  bool with_position = false;
  bool own_positions = false;  ///< of each batch; without gradients
  double low_position = 0, high_position = 0;
  double dropout = 0;
  double size = 1;                   ///< q, k and v are in [-size, size]
  double scale = 0;                  ///< 0: 1 / sqrt(D)
  int64_t masks = 0, mask_rows = 0;  ///< shape of the mask; 0: none
  double mask_high = 1;              ///< 0: it hides everything
  int64_t biases = 0;                ///< batches of the bias; 0: none
  int64_t window = 0;
  double softcap = 0;
};
using Layout = Setting::Layout;

/// Settings of one set of specialization constants: head widths, and which of dropout, mask, bias, window, softcap and
/// sinks there are. Each set costs a pipeline for each kernel and variant, what varies inside it costs none; so there
/// are few sets. With each of these there is one that has it and one that lacks it, for kernels of both rooms.
struct Family {
  int64_t D, Dv;
  std::vector<Setting> settings;
  DType type = DType::f32;  ///< of q, k and v; of another one only k and v
  /// Whether tiles of 64 run it, too, which are those of 32 in other sizes and compile for up to half a minute.
  bool large_tiles = true;
  bool float_queries = false;  ///< q is f32 whatever `type` is
  bool sinks = false;
};

/// Of f32, of all three ops.
std::vector<Family> float_families();
/// Of 16 bits, of attention and its gradients.
std::vector<Family> half_families();
/// f32 queries over caches of 16 bits, which have no gradients.
std::vector<Family> cache_families();

}  // namespace vkformer::attention_settings
