#pragma once
// LoRA (Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models"): beside a frozen W [out, in] two small
// trained matrices,
//
//   y = x W^T + s * dropout(x) A^T B^T,  A [r, in],  B [out, r],  s = alpha / r
//
// A model's graphs get these products by a rewrite, so no family knows of them. Names and defaults are PEFT's.

#include "models/model.h"

namespace vkformer {

struct LoraConfig {
  int64_t rank = 8;     ///< r
  double alpha = 8;     ///< PEFT's lora_alpha
  double dropout = 0;   ///< of the product's input, in training
  bool rslora = false;  ///< s = alpha / sqrt(r) (Kalajdzievski 2023)

  double scale() const;  ///< s
  bool operator==(const LoraConfig&) const = default;
};

/// A linear layer as a module of transformers: "model.layers.0.self_attn.q_proj".
struct LinearModule {
  std::string path;
  std::string parameter;  ///< its weight's name in files
  std::string weight;     ///< the tensor that graphs read: its own, or a joint one
  int64_t in = 0, out = 0;
  int64_t first = 0;         ///< its first row of a joint tensor
  bool input_major = false;  ///< stored [in, out] (GPT-2's Conv1D)
  bool head = false;         ///< behind the last hidden states
  bool router = false;       ///< to experts
};
/// Those of a model whose weights are read by products alone: no head that is tied to the embeddings.
std::vector<LinearModule> linear_modules(const Model& model);

/// Whether a module's path is `target` or ends with it, as in "layers.0.self_attn.q_proj" and "self_attn.q_proj".
bool ends_path(const std::string& path, const std::string& target);

/// Paths of the modules that `targets` mean: ends of paths ("q_proj", "self_attn.q_proj"), or "all-linear" for all but
/// the head and routers; none: what PEFT adapts in this family. Throws Error for a target that no module has.
std::vector<std::string> modules_of_targets(const Model& model, const std::vector<std::string>& targets);

/// The low-rank product beside those of one tensor. Modules that are parts of a joint tensor share it: A has their rows
/// one after another, and B is zero where the outputs of one meet the rank of another.
struct LowRankProduct {
  std::string weight;       ///< the tensor that graphs read
  std::string a, b;         ///< parameters A [modules * r, in] and B [out, modules * r]
  std::string blocks;       ///< constant [out, modules * r]: 1 in the blocks of B, 0 elsewhere; empty: all is one
  int64_t in = 0, out = 0;  ///< of the tensor
  std::vector<LinearModule> modules;
};

/// Whether a tensor of this name is one of these modules'.
bool is_within(const std::string& name, const std::vector<std::string>& modules);

/// Paths of the modules that are trained whole beside low-rank products, PEFT's modules_to_save: the head of what tells
/// classes or answers apart. What belongs to the body (BERT's pooler) rests, unless it is one of the parameters `anew`,
/// which the base's files lack. Throws Error for a head of masked words that they lack.
std::vector<std::string> whole_modules(const Model& model, const std::vector<std::string>& anew = {});

/// What is trained of a model whose own parameters rest.
struct Adapter {
  LoraConfig config;
  std::string base;  ///< what its files call the model
  std::vector<LowRankProduct> products;
  std::vector<std::string> whole;  ///< modules that are trained themselves
};

/// Gives the model an adapter for the modules of these paths, and freezes its own parameters but for those of `whole`,
/// modules that get no products and are f32. `base`: what the adapter's files call the model. Throws Error for a path
/// that is none of linear_modules(), and for a model that has an adapter.
void adapt(Model& model, const LoraConfig& config, const std::vector<std::string>& modules,
           const std::string& base = {}, const std::vector<std::string>& whole = {});

/// A graph of the model as its family builds it, with the adapter's products; where it has an input "seed", as in
/// training: with dropout and gradients. The graph itself when the model has no adapter.
Graph adapted(Graph graph, const Model& model);

}  // namespace vkformer
