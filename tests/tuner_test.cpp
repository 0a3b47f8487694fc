// The tuner: what it measures, and what it makes of kernels that fail.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "models/families/registry.h"
#include "models/tuning/model_tuner.h"
#include "runtime/check.h"
#include "runtime/measure.h"
#include "tests/tuning_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

/// Its programs run nothing, and each node takes as long as is said of its kernel: a second where nothing is. Half of
/// that passes between two dispatches.
struct TimedBackend : public Backend {
  std::map<std::string_view, double> seconds;          ///< by kernel
  std::string_view failing, losing;                    ///< kernels that no program is made with, or loses the device
  std::vector<std::shared_ptr<Workspace>> workspaces;  ///< of the programs made so far
  double run_seconds = 1;                              ///< what a run is busy for

  TimedBackend() { device.timestamp_period = 1; }
  const DeviceFacts& facts() const override { return device; }
  std::string describe() const override { return "timed"; }
  uint64_t allocated_bytes() const override { return 0; }
  std::shared_ptr<Store> make_store(const StoreLayout& layout) override { return reference->make_store(layout); }
  std::shared_ptr<Store> extend_store(std::shared_ptr<Store> store, const StoreLayout& layout) override {
    return reference->extend_store(std::move(store), layout);
  }
  std::shared_ptr<Workspace> make_workspace() override { return reference->make_workspace(); }
  MemoryPlan plan(const Graph& graph, const StoreLayout& layout) const override {
    return plan_memory(graph, device, layout);
  }
  std::unique_ptr<Program> compile(Graph graph, std::shared_ptr<Store>, const PlanOptions& options,
                                   std::shared_ptr<Workspace> workspace) override {
    workspaces.push_back(std::move(workspace));
    MemoryPlan plan = plan_memory(graph, device, {}, options);
    for (const std::string_view kernel : plan.candidate) {
      check(kernel.empty() || kernel != failing, "{} does not fit", failing);
      if (!kernel.empty() && kernel == losing) throw DeviceLost("the device is lost");
    }
    return std::make_unique<TimedProgram>(std::move(graph), std::move(plan), seconds, run_seconds);
  }

 private:
  class TimedProgram : public Program {
   public:
    TimedProgram(Graph graph, MemoryPlan plan, std::map<std::string_view, double> seconds, double run_seconds)
        : Program(std::move(graph)), plan_(std::move(plan)), seconds_(std::move(seconds)), run_seconds_(run_seconds) {}
    void run() override { ++runs_; }
    const MemoryPlan& plan() const override { return plan_; }
    Counters counters() const override { return {.runs = runs_, .seconds = static_cast<double>(runs_) * run_seconds_}; }
    std::vector<Timing> timings() const override {
      std::vector<Timing> timings;
      for (int node : plan_.live_nodes) {
        const auto known = seconds_.find(plan_.candidate[static_cast<size_t>(node)]);
        const double quarter = known == seconds_.end() ? 0.25 : known->second / 4;
        timings.push_back({.node = node, .start = 10.0 * node, .seconds = quarter});
        timings.push_back({.node = node, .start = 10.0 * node + 3 * quarter, .seconds = quarter});
      }
      return timings;
    }

   protected:
    void write_bytes(Value, std::span<const std::byte>) override {}
    void read_bytes(Value, std::span<std::byte>) const override {}

   private:
    MemoryPlan plan_;
    std::map<std::string_view, double> seconds_;
    double run_seconds_;
    uint64_t runs_ = 0;
  };

  DeviceFacts device = some_device();
  std::unique_ptr<Backend> reference = make_reference_backend();
};

}  // namespace

TEST_CASE("the tuner chooses a legal kernel for every kind of node, once", "[tuning][device][one_driver]") {
  auto backend = make_backend("");
  const Graph graph = small_graph();
  Tuning tuning;
  int last = 0, total = 0;
  const TunedProgram tuned =
      tune_program(*backend, graph, backend->make_store({}), fill, tuning, [&](int done, int of) {
        CHECK(done == last + 1);
        last = done;
        total = of;
      });
  CHECK(last == total);
  size_t several = 0;
  for (const Node& node : graph.nodes()) {
    const auto legal = candidates(node, backend->facts());
    if (legal.size() < 2) continue;
    ++several;
    const Tuning::Choice* choice = tuning.find(node);
    REQUIRE(choice);
    CHECK(std::find(legal.begin(), legal.end(), choice->candidate) != legal.end());
    CHECK(choice->seconds > 0);
  }
  CHECK(several > 0);
  CHECK(tuned.kinds.size() == several);
  CHECK(tuning.size() == several);
  for (const TunedKind& kind : tuned.kinds) CHECK(kind.chosen_seconds <= kind.heuristic_seconds);
  CHECK(tune_program(*backend, graph, backend->make_store({}), fill, tuning).kinds.empty());
}

