// A recorded program: a planned graph, its memory on the device and its commands, which are submitted again and again.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "runtime/recording.h"
#include "runtime/tuning.h"
#include "runtime/vulkan/segments.h"
#include "runtime/vulkan/timestamps.h"

namespace vkformer {

namespace {

// A quiet NaN: what was never written shows in results, and what lies behind a tensor must stay like this.
// Inputs have another one behind them, so that even a sum of two elements beyond the end shows.
constexpr uint32_t poison = 0x7fc0beef;
constexpr uint32_t input_poison = 0x7fc0dead;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class VulkanProgram : public Program {
 public:
  VulkanProgram(std::shared_ptr<VulkanContext> context, Graph graph, std::shared_ptr<VulkanStore> store,
                const PlanOptions& options, std::shared_ptr<VulkanWorkspace> workspace)
      : Program(std::move(graph)),
        context_(std::move(context)),
        store_(std::move(store)),
        workspace_(workspace ? std::move(workspace) : std::make_shared<VulkanWorkspace>(context_)),
        guard_bytes_(options.guard_bytes),
        profile_(options.profile || context_->options.profile),
        options_(options),
        plan_(plan_memory(graph_, context_->device.facts(), store_ ? store_->layout() : StoreLayout{}, options)),
        segments_(*context_),
        plain_segments_(*context_) {
    // Kept, for a plan may have to be made again; the caller's choices may be gone by then.
    if (options_.tuning) options_.tuning = &tuning_.emplace(*options_.tuning);
    allocate();
    record_commands();
    context_->allocated_bytes += own_bytes();  // last: a program that fails gives everything back
  }

  ~VulkanProgram() override {
    try {
      if (std::erase(context_->started, this) > 0) submitted().wait();
    } catch (const std::exception&) {  // nobody asked for what it ran, and nothing runs
    }
    context_->allocated_bytes -= own_bytes();
  }

  void run() override {
    start();
    finish();
  }

  void start() override {
    const auto stay = context_->enter_beside();
    finish();
    if (recorded_version_ != workspace_->version() || segments_.size() == 0) context_->finish_all();
    if (recorded_version_ != workspace_->version()) {  // it has grown for another program
      workspace_->reserve(plan_.arena_blocks);
      record_commands();
    }
    if (segments_.size() == 0) {  // not before: until then pipelines are being made while the host works
      while (refuse_kernels()) plan_again();
      cut();
    }
    plain_ = plain_segments_.size() > 0 && counters_.runs % 2 == 1;
    if (guard_bytes_ > 0)
      for (const auto& block : workspace_->blocks()) context_->fill(*block, poison);
    alone_ = context_->started.empty();
    context_->started.reserve(context_->started.size() + 1);  // nothing fails behind the submission
    begin_ = steady_seconds();
    submitted().submit();
    context_->started.push_back(this);
    if (timestamps_) finish();  // what is measured runs alone
  }

  void finish() override {
    const auto stay = context_->enter_beside();
    if (std::ranges::count(context_->started, this) == 0) return;
    while (context_->started.front() != this) context_->started.front()->finish();  // they end before it
    std::erase(context_->started, this);
    submitted().wait();
    // From the end of the run before where it waited for that.
    const double begin = std::max(begin_, context_->last_end);
    context_->last_end = steady_seconds();
    const double seconds = context_->last_end - begin;
    counters_.seconds += seconds;
    if (timestamps_) {
      const RunTimes times{.begin = begin, .host = seconds};
      plain_ ? timestamps_->keep_plain(times) : timestamps_->keep(times);
    }
    ++counters_.runs;
    // The first run includes the driver's compilation, others what was before them if the host came late to the end.
    if (counters_.runs == 1 || !alone_) return;
    if (!std::exchange(learned_, true)) {
      if (segments_.learn_speed(commands_, seconds)) cut();
    } else if (!plain_ && segments_.slow_down(seconds)) {
      cut();
    }
  }

  const MemoryPlan& plan() const override { return plan_; }
  Counters counters() const override {
    Counters counters = counters_;
    counters.allocations = context_->allocations;
    counters.recorded_dispatches = segments_.recorded_dispatches();
    counters.command_buffers = segments_.command_buffers();
    counters.segments = segments_.size();
    return counters;
  }

  std::vector<Timing> timings() const override {
    if (!timestamps_ || !timestamps_->any()) return {};
    const auto stay = context_->enter();
    std::vector<Timing> timings;
    for (size_t i = 0; i < commands_.size(); ++i) {
      const Command& command = commands_[i];
      if (timestamps_->span(i) < timings.size()) {
        timings.back().cost += command.cost;
        continue;
      }
      Timing timing{.kernel = command.kernel,
                    .barrier = command.barrier_before,
                    .submission = segments_.submissions()[i],
                    .cost = command.cost};
      timestamps_->fill(timings.size(), timing);
      if (command.node >= 0) {
        const Node& node = graph_.nodes()[static_cast<size_t>(command.node)];
        timing.scope = node.scope;
        timing.op = node.op->name;
        timing.node = command.node;
        if (command.pipeline && command.pipeline->matrix_cores()) timing.matrix = node.input_types[0].dtype;
        timing.candidate = plan_.candidate[static_cast<size_t>(command.node)];
      }
      timings.push_back(std::move(timing));
    }
    return timings;
  }

  std::vector<RunTimes> run_times() const override {
    return timestamps_ ? timestamps_->run_times() : std::vector<RunTimes>{};
  }

  void check_guards() const override {
    if (guard_bytes_ == 0) return;
    const auto stay = context_->enter();
    std::vector<std::vector<std::byte>> blocks;
    for (const auto& block : workspace_->blocks()) {
      blocks.emplace_back(block->size());
      context_->download(*block, 0, blocks.back());
    }
    const auto inspect = [&](const std::string& name, const Place& place, std::span<const std::byte> bytes,
                             uint32_t expected) {
      const int64_t end = place.offset + place.bytes;
      for (int64_t i = end; i < end + guard_bytes_; i += 4)
        check(std::memcmp(bytes.data() + i, &expected, 4) == 0, "{} bytes behind {} were overwritten", i - end + 4,
              name);
    };
    for (const PlannedItem& item : plan_.items)
      inspect(item.name, item.place, blocks[static_cast<size_t>(item.place.block)], poison);
    for (Value input : graph_.inputs())
      inspect(graph_.info(input).name, plan_.values[static_cast<size_t>(input.id)], step_->mapped(), input_poison);
  }

 protected:
  void write_bytes(Value input, std::span<const std::byte> data) override {
    const auto stay = context_->enter_beside();
    if (const auto taken = taken_.find(input.id); taken != taken_.end()) {
      context_->finish_all();  // the one that it is taken from, too
      std::memcpy(taken->second.buffer->mapped().data() + taken->second.offset, data.data(), data.size());
      return;
    }
    finish();
    const Place& place = plan_.values[static_cast<size_t>(input.id)];
    std::memcpy(step_->mapped().data() + place.offset, data.data(), data.size());
  }
  void read_bytes(Value output, std::span<std::byte> data) const override {
    const auto stay = context_->enter_beside();
    if (std::ranges::count(context_->started, this) > 0) context_->finish_all();
    std::memcpy(data.data(), readback_->mapped().data() + readback_place(output).offset, data.size());
  }
  void take_bytes(Value input, Program& from, Value output) override {
    const auto stay = context_->enter();
    const auto& given = dynamic_cast<const VulkanProgram&>(from);
    taken_.insert_or_assign(input.id,
                            Taken{given.readback_, static_cast<uint64_t>(given.readback_place(output).offset)});
    record_commands();
  }

 private:
  /// Where an input lies that is another program's output.
  struct Taken {
    std::shared_ptr<Buffer> buffer;
    uint64_t offset = 0;
  };

  Segments& submitted() { return plain_ ? plain_segments_ : segments_; }

  const Place& readback_place(Value output) const {
    const auto& outputs = graph_.outputs();
    return plan_.readback[static_cast<size_t>(std::ranges::find(outputs, output) - outputs.begin())];
  }

  /// Beside the workspace.
  uint64_t own_bytes() const { return static_cast<uint64_t>(plan_.step_bytes + plan_.readback_bytes); }

  void allocate() {
    const uint64_t needed = own_bytes() + static_cast<uint64_t>(workspace_->growth(plan_.arena_blocks));
    const uint64_t available = context_->memory_free();
    if (needed > available) {
      std::string biggest;
      for (size_t i = 0; i < std::min<size_t>(3, plan_.items.size()); ++i)
        biggest += fmt::format("{}{} ({} MiB)", i ? ", " : "", plan_.items[i].name, plan_.items[i].bytes >> 20);
      fail("temporaries need {} MiB, {} has {} MiB free; biggest: {}; use a smaller batch or context{}", needed >> 20,
           context_->device.facts().name, available >> 20, biggest,
           context_->or_elsewhere(needed + context_->allocated_bytes));
    }
    workspace_->reserve(plan_.arena_blocks);
    step_ = context_->allocate(static_cast<uint64_t>(plan_.step_bytes), Buffer::Memory::upload, "inputs");
    readback_ = context_->allocate(static_cast<uint64_t>(plan_.readback_bytes), Buffer::Memory::readback, "results");
    const std::span<std::byte> step = step_->mapped();
    for (size_t i = 0; i + 4 <= step.size(); i += 4) std::memcpy(step.data() + i, &input_poison, 4);
  }

  Region resolve(const Place& place) const {
    const auto offset = static_cast<uint64_t>(place.offset), bytes = static_cast<uint64_t>(place.bytes);
    switch (place.area) {
      case Place::Area::none: return {};
      case Place::Area::arena:
        return {workspace_->blocks()[static_cast<size_t>(place.block)]->address() + offset, bytes};
      case Place::Area::step: return {step_->address() + offset, bytes};
      case Place::Area::readback: return {readback_->address() + offset, bytes};
      case Place::Area::store: return {store_->block(place.block).address() + offset, bytes};
    }
    return {};
  }

  void record_commands() {
    const double begin = steady_seconds();
    Placement placement;
    for (const Place& place : plan_.values) placement.values.push_back(resolve(place));
    for (const auto& [input, taken] : taken_)
      placement.values[static_cast<size_t>(input)].address = taken.buffer->address() + taken.offset;
    for (const Place& place : plan_.scratch) placement.scratch.push_back(resolve(place));
    commands_ = record_graph(graph_, context_->device.facts(), context_->pipeline_source(), plan_, placement,
                             readback_->address());
    counters_.commands = count_commands(commands_);
    const bool timed = profile_ && context_->device.facts().timestamp_period > 0 && !commands_.empty();
    if (timed && !timestamps_) timestamps_ = std::make_unique<Timestamps>(*context_, spans());
    segments_.clear();
    plain_segments_.clear();
    counters_.recording_seconds += steady_seconds() - begin;
    recorded_version_ = workspace_->version();
  }

  /// Waits for the pipelines. Whether some are of kernels that the driver can't compile and that others can stand in
  /// for; throws Error when none can.
  bool refuse_kernels() {
    bool any = false;
    for (const Command& command : commands_) {
      if (!command.pipeline) continue;
      try {
        command.pipeline->handle();
      } catch (const PipelineRefused& refusal) {
        const auto node = static_cast<size_t>(command.node);
        if (!options_.refused || plan_.candidate[node].empty()) throw;
        any = true;
        const std::string_view op = graph_.nodes()[node].op->name, candidate = plan_.candidate[node];
        if (context_->refused.emplace(op, candidate).second)
          context_->note(fmt::format("{}; {} does without its kernel '{}' till then", refusal.what(), op, candidate));
      }
    }
    return any;
  }

  /// Inputs and outputs stay where they are: no kernel decides that.
  void plan_again() {
    plan_ = plan_memory(graph_, context_->device.facts(), store_ ? store_->layout() : StoreLayout{}, options_);
    workspace_->reserve(plan_.arena_blocks);
    timestamps_.reset();
    record_commands();
  }

  /// Which commands are timed together.
  std::vector<size_t> spans() const {
    std::vector<size_t> spans = {0};
    for (size_t i = 1; i < commands_.size(); ++i) {
      const int node = commands_[i].node;
      const bool same = !context_->options.profile_details && node >= 0 && node == commands_[i - 1].node;
      spans.push_back(spans.back() + (same ? 0 : 1));
    }
    return spans;
  }

  void cut() {
    const double begin = steady_seconds();
    const Segments::Lookup lookup{.locate = [this](const Region& region) { return locate(region); },
                                  .label = [this](const Command& command) { return label(command); }};
    segments_.cut(commands_, lookup, timestamps_.get());
    if (timestamps_ && context_->options.profile_details) {
      plain_segments_.learn_from(segments_);  // what is compared is cut alike
      plain_segments_.cut(commands_, lookup, nullptr);
    }
    counters_.recording_seconds += steady_seconds() - begin;
  }

  std::string label(const Command& command) const {
    if (command.node < 0) return "copy to the host";
    const Node& node = graph_.nodes()[static_cast<size_t>(command.node)];
    return node.scope.empty() ? std::string(node.op->name) : fmt::format("{}: {}", node.scope, node.op->name);
  }

  std::pair<VkBuffer, uint64_t> locate(const Region& region) const {
    const auto inside = [&](const Buffer& buffer) {
      return region.address >= buffer.address() && region.address < buffer.address() + buffer.size();
    };
    for (const auto& block : workspace_->blocks())
      if (block && inside(*block)) return {block->handle(), region.address - block->address()};
    for (const Buffer* buffer : {step_.get(), readback_.get()})
      if (inside(*buffer)) return {buffer->handle(), region.address - buffer->address()};
    for (const auto& [input, taken] : taken_)
      if (inside(*taken.buffer)) return {taken.buffer->handle(), region.address - taken.buffer->address()};
    for (size_t i = 0; store_ && i < store_->layout().blocks().size(); ++i) {
      const Buffer& block = store_->block(static_cast<int>(i));
      if (inside(block)) return {block.handle(), region.address - block.address()};
    }
    fail("a copy names memory outside the program");
  }

  std::shared_ptr<VulkanContext> context_;
  std::shared_ptr<VulkanStore> store_;
  std::shared_ptr<VulkanWorkspace> workspace_;
  int64_t guard_bytes_;
  bool profile_;
  PlanOptions options_;
  std::optional<Tuning> tuning_;  ///< of options_
  MemoryPlan plan_;
  std::unique_ptr<Buffer> step_;
  std::shared_ptr<Buffer> readback_;
  std::map<int, Taken> taken_;  ///< by input
  std::vector<Command> commands_;
  Segments segments_;
  Segments plain_segments_;  ///< without timestamps; none unless their cost is asked for
  std::unique_ptr<Timestamps> timestamps_;
  uint64_t recorded_version_ = 0;  ///< of the workspace
  Counters counters_;
  double begin_ = 0;      ///< of the last submission, on the host's steady clock
  bool alone_ = false;    ///< it had none before it in the queue
  bool plain_ = false;    ///< it was that of plain_segments_
  bool learned_ = false;  ///< a run has told of the speed
};

}  // namespace

std::unique_ptr<Program> make_vulkan_program(std::shared_ptr<VulkanContext> context, Graph graph,
                                             std::shared_ptr<VulkanStore> store, const PlanOptions& options,
                                             std::shared_ptr<VulkanWorkspace> workspace) {
  return std::make_unique<VulkanProgram>(std::move(context), std::move(graph), std::move(store), options,
                                         std::move(workspace));
}

}  // namespace vkformer
