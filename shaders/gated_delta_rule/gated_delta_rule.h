#pragma once
// The gated delta rule (Yang et al. 2024, "Gated Delta Networks"): attention whose memory of what went before is one
// matrix a head, of constant size.

#include "runtime/graph.h"

namespace vkformer {

/// Heads side by side in x [B, T, 2 Hk Dk + H Dv]: queries, keys [Hk, Dk], then values [H, Dv]. Of H / Hk neighbouring
/// value heads each reads the same key head.
struct DeltaHeads {
  int64_t key_heads = 1, heads = 1;        ///< Hk, H
  int64_t key_width = 1, value_width = 1;  ///< Dk, Dv, at most 256
  bool values_first = false;               ///< rows of x are values, keys, queries
  bool corrects = true;                    ///< false: v stands for v - S' k (Dao & Gu 2024, "Mamba 2")
  int64_t keys() const { return key_heads * key_width; }
  int64_t values() const { return heads * value_width; }
  int64_t columns() const { return 2 * keys() + values(); }
};

struct GatedDeltaRule {
  Value x;           ///< [B, T, columns()]
  Value gates;       ///< [B, T, 2 H]: beta of each head, then g, which is at most 0
  Value texts = {};  ///< optional i32 [B, T]: which text of its row a position belongs to; 0: none, skipped
  Value skip = {};   ///< optional [H]
  DeltaHeads heads;
};

/// y [B, T, H Dv]: for each head, with a state S [Dk, Dv] that begins as zeros, at each position
///   S = exp(g) S,  S = S + k (beta (v - S' k))',  y = S' q + skip v
/// Where a position's text is not that of the one before it, be that none, the state begins anew; y is 0 where texts is
/// 0. All f32.
/// Throws Error when the shapes disagree.
Value gated_delta_rule(Graph& graph, const GatedDeltaRule& of);

/// The same, going on from `state` [B, H Dv, Dk], the transposed S of each row, which is changed in place; but where
/// `position`, i32 [1] or [B] of each row, is 0, from zeros. The first position goes on with the text that the state is
/// of. Not differentiable.
Value continued_delta_rule(Graph& graph, const GatedDeltaRule& of, Value state, Value position);

}  // namespace vkformer