TEST_CASE("the tuner covers training and generation of a model", "[tuning][device][one_driver]") {
  auto backend = make_backend("");
  const Model model = make_model(JsonObject::parse(
      R"({"model_type": "gpt2", "n_positions": 11, "n_embd": 12, "n_layer": 1, "n_head": 3, "vocab_size": 17})",
      "test"));
  const TrainingPlan plan = plan_training(model, {.accumulate = 2}, {causal_batch(model, 2)}, *backend);
  std::vector<std::string> programs;
  const TuneObserver observer{
      .report = [&](const std::string& program, const TunedProgram&) { programs.push_back(program); }};
  auto tuning = std::make_shared<Tuning>();
  tune_training(*backend, plan, *tuning, observer);
  const std::vector<int64_t> prompts{1, 9};
  tune_generation(*backend, model, {}, prompts, *tuning, observer);
  CHECK(programs == std::vector<std::string>{"micro-batch", "update", "evaluation", "prefill of 11", "decode"});
  // Nothing that these verbs compile is left without a choice.
  for (const TrainingPlan::PlannedProgram& program : plan.programs)
    for (int n : live_nodes(program.graph)) {
      const Node& node = program.graph.nodes()[static_cast<size_t>(n)];
      if (node.op->candidates && candidates(node, backend->facts()).size() > 1) CHECK(tuning->find(node) != nullptr);
    }
}

TEST_CASE("a kernel that fails is left out of the tuning, a lost device ends it", "[tuning]") {
  TimedBackend backend;
  const Graph graph = small_graph();
  const auto legal = candidates(graph.nodes()[1], backend.facts());
  REQUIRE(legal.size() > 2);
  for (const std::string_view kernel : legal) backend.seconds[kernel] = kernel == legal[0] ? 1 : 2;
  backend.failing = legal[1];
  Tuning tuning;
  const TunedProgram tuned = tune_program(backend, graph, nullptr, fill, tuning);
  REQUIRE(tuned.failures.size() == 1);
  CHECK(tuned.failures[0].signature == signature(graph.nodes()[1]));
  CHECK(tuned.failures[0].candidate == legal[1]);
  CHECK(tuned.failures[0].message == fmt::format("{} does not fit", legal[1]));
  REQUIRE(tuned.kinds.size() == 2);
  for (const TunedKind& kind : tuned.kinds) CHECK(kind.heuristic_seconds == 1);
  REQUIRE(tuning.find(graph.nodes()[1]));
  CHECK(tuning.find(graph.nodes()[1])->candidate == legal[0]);

  backend.failing = legal[0];  // and so does the program without tuning
  tuning = {};
  CHECK_THROWS_AS(tune_program(backend, graph, nullptr, fill, tuning), Error);
  backend.failing = {};
  backend.losing = legal[1];
  tuning = {};
  CHECK_THROWS_AS(tune_program(backend, graph, nullptr, fill, tuning), DeviceLost);
}

TEST_CASE("a warm-up lasts so long and so many runs, whichever is more", "[tuning]") {
  TimedBackend backend;
  DeviceFacts gpu, software;
  gpu.kind = DeviceKind::discrete;
  software.kind = DeviceKind::cpu;
  const auto runs = [&](WarmUp& warm_up, double seconds, int least) {
    backend.run_seconds = seconds;
    const auto program = backend.compile(small_graph(), nullptr, {}, nullptr);
    warm_up(*program, least);
    return program->counters().runs;
  };
  WarmUp warm_up(software);
  CHECK(runs(warm_up, 1, 1) == 1);
  CHECK(runs(warm_up, 1, 3) == 3);
  CHECK(runs(warm_up, 0x1p-9, 3) == 11);  // of 2 ms
  CHECK(runs(warm_up, 0, 1) > 11);        // and has an end
  WarmUp waking(gpu);
  CHECK(runs(waking, 0x1p-4, 1) == 16);  // its clocks rise
  CHECK(runs(waking, 0x1p-9, 1) == 11);  // and are up
}

TEST_CASE("the programs that the proof compares share their temporaries", "[tuning]") {
  TimedBackend backend;
  const Graph graph = small_graph();
  backend.seconds[candidates(graph.nodes()[1], backend.facts())[1]] = 0.5;
  Tuning tuning;
  tune_program(backend, graph, nullptr, fill, tuning);
  const auto& used = backend.workspaces;
  REQUIRE(used.size() > 2);
  CHECK(used.back() != nullptr);
  CHECK(used[used.size() - 2] == used.back());
}

TEST_CASE("the reference has no kernels to tune", "[tuning]") {
  auto backend = make_reference_backend();
  Tuning tuning;
  CHECK_THROWS_AS(tune_program(*backend, small_graph(), backend->make_store({}), fill, tuning), Error);
}
