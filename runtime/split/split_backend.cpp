#include "runtime/split/split_backend.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "runtime/check.h"
#include "runtime/split/layer_parts.h"
#include "runtime/split/stages.h"

namespace vkformer {

namespace {

/// One store a device, with its own tensors of the layout.
class SplitStore : public Store {
 public:
  /// `shared`: whose blocks the first ones are; nullptr: nobody's, and the layers are placed anew.
  SplitStore(const StoreLayout& layout, std::span<Backend* const> backends, const LayerParts& placed,
             std::shared_ptr<SplitStore> shared)
      : Store(layout), placed_(placed) {
    for (size_t p = 0; p < backends.size(); ++p) {
      const StoreLayout own = own_layout(static_cast<int>(p));
      try {
        stores_.push_back(shared ? backends[p]->extend_store(shared->stores_[p], own) : backends[p]->make_store(own));
      } catch (const Error& error) {
        fail("of several devices, number {}: {}; --tensor-split gives each its share", p + 1, error.what());
      }
    }
    for (size_t block = 0; block < layout.blocks().size(); ++block)
      for (const StoreLayout::Part& part : layout.parts(block)) {
        const StoreLayout::Entry& entry = *layout.find(part.name);
        names_[{entry.block, entry.offset}] = part.name;
      }
  }

  const LayerParts& placed() const { return placed_; }
  const std::shared_ptr<Store>& of(size_t part) const { return stores_[part]; }
  /// Where the tensor of that name is, LayerParts::everywhere included.
  int part_of(const std::string& name) const {
    const StoreLayout::Entry* entry = layout().find(name);
    return entry ? placed_.of(first_at(*entry)) : placed_.of(name);
  }

 protected:
  void write_elements(const StoreLayout::Entry& entry, int64_t first, std::span<const std::byte> data) override {
    const int part = placed_.of(first_at(entry));
    for (int p = 0; p < std::ssize(stores_); ++p)
      if (part == LayerParts::everywhere || part == p)
        write_elements_of(*stores_[static_cast<size_t>(p)], own(entry, p), first, data);
  }
  void read_elements(const StoreLayout::Entry& entry, std::span<std::byte> data) const override {
    const int part = std::max(placed_.of(first_at(entry)), 0);
    read_elements_of(*stores_[static_cast<size_t>(part)], own(entry, part), data);
  }

 private:
  /// The tensor that begins where the entry does: itself, or the first one of a view.
  const std::string& first_at(const StoreLayout::Entry& entry) const { return names_.at({entry.block, entry.offset}); }

  StoreLayout own_layout(int part) const {
    const auto is_here = [&](const std::string& name) {
      const int its = placed_.of(name);
      return its == part || its == LayerParts::everywhere;
    };
    StoreLayout own;
    for (size_t block = 0; block < layout().blocks().size(); ++block) {
      std::vector<StoreLayout::Part> parts;
      for (const StoreLayout::Part& one : layout().parts(block))
        if (is_here(one.name)) parts.push_back(one);
      if (!parts.empty()) own.add_block(layout().block_names()[block], parts, layout().block_memories()[block]);
    }
    for (const StoreLayout::View& view : layout().views())
      if (is_here(view.first)) own.add_view(view.name, view.type, view.first);
    return own;
  }

  /// Where a device has the entry.
  StoreLayout::Entry own(const StoreLayout::Entry& entry, int part) const {
    const StoreLayout& its = stores_[static_cast<size_t>(part)]->layout();
    const StoreLayout::Entry& there = *its.find(first_at(entry));
    check(there.offset + entry.type.bytes() <= its.blocks()[static_cast<size_t>(there.block)],
          "a tensor of {} lies on several devices; take one --device", entry.type.shape.to_string());
    return {entry.type, there.block, there.offset};
  }

