#pragma once
// Rows of tensors that several architectures of GGUF files share, and those of the longer ones; internal to this
// folder.

#include <vector>

#include "models/gguf/architectures.h"

namespace vkformer {

template <class Row>
std::vector<Row> with(std::vector<Row> rows, const std::vector<Row>& more) {
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}
/// All but the norms.
std::vector<TensorRow> without_norms(std::vector<TensorRow> rows);

/// Tensors of LLaMA and its kin, with the arrangement of q and k.
std::vector<TensorRow> llama_tensors(RowOrder queries = RowOrder::same, RowOrder keys = RowOrder::same);
/// The same rows with one norm in a layer; with gate and up in one tensor.
std::vector<TensorRow> one_norm(std::vector<TensorRow> rows);
std::vector<TensorRow> joint_gates(std::vector<TensorRow> rows);
/// Norms of what a layer's parts give, and the last one.
std::vector<TensorRow> norms_behind();
/// A router and experts in place of the feed-forward layers.
std::vector<TensorRow> expert_tensors();
/// What Qwen's mixtures have besides: an expert for all texts.
std::vector<TensorRow> shared_expert_tensors();
/// Mixtral's. Its first files have each expert apart.
std::vector<TensorRow> mixtral_tensors();
std::vector<TensorRow> gpt_oss_tensors();
/// LFM2's, of feed-forward layers and of mixtures.
std::vector<TensorRow> lfm2_tensors();
/// ERNIE 4.5's mixtures.
std::vector<TensorRow> ernie_moe_tensors();
/// Hunyuan's, without experts and with them.
std::vector<TensorRow> hunyuan_tensors();
std::vector<TensorRow> hunyuan_moe_tensors();
/// GLM 4.5's.
std::vector<TensorRow> glm4_moe_tensors();
/// Those of latent attention and DeepSeek's mixtures. Older files have the heads' matrices for keys and values in one
/// tensor, as Hugging Face does.
std::vector<TensorRow> deepseek_tensors();
/// Granite's, with the names of a Granite 4 that is nothing else, too; its mixtures; Granite 4's, with state spaces,
/// and feed-forward layers that experts stand beside or not.
std::vector<TensorRow> granite_tensors();
std::vector<TensorRow> granite_moe_tensors();
std::vector<TensorRow> granite_hybrid_tensors();
/// Falcon-H1's, which are as if its factors were in its weights.
std::vector<TensorRow> falcon_h1_tensors();
/// Nemotron-H's, with experts or without.
std::vector<TensorRow> nemotron_tensors();
/// Norms of queries and keys, whose gains lack `added`.
std::vector<TensorRow> query_norms(float added = 0);
std::vector<TensorRow> gemma_tensors();
/// Qwen3.5's, with norms like Gemma's, and delta nets.
std::vector<TensorRow> qwen3_5_tensors();
/// Qwen3-Next's: the same, whose heads of values lie as in Hugging Face's files, as in older files all does.
std::vector<TensorRow> qwen3_next_tensors();
/// Gemma 2 and 3: norms before and behind each part.
std::vector<TensorRow> gemma2_tensors();
/// Gemma 4: the same with gains as they are, inputs of layers, and a mixture beside each feed-forward layer.
std::vector<TensorRow> gemma4_tensors();
std::vector<TensorRow> t5_tensors();

/// The architectures of LLaMA and its kin.
std::vector<GgufArchitecture> decoder_architectures();

}  // namespace vkformer
