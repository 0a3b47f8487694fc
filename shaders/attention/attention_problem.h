#pragma once
// What one attention node asks for, read from its attributes and input types; internal to this folder.

#include "runtime/op.h"

namespace vkformer {

/// Inputs of `attention`. `k` absent: in q's tensor; `v` absent: in k's tensor. `attention_backward` has the same, then
/// its own.
enum AttentionInput : size_t {
  attention_q,
  attention_k,
  attention_v,
  attention_position,
  attention_seed,
  attention_mask,
  attention_bias,
  attention_sinks,
  attention_inputs,
  attention_result = attention_inputs,
  attention_log_sum_exp,
  attention_upstream,
  attention_backward_inputs
};
/// Those with a gradient: an output of `attention_backward` each, where present.
constexpr size_t attention_differentiable[] = {attention_q, attention_k, attention_v, attention_bias, attention_sinks};
/// Which of those outputs is the gradient of an input that is present.
size_t gradient_output(const Node& node, size_t input);
/// `attention_weights` has those of `attention`, then this.
constexpr size_t attention_weights_log_sum_exp = attention_inputs;

/// Columns of one of q, k, v in the tensor that holds it.
struct HeadSource {
  size_t input = 0;    ///< which of the node's inputs
  int64_t column = 0;  ///< where head 0 begins
  int64_t stride = 0;  ///< columns of the tensor
  int64_t width = 0;   ///< columns of all heads together
  DType type = DType::f32;

  /// Where column 0 of its head 0 begins in the tensor's first row, in bytes.
  uint64_t offset() const { return static_cast<uint64_t>(size_of(type) * column); }
};

struct AttentionProblem {
  static constexpr int64_t most_decode_queries = 8;

  int64_t batches = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_width = 0;
  int64_t value_width = 0;
  double scale = 0;
  bool causal = false;
  bool has_position = false;
  bool position_shared = true;  ///< by all batches
  int64_t mask_rows = 0;        ///< rows of a batch's mask: T, or 1 for all queries; 0 without a mask
  bool mask_shared = false;     ///< all batches have one mask
  bool has_bias = false;
  bool bias_shared = false;  ///< all batches have one bias
  bool has_sinks = false;
  double dropout = 0;
  int64_t stream = 0;
  int64_t window = 0;
  double softcap = 0;
  DType type = DType::f32;  ///< of q and the result; of k and v, too, unless mixed()
  HeadSource q, k, v;

  /// Of a node whose types passed check_attention.
  explicit AttentionProblem(const Node& node);

  int64_t group() const { return heads / kv_heads; }
  /// Queries of f32 meet keys and values of 16 bits, as a cache may have.
  bool mixed() const { return k.type != type; }
  int64_t rows() const { return batches * heads * queries; }
  /// Query t sees the keys [key_begin, key_end), but for masked ones. `position` is the value of that input, if there
  /// is one.
  int64_t key_begin(int64_t t, int64_t position) const;
  int64_t key_end(int64_t t, int64_t position) const;
  /// Pairs of query and key that see each other, for all heads and batches; with a position, the most there can be.
  double visible_pairs() const;
};

/// Throws Error unless the first `attention_inputs` inputs and the attributes of `node` fit together.
void check_attention(const Node& node);
/// The same where keys and values share columns, whose gradient would be a sum.
void check_keys_apart(const Node& node);

void attention_reference(const Node& node, Inputs in, Outputs out);
void attention_backward_reference(const Node& node, Inputs in, Outputs out);
void attention_weights_reference(const Node& node, Inputs in, Outputs out);
std::vector<Case> attention_cases();
std::vector<Case> attention_backward_cases();
std::vector<Case> attention_weights_cases();
std::vector<Case> cached_attention_cases();

std::vector<std::string_view> attention_candidates(const Node& node, const DeviceFacts& facts);
KernelRoom attention_room(std::string_view candidate);
int64_t attention_scratch(const Node& node, const DeviceFacts& facts, std::string_view candidate);
void attention_record(Recorder& recorder, const Node& node);
void attention_weights_record(Recorder& recorder, const Node& node);
std::vector<std::string_view> attention_backward_candidates(const Node& node, const DeviceFacts& facts);
KernelRoom attention_backward_room(std::string_view candidate);
int64_t attention_backward_scratch(const Node& node, const DeviceFacts& facts, std::string_view candidate);
void attention_backward_record(Recorder& recorder, const Node& node);

}  // namespace vkformer