  LayerParts placed_;
  std::vector<std::shared_ptr<Store>> stores_;
  std::map<std::pair<int, int64_t>, std::string> names_;  ///< of tensors, by where they begin
};

struct SplitWorkspace : Workspace {
  std::vector<std::shared_ptr<Workspace>> parts;
};

/// What the plans of a program's stages need together: a block of temporaries for each of `parts` devices.
MemoryPlan joined(std::span<const Stage> stages, std::span<const MemoryPlan> plans, size_t parts) {
  MemoryPlan all;
  std::vector<std::vector<int64_t>> arenas(parts);
  for (size_t s = 0; s < stages.size(); ++s) {
    widen_blocks(arenas[static_cast<size_t>(stages[s].part)], plans[s].arena_blocks);
    all.step_bytes += plans[s].step_bytes;
    all.readback_bytes += plans[s].readback_bytes;
    all.live_set_bytes = std::max(all.live_set_bytes, plans[s].live_set_bytes);
  }
  for (const std::vector<int64_t>& blocks : arenas)
    all.arena_blocks.push_back(std::accumulate(blocks.begin(), blocks.end(), int64_t{0}));
  return all;
}

class SplitProgram : public Program {
 public:
  SplitProgram(Graph whole, std::vector<Stage> stages, std::vector<std::unique_ptr<Program>> programs, size_t parts)
      : Program(std::move(whole)), programs_(std::move(programs)) {
    std::vector<MemoryPlan> plans;
    for (size_t s = 0; s < stages.size(); ++s) {
      const Graph& graph = programs_[s]->graph();
      for (const Value input : graph.inputs()) readers_[graph.info(input).name].push_back(s);
      taken_.push_back(std::move(stages[s].taken));
      plans.push_back(programs_[s]->plan());
    }
    plan_ = joined(stages, plans, parts);
    for (const Value output : graph_.outputs()) {
      const std::string& name = graph_.info(output).name;
      const auto makes = [&](const auto& program) { return program->graph().has_output(name); };
      makers_[name] = static_cast<size_t>(std::ranges::find_if(programs_, makes) - programs_.begin());
    }
  }

  void run() override {
    for (size_t s = 0; s < programs_.size(); ++s) {
      for (const Stage::Taken& taken : taken_[s]) {
        const Program& from = *programs_[taken.from];
        between_.resize(static_cast<size_t>(from.graph().info(from.graph().find(taken.name)).type.bytes()));
        read_bytes_of(from, taken.name, between_);
        write_bytes_of(*programs_[s], taken.name, between_);
      }
      programs_[s]->run();
    }
    ++runs_;
  }

  const MemoryPlan& plan() const override { return plan_; }
  Counters counters() const override {
    Counters all{.runs = runs_};
    for (const auto& program : programs_) {
      const Counters its = program->counters();
      all.recorded_dispatches += its.recorded_dispatches;
      all.command_buffers += its.command_buffers;
      all.commands.dispatches += its.commands.dispatches;
      all.commands.barriers += its.commands.barriers;
      all.segments += its.segments;
      all.seconds += its.seconds;
      all.recording_seconds += its.recording_seconds;
    }
    return all;
  }
  void check_guards() const override {
    for (const auto& program : programs_) program->check_guards();
  }

 protected:
  void write_bytes(Value input, std::span<const std::byte> data) override {
    const std::string& name = graph_.info(input).name;
    if (const auto readers = readers_.find(name); readers != readers_.end())
      for (const size_t stage : readers->second) write_bytes_of(*programs_[stage], name, data);
  }
  void read_bytes(Value output, std::span<std::byte> data) const override {
    const std::string& name = graph_.info(output).name;
    read_bytes_of(*programs_[makers_.at(name)], name, data);
  }

 private:
  std::vector<std::unique_ptr<Program>> programs_;      ///< one a stage
  std::vector<std::vector<Stage::Taken>> taken_;        ///< by stage
  std::map<std::string, std::vector<size_t>> readers_;  ///< stages by the input that they have
  std::map<std::string, size_t> makers_;                ///< the stage of an output
  MemoryPlan plan_;
  std::vector<std::byte> between_;
  uint64_t runs_ = 0;
};

class SplitBackend : public Backend {
 public:
  SplitBackend(std::vector<std::unique_ptr<Backend>> parts, const BackendOptions& options)
      : owned_(std::move(parts)), shares_(options.shares), note_(options.note_layers) {
    check(!options.profile, "a profile is of one device; take one --device");
    check(shares_.empty() || shares_.size() == owned_.size(), "{} shares were given of {} devices", shares_.size(),
          owned_.size());
    facts_ = owned_.front()->facts();
    facts_.name.clear();
    facts_.memory_total = facts_.memory_free = 0;
    for (const auto& part : owned_) {
      parts_.push_back(part.get());
      const DeviceFacts& its = part->facts();
      facts_.name += fmt::format("{}{}", facts_.name.empty() ? "" : " and ", its.name);
      facts_.memory_total += its.memory_total;
      facts_.memory_free += its.memory_free;
      facts_.host_memory_free = std::min(facts_.host_memory_free, its.host_memory_free);  // the host has one
      facts_.max_allocation = std::min(facts_.max_allocation, its.max_allocation);
      if (options.shares.empty()) shares_.push_back(static_cast<double>(std::max<uint64_t>(its.memory_free, 1)));
    }
    check(std::ranges::all_of(shares_, [](double share) { return share > 0; }), "the shares of devices are above 0");
  }

