#pragma once
// Activations of layers that the backward pass computes again instead of keeping them (checkpointing).

#include <map>

#include "runtime/graph.h"

namespace vkformer {

/// The layer that a scope belongs to: up to and including its first part that is a number ("h.0" of "h.0.attn.c_attn",
/// "decoder.3" of "decoder.3.self.q"); empty outside of layers.
std::string_view layer_of(std::string_view scope);

/// Gives backward nodes copies of what a layer computed. Values that the rest of the forward pass reads (a layer's
/// input, for one) are kept; the others are computed again from those, by the same ops with the same attributes, so
/// that they have the same bits. A layer's nodes are appended when the first of its gradients is asked for; those whose
/// results nobody reads drop out when the graph is planned.
class Recomputation {
 public:
  /// `graph` holds the forward pass.
  explicit Recomputation(const Graph& graph);
  /// The forward node `index`, with recomputed inputs and outputs in place of those that are not kept.
  Node node(Graph& graph, size_t index);

 private:
  std::vector<std::string> layers_;                     ///< by forward node
  std::vector<char> kept_;                              ///< by value of the forward pass
  Values copies_;                                       ///< by value of the forward pass: itself until it is recomputed
  std::map<std::string, std::vector<size_t>> pending_;  ///< nodes of the layers that were not recomputed yet
};

}  // namespace vkformer
