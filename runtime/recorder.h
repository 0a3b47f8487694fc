#pragma once
// What an op's `record` talks to. The recorder collects dispatches with the bytes they read and write, and derives
// every barrier from real overlaps (read after write, write after read, write after write); no op author writes one.

#include <functional>
#include <optional>

#include "runtime/op.h"

namespace vkformer {

/// A range of device memory that a dispatch reads or writes.
struct Region {
  uint64_t address = 0;
  uint64_t bytes = 0;
};

/// One kernel launch. `reads` / `writes` left empty mean "all inputs of the node" / "all its outputs", and the node's
/// scratch in both; name them in ops that launch several kernels where that is too coarse.
struct Launch {
  std::string_view kernel;               ///< name of the .comp file
  std::string_view variant = "f32";      ///< a variant named in its first comment lines
  std::vector<uint32_t> constants = {};  ///< specialization constants 0, 1, 2, ...
  std::array<uint32_t, 3> groups = {1, 1, 1};
  /// The kernel relies on subgroups of this many invocations, all full (0: any).
  uint32_t subgroup_size = 0;
  std::vector<Region> reads = {};
  std::vector<Region> writes = {};
  /// It writes other columns of the same rows than the node's launches before it: their ranges overlap, their bytes
  /// don't.
  bool apart = false;
  /// Of a launch that only prepares or finishes what the node's other launches do; those share the node's cost evenly.
  std::optional<Cost> cost = {};
};

/// A kernel made ready for a device: whoever makes it knows what it is.
class Pipeline;
/// Gives the pipeline of a launch, which may still be being made; it lives as long as the program. Throws Error when
/// there is no such kernel or the device can't run it.
using PipelineSource = std::function<const Pipeline&(const Launch&)>;

/// Addresses of a planned program: regions by value id (bytes 0: no storage) and workspaces by node index.
struct Placement {
  std::vector<Region> values;
  std::vector<Region> scratch;
};

/// One recorded command: a dispatch, a copy or a fill.
struct Command {
  enum class Kind : uint8_t { dispatch, copy, fill };
  Kind kind = Kind::dispatch;
  bool barrier_before = false;
  int node = -1;  ///< index into the graph's nodes
  std::string_view kernel;
  const Pipeline* pipeline = nullptr;
  std::array<std::byte, 128> args{};
  uint32_t args_size = 0;
  std::array<uint32_t, 3> groups{};
  Region source, target;  ///< of a copy; of a fill, the target
  uint32_t pattern = 0;
  Cost cost;  ///< its own, or its share of the node's
};

class Recorder {
 public:
  Recorder(const Graph& graph, const DeviceFacts& facts, PipelineSource pipelines, const Placement& placement);

  const DeviceFacts& device() const { return facts_; }
  /// The kernel that the plan chose for this node out of op.candidates; empty for an op that lists none.
  std::string_view candidate() const { return candidate_; }
  /// Device address of the value's first byte; 0 for an absent input and for an output nobody uses.
  uint64_t address(Value value) const;
  Region region(Value value) const;
  /// The node's workspace (see Op::scratch); `offset` and `bytes` select a part of it.
  uint64_t scratch() const { return scratch_.address; }
  Region scratch_region(uint64_t offset, uint64_t bytes) const { return {scratch_.address + offset, bytes}; }

  /// `Args` is the struct of the kernel's args header, at most 128 bytes.
  template <class Args>
  void dispatch(const Launch& launch, const Args& args) {
    static_assert(sizeof(Args) <= 128, "push constants are limited to 128 bytes");
    dispatch_bytes(launch, &args, sizeof(Args));
  }
  /// Copies bytes (a transfer, not a kernel). The ranges must not overlap.
  void copy(Region source, Region target);
  /// Fills with a repeated 32-bit pattern.
  void fill(Region target, uint32_t pattern);

  /// Records one node with the kernel `candidate`.
  void record(int node_index, std::string_view candidate);
  /// What follows belongs to no node: the copies of outputs to the host.
  void leave_nodes() {
    node_ = nullptr;
    node_index_ = -1;
    scratch_ = {};
  }
  /// The commands recorded so far.
  std::vector<Command> take_commands() { return std::move(commands_); }

 private:
  void dispatch_bytes(const Launch& launch, const void* args, size_t size);
  void add(Command command, std::span<const Region> reads, std::span<const Region> writes, bool apart = false);

  const Graph& graph_;
  const DeviceFacts& facts_;
  PipelineSource pipelines_;
  const Placement& placement_;
  // The node being recorded.
  const Node* node_ = nullptr;
  int node_index_ = -1;
  std::string_view candidate_;
  Region scratch_;
  std::vector<Command> commands_;
  std::vector<size_t> sharing_;  ///< commands of the node among which its cost is shared
  double filled_bytes_ = 0;      ///< by the node's fills
  // Accesses since the last barrier.
  std::vector<Region> pending_reads_, pending_writes_;
  size_t others_ = 0;  ///< pending writes of earlier nodes
};

/// ceil(a / b) for workgroup counts.
constexpr uint32_t groups_for(int64_t items, int64_t per_group) {
  return static_cast<uint32_t>((items + per_group - 1) / per_group);
}
/// Long dispatches are split along z, then y, and along x where there is one row of groups, with vkCmdDispatchBase:
/// kernels may use gl_NumWorkGroups.x only as a factor of gl_WorkGroupID.y, and gl_NumWorkGroups.y and .z not at all.

/// A number of workgroups that may exceed the device's limit along one axis, spread over x and y. Kernels rebuild the
/// linear index as gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x and return past the end.
std::array<uint32_t, 3> spread_groups(const DeviceFacts& facts, uint64_t count);

}  // namespace vkformer