  const DeviceFacts& facts() const override { return facts_; }
  std::string describe() const override {
    std::string all;
    for (const Backend* part : parts_) all += fmt::format("{}{}", all.empty() ? "" : "; ", part->describe());
    return all;
  }
  std::vector<Backend*> parts() const override { return parts_; }
  bool joins_programs() const override { return false; }
  uint64_t allocated_bytes() const override {
    uint64_t bytes = 0;
    for (const Backend* part : parts_) bytes += part->allocated_bytes();
    return bytes;
  }
  std::shared_ptr<Store> make_store(const StoreLayout& layout) override {
    auto store = std::make_shared<SplitStore>(layout, parts_, LayerParts(layout, shares_), nullptr);
    for (size_t p = 0; note_ && layout.total_bytes() > 0 && p < parts_.size(); ++p)
      note_(fmt::format("{}: {}, {} MiB of weights", parts_[p]->facts().name,
                        store->placed().describe(static_cast<int>(p)),
                        (store->of(p)->layout().total_bytes() >> 20) + 1));
    return store;
  }
  std::shared_ptr<Store> extend_store(std::shared_ptr<Store> store, const StoreLayout& layout) override {
    auto shared = std::static_pointer_cast<SplitStore>(std::move(store));
    const LayerParts placed = shared->placed();
    return std::make_shared<SplitStore>(layout, parts_, placed, std::move(shared));
  }
  std::shared_ptr<Workspace> make_workspace() override {
    auto workspace = std::make_shared<SplitWorkspace>();
    for (Backend* part : parts_) workspace->parts.push_back(part->make_workspace());
    return workspace;
  }
  MemoryPlan plan(const Graph& graph, const StoreLayout& layout) const override {
    const LayerParts placed(layout, shares_);
    const std::vector<Stage> stages = cut_into_stages(graph, [&](const std::string& name) { return placed.of(name); });
    std::vector<MemoryPlan> plans;
    for (const Stage& stage : stages)
      plans.push_back(parts_[static_cast<size_t>(stage.part)]->plan(stage.graph, layout));
    return joined(stages, plans, parts_.size());
  }
  std::unique_ptr<Program> compile(Graph graph, std::shared_ptr<Store> store, const PlanOptions& options,
                                   std::shared_ptr<Workspace> workspace) override {
    const auto split = std::static_pointer_cast<SplitStore>(store ? std::move(store) : make_store({}));
    const auto shared = std::static_pointer_cast<SplitWorkspace>(workspace ? std::move(workspace) : make_workspace());
    std::vector<Stage> stages = cut_into_stages(graph, [&](const std::string& name) { return split->part_of(name); });
    std::vector<std::unique_ptr<Program>> programs;
    for (Stage& stage : stages) {
      const auto part = static_cast<size_t>(stage.part);
      programs.push_back(parts_[part]->compile(std::move(stage.graph), split->of(part), options, shared->parts[part]));
    }
    return std::make_unique<SplitProgram>(std::move(graph), std::move(stages), std::move(programs), parts_.size());
  }

 private:
  std::vector<std::unique_ptr<Backend>> owned_;
  std::vector<Backend*> parts_;
  std::vector<double> shares_;
  std::function<void(const std::string&)> note_;
  DeviceFacts facts_;
};

}  // namespace

std::vector<std::string> devices_of(const std::string& device) {
  std::vector<std::string> devices(1);
  int depth = 0;
  for (const char c : device) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth <= 0)
      devices.emplace_back();
    else
      devices.back() += c;
  }
  return devices;
}

std::unique_ptr<Backend> make_split_backend(std::vector<std::unique_ptr<Backend>> parts,
                                            const BackendOptions& options) {
  return std::make_unique<SplitBackend>(std::move(parts), options);
}

}  // namespace vkformer
