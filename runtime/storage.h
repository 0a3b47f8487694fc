#pragma once
// Which values of a graph lie in the same bytes: aliases, the parts of joined tensors, results that overwrite operands.

#include "runtime/op.h"

namespace vkformer {

/// The input whose storage output 0 of the node may have, by what its op says (-1: none).
int reusable_input(const Node& node);

/// A value's storage: `offset` bytes into the storage of value `root`.
struct Backing {
  int root;
  int64_t offset;
};

/// The first and the last node that touch a storage; the host reads outputs behind the last node.
struct Lifetime {
  int first;
  int last;  ///< -1: nobody touches it
};

/// The storage of every value of a graph of which `live_nodes` run.
class SharedStorage {
 public:
  /// `in_place`: results overwrite operands that nobody reads later, where the op allows it.
  SharedStorage(const Graph& graph, std::span<const int> live_nodes, bool in_place);

  const Backing& of(Value value) const { return backing_[static_cast<size_t>(value.id)]; }
  /// By the id of the root.
  std::vector<Lifetime> lifetimes() const;
  /// False for an output that nobody reads, but the first one of a node, which is always written.
  bool is_needed(Value value) const;

 private:
  Backing& backing(Value value) { return backing_[static_cast<size_t>(value.id)]; }
  const Node& node(int index) const { return graph_.nodes()[static_cast<size_t>(index)]; }
  void find_used();
  void follow_aliases();
  void place_parts();
  void overwrite_operands();

  const Graph& graph_;
  std::span<const int> live_nodes_;
  std::vector<Backing> backing_;
  std::vector<char> used_;  ///< by value: read by a live node or by the host
};

}  // namespace vkformer
