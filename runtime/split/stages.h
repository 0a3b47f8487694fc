#pragma once
// A graph cut into stages, each of which runs on one of several devices.

#include <functional>
#include <string>
#include <vector>

#include "runtime/graph.h"

namespace vkformer {

/// Neighbouring nodes that run on one device.
struct Stage {
  /// A value of an earlier stage, which has it as an output and this one as an input, both of that name.
  struct Taken {
    std::string name;
    size_t from = 0;
  };

  int part = 0;
  Graph graph;
  std::vector<Taken> taken;
};

/// The stages of `graph`, in the order in which they run. A node runs where its persistent tensors are, by `part_of`
/// their names (-1: on every device), or where the node before it does. Inputs are those of every stage that reads
/// them, under their names, outputs those of one. Throws Error when a node's tensors are on several devices.
std::vector<Stage> cut_into_stages(const Graph& graph, const std::function<int(const std::string&)>& part_of);

}  // namespace vkformer
