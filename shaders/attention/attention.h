#pragma once
// Scaled dot-product attention without the T x S matrix in device memory (Dao et al., "FlashAttention", 2022: running
// softmax forward, weights computed again from log_sum_exp backward).

#include "runtime/device_facts.h"
#include "runtime/graph.h"

namespace vkformer {

/// Columns [column + h * width, column + (h + 1) * width) of `value` [B, T, columns] hold head h, so q, k and v may lie
/// in one packed projection, in separate tensors, or in a cache. Where nothing is differentiated, values may be columns
/// of the keys (multi-head latent attention).
struct HeadColumns {
  Value value;
  int64_t column = 0;
};

/// Columns of a head that kernels take.
inline constexpr int64_t most_head_width = 576;

struct AttentionOptions {
  int64_t heads = 1;        ///< H, of q
  int64_t kv_heads = 0;     ///< of k and v; 0: H. Query head h uses key head h / (heads / kv_heads)
  int64_t head_width = 1;   ///< D, of q and k: 1 to most_head_width
  int64_t value_width = 0;  ///< of v; 0: D
  float scale = 0;          ///< of the scores; 0: 1 / sqrt(D)
  /// Query t sees the keys s <= t + (S - T), or s <= t + position; otherwise the later ones too.
  bool causal = true;
  /// i32 [1], or [B] of each batch (which has no gradient, nor dropout), optional, needs `causal`: cached keys before
  /// the first query, when k and v are caches of capacity S.
  /// Without a cache, n with a window of 2 n + 1: query t sees the keys at most n away on either side.
  Value position = {};
  int64_t window = 0;  ///< query t sees only the keys s > t + (S - T) - window, or s > t + position - window; 0: all
  float softcap = 0;   ///< scores stay between -softcap and softcap (Gemma 2); 0: as they are
  /// f32 [B or 1, H, T, S], optional: added to the scores, after scale and softcap. Batch 1 holds for every batch, and
  /// gets the sum of their gradients.
  Value bias = {};
  /// f32 [H], optional: one more score in each row's softmax, whose weight goes to no value (as gpt-oss has learned it;
  /// Xiao et al., "Efficient Streaming Language Models with Attention Sinks", 2023).
  Value sinks = {};
  /// i32 [B or 1, T or 1, S], optional: query t sees key s only where it is not 0 (and the rules above let it):
  /// padding, key lengths, permutations. Batch 1 holds for every batch, one row for every query.
  Value mask = {};
  float dropout = 0;   ///< probability that a weight is dropped; those kept are scaled by 1 / (1 - dropout)
  Value seed = {};     ///< i32 [2]: {seed, step}; needed by dropout
  int64_t stream = 0;  ///< dropout's second key: another one for each use
};

/// result[b, t, h * Dv + c] = sum over s of softmax_s(score) * v, heads side by side: [B, T, H * value_width], with
///   score = cap(scale * q . k) + bias,  cap(x) = softcap * tanh(x / softcap), or x without a softcap
/// over the keys s that query t sees, and the head's sink where there are sinks: where p = t + (S - T), or t +
/// position,
///   s <= p if causal, s > p - window if there is a window, and mask is not 0.
/// A query that sees no key gives zeros. Where q, k and v lie in one tensor without overlapping (or k and v do), its
/// gradient is one tensor, written in place by the backward kernels. They are of one type, which the result has, too;
/// only where nothing is differentiated, q may be f32 and k and v of 16 bits, as in a cache. 16-bit ones need even
/// widths, first columns and columns of tensors. Sums are f32. Throws Error when shapes, columns, types or options
/// disagree.
///
/// Dropout keeps weight s of row r = (b * H + h) * T + t iff word s % 4 of Philox4x32-10 with counter
/// (s / 4, r, step, 0) and key (seed, stream), as a uniform number in [0, 1), is at least `dropout`.
Value attention(Graph& graph, HeadColumns q, HeadColumns k, HeadColumns v, const AttentionOptions& options);

/// The weights of an `attention` node of `graph`, which it never forms: softmax over the keys that a query sees, before
/// dropout, [B, H, T, S]; what a sink takes is missing from a row's sum; zeros for a query that sees none. Not
/// differentiable: for inspection and verification.
Value attention_weights(Graph& graph, const Node& attention_node);
bool is_attention(const Node& node);
/// Of an attention without a cache: whether no query sees a key behind its own.
bool looks_back(const Node& attention_node);

/// Whether this attention with f32 queries goes to matrix cores once those of q, k and v that are f32 are rounded to
/// `type`, which costs a pass over each of them, and what that saves is worth it. `of_cache`: the keys are a cache's,
/// of which only few may be seen.
bool matrix_attention_pays(const Node& node, DType type, const DeviceFacts& facts, bool of_cache);

}  // namespace vkformer
