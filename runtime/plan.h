#pragma once
// Where every byte of a program lies: which nodes run, which values share storage, offsets of temporaries, all known
// before anything is allocated.

#include <set>
#include <string_view>
#include <utility>

#include "runtime/op.h"
#include "runtime/store_layout.h"

namespace vkformer {

class Tuning;

/// Kernels that a device's driver could not compile: the names of an op and of its candidate.
using RefusedKernels = std::set<std::pair<std::string_view, std::string_view>>;

struct PlanOptions {
  /// Bytes left unused behind every tensor, for sentinels (conformance); no memory is reused then. 0 in
  /// production.
  int64_t guard_bytes = 0;
  /// Forces the kernel of every node for which it is legal (see Recorder).
  std::string candidate = {};
  /// Measured choices: a legal one goes before the heuristic's. nullptr: those of the backend, if it has any and no
  /// `candidate` is forced.
  const Tuning* tuning = nullptr;
  bool profile = false;  ///< timestamps around the nodes of this program, as BackendOptions::profile for all
  /// Left out as if they were not legal. nullptr: those of the backend, unless the caller has choices of its own, which
  /// fail rather than be replaced.
  const RefusedKernels* refused = nullptr;
};

/// A place inside one of the program's areas.
struct Place {
  enum class Area : uint8_t { none, arena, step, store, readback };
  Area area = Area::none;
  int block = 0;       ///< of the arena or the store
  int64_t offset = 0;  ///< bytes
  int64_t bytes = 0;
};

/// One tensor of the arena, for printing what needs the memory.
struct PlannedItem {
  std::string name;  ///< "h.0.mlp matmul [8, 64, 512]"
  int64_t bytes = 0;
  int first_node = 0, last_node = 0;
  Place place;
};

struct MemoryPlan {
  std::vector<int> live_nodes;              ///< nodes that run, in order
  std::vector<Place> values;                ///< by Value id
  std::vector<Place> scratch;               ///< by node index
  std::vector<std::string_view> candidate;  ///< by node index; empty where an op has only one kernel
  std::vector<int64_t> arena_blocks;        ///< bytes of each block of temporaries
  int64_t step_bytes = 0;                   ///< inputs
  int64_t readback_bytes = 0;               ///< outputs
  int64_t live_set_bytes = 0;               ///< the most that is alive at one node: no arena can be smaller
  std::vector<PlannedItem> items;           ///< temporaries, biggest first
  std::vector<Place> readback;              ///< by position in graph.outputs()

  int64_t arena_bytes() const;
  int64_t total_bytes() const { return arena_bytes() + step_bytes + readback_bytes; }
};

/// Makes `blocks` hold, one at a time, the temporaries of this plan and whatever they were made for before.
void widen_blocks(std::vector<int64_t>& blocks, std::span<const int64_t> needed);

/// The nodes that run, in order: those that lead to an output or change a persistent tensor in place.
std::vector<int> live_nodes(const Graph& graph);

/// Plans `graph` for a device. Throws Error when a tensor, or all inputs or outputs together, exceed the device's
/// largest allocation, or an op is not supported there.
MemoryPlan plan_memory(const Graph& graph, const DeviceFacts& facts, const StoreLayout& store,
                       const PlanOptions& options = {});

}  // namespace vkformer
