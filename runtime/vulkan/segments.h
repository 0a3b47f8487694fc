#pragma once
// Recorded commands as submissions. Drivers reset a GPU whose submission runs too long, so a program is cut into
// segments of about BackendOptions::segment_seconds.

#include <utility>

#include "runtime/recorder.h"
#include "runtime/vulkan/backend.h"
#include "runtime/vulkan/timestamps.h"

namespace vkformer {

/// Some of a dispatch's workgroups: along each axis so many from the first on.
struct WorkgroupRange {
  std::array<uint32_t, 3> first = {}, groups = {};
};
/// A dispatch in pieces, none with more than a `count`-th of its workgroups, as far as kernels may be cut
/// (runtime/recorder.h tells how).
std::vector<WorkgroupRange> cut_dispatch(const std::array<uint32_t, 3>& groups, uint32_t count);

/// Seconds for a unit of estimated cost, guessed anew after a run: of its estimate `certain` was done, and of `bounds`
/// (Cost::at_most) perhaps nothing, but more in later runs. So those can tell of a slow device and never of a fast one.
double learned_factor(double guess, double seconds, double certain, double bounds);

/// The same after later runs: what a program does grows with its position (Cost::at_most), at a speed of its own.
class SlowedCuts {
 public:
  /// Of `segments` that took `seconds` in all, the longest of which was estimated to take `longest` with `guess`. More
  /// than that where they took twice the budget on the average, but no more than fourfold, for a process may also have
  /// been stopped; nothing more where as large a guess did not take them apart before.
  double factor(double guess, double seconds, size_t segments, double longest, double budget);

 private:
  size_t segments_ = 0;  ///< when a larger guess should have made them more
};

/// The order in which commands are written; see BackendOptions::backwards.
std::vector<size_t> order_of(std::span<const Command> commands, bool backwards);

/// The command buffers of one program, submitted again and again.
class Segments {
 public:
  /// What the program knows of its commands.
  struct Lookup {
    /// Where a region's bytes lie: a buffer and an offset inside it.
    std::function<std::pair<VkBuffer, uint64_t>(const Region&)> locate;
    /// What vendors' tools call a command: "layers.3.mlp: matmul".
    std::function<std::string(const Command&)> label;
  };

  explicit Segments(VulkanContext& context) : context_(context) {}
  ~Segments() { clear(); }
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;

  /// Writes the command buffers: a new one whenever the estimated time of the current one exceeds the budget, and a
  /// dispatch that exceeds it alone in several pieces. Waits for the pipelines; throws Error when one can't be made.
  /// `timestamps`: null for none.
  void cut(std::span<const Command> commands, const Lookup& lookup, const Timestamps* timestamps);
  void clear();
  size_t size() const { return buffers_.size(); }
  /// By command: the number of the submission that it begins in.
  const std::vector<size_t>& submissions() const { return submissions_; }
  /// Submits them all; wait() then waits until they are done. Nothing of this object may change in between.
  void submit();
  void wait();
  /// Whether `seconds`, which all commands took, show that segments are far from the budget; then they are to be cut
  /// again. What a run takes is also the guess for programs to come, unless a longer one has told: in a short one the
  /// way to the device and back is most of it.
  bool learn_speed(std::span<const Command> commands, double seconds);
  /// Whether `seconds`, which all commands took, show that segments of a GPU's are too long by now; then they are to be
  /// cut again. Nothing is learned for other programs.
  bool slow_down(double seconds);
  /// Takes over what another's runs have told of the same commands.
  void learn_from(const Segments& other) { own_factor_ = other.own_factor_; }
  /// Dispatches and command buffers written since it was made.
  uint64_t recorded_dispatches() const { return recorded_dispatches_; }
  uint64_t command_buffers() const { return command_buffers_; }

 private:
  void write_all(std::span<const Command> commands, const Lookup& lookup, const Timestamps* timestamps);
  VkCommandBuffer begin();
  void write(VkCommandBuffer target, const Command& command, const Lookup& lookup, const WorkgroupRange& range);
  void write_pieces(VkCommandBuffer& current, const Command& command, const Lookup& lookup, uint32_t pieces);

  VulkanContext& context_;
  std::vector<VkCommandBuffer> buffers_;
  OwnedFence submitted_;
  std::vector<size_t> submissions_;
  double longest_ = 0;     ///< seconds of a segment, estimated when they were cut
  double cut_factor_ = 1;  ///< seconds for a unit of estimated cost, as guessed then
  double own_factor_ = 0;  ///< as learned; 0: not yet
  SlowedCuts slowed_;
  uint64_t recorded_dispatches_ = 0, command_buffers_ = 0;
};

}  // namespace vkformer
