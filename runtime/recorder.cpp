#include "runtime/recorder.h"

#include <algorithm>
#include <cstring>

namespace vkformer {

namespace {

bool overlaps(const Region& a, const Region& b) {
  return a.address < b.address + b.bytes && b.address < a.address + a.bytes;
}

bool any_overlap(std::span<const Region> a, std::span<const Region> b) {
  return std::any_of(a.begin(), a.end(), [&](const Region& x) {
    return std::any_of(b.begin(), b.end(), [&](const Region& y) { return overlaps(x, y); });
  });
}

}  // namespace

Recorder::Recorder(const Graph& graph, const DeviceFacts& facts, PipelineSource pipelines, const Placement& placement)
    : graph_(graph), facts_(facts), pipelines_(std::move(pipelines)), placement_(placement) {}

Region Recorder::region(Value value) const {
  return value ? placement_.values[static_cast<size_t>(value.id)] : Region{};
}

uint64_t Recorder::address(Value value) const { return region(value).address; }

void Recorder::record(int node_index, std::string_view candidate) {
  node_index_ = node_index;
  node_ = &graph_.nodes()[static_cast<size_t>(node_index)];
  candidate_ = candidate;
  scratch_ = placement_.scratch[static_cast<size_t>(node_index)];
  if (node_->op->renames_storage()) return;
  sharing_.clear();
  filled_bytes_ = 0;
  others_ = pending_writes_.size();
  node_->op->record(*this, *node_);
  if (!node_->op->cost || sharing_.empty()) return;
  Cost whole = node_->op->cost(*node_);
  whole.bytes = std::max(whole.bytes - filled_bytes_, 0.0);  // a fill writes a part of the outputs
  const auto shares = static_cast<double>(sharing_.size());
  for (size_t i : sharing_) commands_[i].cost = {whole.bytes / shares, whole.flops / shares, whole.at_most};
}

void Recorder::dispatch_bytes(const Launch& launch, const void* args, size_t size) {
  for (size_t axis = 0; axis < 3; ++axis) {
    if (launch.groups[axis] == 0) return;  // an empty tensor
    check(launch.groups[axis] <= facts_.max_workgroups[axis], "[{}] {} workgroups along axis {}; {} allows {}",
          launch.kernel, launch.groups[axis], axis, facts_.name, facts_.max_workgroups[axis]);
  }
  Command command{.kernel = launch.kernel, .groups = launch.groups};
  command.pipeline = &pipelines_(launch);
  if (launch.cost)
    command.cost = *launch.cost;
  else
    sharing_.push_back(commands_.size());
  std::memcpy(command.args.data(), args, size);
  command.args_size = static_cast<uint32_t>(size);
  std::vector<Region> reads = launch.reads, writes = launch.writes;
  if (reads.empty())
    for (Value input : node_->inputs)
      if (input) reads.push_back(region(input));
  if (writes.empty())
    for (Value output : node_->outputs) writes.push_back(region(output));
  if (scratch_.bytes > 0 && launch.reads.empty()) reads.push_back(scratch_);
  if (scratch_.bytes > 0 && launch.writes.empty()) writes.push_back(scratch_);
  add(command, reads, writes, launch.apart);
}

void Recorder::copy(Region source, Region target) {
  check(source.bytes == target.bytes && !overlaps(source, target), "[{}] a copy needs two separate ranges of one size",
        node_ ? node_->op->name : "output");
  if (source.bytes == 0) return;  // an empty tensor
  const Cost cost{.bytes = 2 * static_cast<double>(source.bytes)};
  add({.kind = Command::Kind::copy, .kernel = "copy", .source = source, .target = target, .cost = cost},
      std::span(&source, 1), std::span(&target, 1));
}

void Recorder::fill(Region target, uint32_t pattern) {
  if (target.bytes == 0) return;  // an empty tensor
  const Cost cost{.bytes = static_cast<double>(target.bytes)};
  filled_bytes_ += cost.bytes;
  add({.kind = Command::Kind::fill, .kernel = "fill", .target = target, .pattern = pattern, .cost = cost}, {},
      std::span(&target, 1));
}

void Recorder::add(Command command, std::span<const Region> reads, std::span<const Region> writes, bool apart) {
  const std::span<const Region> written(pending_writes_);
  // Empty regions (absent tensors) never overlap anything: their byte count is 0.
  if (any_overlap(reads, written) || any_overlap(writes, apart ? written.first(others_) : written) ||
      any_overlap(writes, pending_reads_)) {
    command.barrier_before = true;
    pending_reads_.clear();
    pending_writes_.clear();
    others_ = 0;
  }
  pending_reads_.insert(pending_reads_.end(), reads.begin(), reads.end());
  pending_writes_.insert(pending_writes_.end(), writes.begin(), writes.end());
  command.node = node_index_;
  commands_.push_back(command);
}

std::array<uint32_t, 3> spread_groups(const DeviceFacts& facts, uint64_t count) {
  const uint64_t limit = facts.max_workgroups[0];
  if (count <= limit) return {static_cast<uint32_t>(count), 1, 1};
  const uint64_t rows = (count + limit - 1) / limit;
  return {static_cast<uint32_t>((count + rows - 1) / rows), static_cast<uint32_t>(rows), 1};
}

}  // namespace vkformer
