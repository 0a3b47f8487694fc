// Measured choices: the file, what plans make of it, and the tuner.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <regex>

#include "models/families/registry.h"
#include "models/tuning/model_tuner.h"
#include "runtime/check.h"
#include "runtime/measure.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/layer_norm/layer_norm.h"
#include "shaders/matmul/matmul.h"
#include "tests/file_helpers.h"
#include "tests/program_helpers.h"

using namespace vkformer;
using testing::TemporaryFolder;

namespace {

DeviceFacts some_device() {
  DeviceFacts facts;
  facts.name = "test device";
  facts.driver = "test driver 1.2";
  facts.driver_version = 12;
  facts.kind = DeviceKind::cpu;
  facts.subgroup_size = facts.min_subgroup_size = facts.max_subgroup_size = 8;
  facts.subgroup_shuffle = facts.full_subgroups = facts.int64 = true;
  facts.max_workgroup_size = 256;
  facts.max_workgroups[0] = facts.max_workgroups[1] = facts.max_workgroups[2] = 65535;
  facts.shared_memory = 32768;
  facts.max_allocation = uint64_t{1} << 30;
  facts.cpu_threads = 2;
  facts.kernels = "fedcba9876543210";
  return facts;
}

/// x [37, 65] w [65, 29] -> y; two nodes, both with several candidates everywhere.
Graph small_graph() {
  Graph graph;
  const Value x = graph.input("x", {37, 65});
  const Value norm = layer_norm(graph, x, graph.input("gain", {65}), {}, 1e-5f);
  graph.mark_output(matmul(graph, norm, graph.input("w", {65, 29})), "y");
  return graph;
}

const testing::RampInputs inputs = {{"x", 37 * 65}, {"gain", 65}, {"w", 65 * 29}};

void fill(Program& program) { testing::fill_with_ramps(program, inputs); }

std::vector<float> run(Program& program) { return testing::run_on_ramps(program, inputs); }

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return node.op->candidates(node, facts);
}

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

Tuning example() {
  Tuning tuning;
  tuning.set("matmul f32[8, 64] f32[64, 16] -> f32[8, 16]", {"lanes", 1.5e-3});
  tuning.set("add f32[8] f32[8] -> f32[8]", {"quads", 0});
  return tuning;
}

/// The file of example() with one key changed.
nlohmann::json changed_file(const std::filesystem::path& file, const std::string& key, const nlohmann::json& value) {
  example().save(file, some_device());
  nlohmann::json json = nlohmann::json::parse(testing::get(file));
  REQUIRE(json.contains(key));
  json[key] = value;
  return json;
}

}  // namespace

TEST_CASE("a signature tells apart what decides the kernel", "[tuning]") {
  Graph graph;
  const Value a = graph.input("a", {8, 64}), b = graph.input("b", {64, 16}), bias = graph.input("bias", {16});
  matmul(graph, a, b);
  matmul(graph, a, b, {.scale = 2});
  matmul(graph, a, b, {.bias = bias});
  matmul(graph, graph.input("c", {9, 64}), b);
  matmul(graph, graph.input("d", {8, 64}), b);
  std::vector<std::string> texts;
  for (const Node& node : graph.nodes()) texts.push_back(signature(node));
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = i + 1; j < 4; ++j) CHECK(texts[i] != texts[j]);
  CHECK(texts[4] == texts[0]);
}

TEST_CASE("measured choices come back from their file", "[tuning]") {
  const TemporaryFolder folder;
  const auto file = folder / "new/tuning.json";
  Tuning tuning = example();
  tuning.roof = Roof{1.25e10, 8e10, {{DType::f16, 6e14}, {DType::bf16, 5e14}}};
  tuning.save(file, some_device());
  std::string ignored;
  const Tuning loaded = Tuning::load(file, some_device(), ignored);
  CHECK(ignored.empty());
  CHECK(loaded.size() == 2);
  const Tuning::Choice* choice = loaded.find("matmul f32[8, 64] f32[64, 16] -> f32[8, 16]");
  REQUIRE(choice);
  CHECK(*choice == Tuning::Choice{"lanes", 1.5e-3});
  CHECK(loaded.roof == tuning.roof);
  CHECK(loaded.find("sub f32[8] f32[8] -> f32[8]") == nullptr);
}

TEST_CASE("an older file's roof has no matrix cores", "[tuning]") {
  const TemporaryFolder folder;
  const auto file = folder / "tuning.json";
  Tuning tuning = example();
  tuning.roof = Roof{1.25e10, 8e10};
  tuning.save(file, some_device());
  nlohmann::json json = nlohmann::json::parse(testing::get(file));
  json["roof"].erase("matrix_flops_per_second");
  testing::put(file, json.dump());
  std::string ignored;
  CHECK(Tuning::load(file, some_device(), ignored).roof == tuning.roof);
  CHECK(ignored.empty());
  json["roof"]["matrix_flops_per_second"] = {{"i32", 1e14}};
  testing::put(file, json.dump());
  CHECK_FALSE(Tuning::load(file, some_device(), ignored).roof);
  CHECK_FALSE(ignored.empty());
}

TEST_CASE("a file that is not there is no fault", "[tuning]") {
  const TemporaryFolder folder;
  std::string ignored;
  CHECK(Tuning::load(folder / "none.json", some_device(), ignored).size() == 0);
  CHECK(Tuning::load({}, some_device(), ignored).size() == 0);
  CHECK(ignored.empty());
}

TEST_CASE("choices of another device, driver or build are ignored", "[tuning]") {
  const TemporaryFolder folder;
  const auto file = folder / "tuning.json";
  for (const auto& [key, value] : std::vector<std::pair<std::string, nlohmann::json>>{{"device", "other device"},
                                                                                      {"driver", "other driver"},
                                                                                      {"driver_version", 13},
                                                                                      {"threads", 3},
                                                                                      {"kind", 2},
                                                                                      {"cores", 7},
                                                                                      {"int64", false},
                                                                                      {"kernels", "0123456789abcdef"},
                                                                                      {"format", 2}}) {
    const nlohmann::json json = changed_file(file, key, value);
    testing::put(file, json.dump());
    std::string ignored;
    INFO(key);
    CHECK(Tuning::load(file, some_device(), ignored).size() == 0);
    CHECK(ignored.find("tuning.json") != std::string::npos);
    CHECK(ignored.find('\n') == std::string::npos);
  }
}

TEST_CASE("choices within other limits are kept apart", "[tuning]") {
  const TemporaryFolder folder;
  const auto file = folder / "tuning.json";
  DeviceFacts device = some_device();
  device.matrix_shapes = {{16, 16, 16, DType::f16}};
  DeviceFacts less_memory = device, small = device, without_matrix_cores = device;
  less_memory.max_allocation = less_memory.memory_free = 1;
  small.shared_memory = 16384;
  without_matrix_cores.matrix_shapes.clear();
  example().save(file, device);
  std::string ignored;
  CHECK(Tuning::load(file, device.within(device), ignored).size() == 2);
  CHECK(Tuning::load(file, device.within(less_memory), ignored).size() == 2);
  CHECK(ignored.empty());
  for (const DeviceFacts& other : {small, without_matrix_cores}) {
    CHECK(Tuning::load(file, device.within(other), ignored).size() == 0);
    CHECK(ignored.find("--facts") != std::string::npos);
    example().save(file, device.within(other));
    CHECK(Tuning::load(file, device, ignored).size() == 0);
    CHECK(Tuning::load(file, device.within(other), ignored).size() == 2);
    example().save(file, device);
  }
}

TEST_CASE("a damaged file is ignored", "[tuning]") {
  const TemporaryFolder folder;
  const auto file = folder / "tuning.json";
  example().save(file, some_device());
  const std::string text = testing::get(file);
  std::vector<std::string> damaged = {"", "[]", "nonsense", text.substr(0, text.size() / 2)};
  for (const nlohmann::json& choices :
       {nlohmann::json(), nlohmann::json::array(), nlohmann::json{{"add", 3}}, nlohmann::json{{"add", {{"kernel", 3}}}},
        nlohmann::json{{"add", {{"kernel", "quads"}, {"seconds", -1}}}}})
    damaged.push_back(changed_file(file, "choices", choices).dump());
  for (const std::string& content : damaged) {
    testing::put(file, content);
    std::string ignored;
    INFO(content);
    CHECK(Tuning::load(file, some_device(), ignored).size() == 0);
    CHECK(!ignored.empty());
  }
}

TEST_CASE("a stored kernel goes before the heuristic's if it is legal", "[tuning]") {
  const DeviceFacts facts = some_device();
  const Graph graph = small_graph();
  const auto legal = candidates(graph.nodes()[1], facts);
  REQUIRE(legal.size() > 1);
  const auto planned = [&](const std::string& stored, const std::string& forced = {}) {
    Tuning tuning;
    tuning.set(signature(graph.nodes()[1]), {stored, 0});
    return plan_memory(graph, facts, {}, {.candidate = forced, .tuning = &tuning}).candidate;
  };
  CHECK(planned(std::string(legal[1]))[1] == legal[1]);
  CHECK(planned(std::string(legal[1]))[0] == candidates(graph.nodes()[0], facts)[0]);
  CHECK(planned("nonsense")[1] == legal[0]);
  CHECK(planned(std::string(legal[1]), std::string(legal.back()))[1] == legal.back());
}

TEST_CASE("lavapipe of Mesa 25 and later multiplies with shared loads", "[tuning][device][one_driver]") {
  const auto backend = make_backend("");
  const DeviceFacts& facts = backend->facts();
  std::smatch version;
  if (!std::regex_search(facts.driver, version, std::regex("llvmpipe Mesa ([0-9]+)"))) SKIP("another driver");
  const auto first_choice = [&](int64_t rows, bool transpose_b) {
    Graph graph;
    const Value x = graph.input("x", {rows, 512}), w = graph.input("w", {512, 512});
    graph.mark_output(matmul(graph, x, w, {.transpose_b = transpose_b}), "y");
    return candidates(graph.nodes()[0], facts)[0];
  };
  const bool shares = std::stoi(version[1]) >= 25;
  CHECK((first_choice(512, false) == "panels") == shares);
  CHECK((first_choice(1, true) == "dot") == shares);
}

TEST_CASE("programs run the backend's measured choices, always with the same bits", "[tuning][device][one_driver]") {
  auto backend = make_backend("", {.profile = true});
  CHECK(backend->tuning() == nullptr);
  const Graph graph = small_graph();
  const auto legal = candidates(graph.nodes()[1], backend->facts());
  REQUIRE(legal.size() > 1);
  auto tuning = std::make_shared<Tuning>();
  tuning->set(signature(graph.nodes()[1]), {std::string(legal[1]), 0});
  backend->set_tuning(tuning);
  CHECK(backend->plan(graph, {}).candidate[1] == legal[1]);
  auto program = backend->compile(graph, backend->make_store({}));
  const auto result = run(*program);
  for (const Timing& timing : program->timings())
    if (timing.node == 1) CHECK(timing.candidate == legal[1]);
  CHECK(program->plan().candidate[1] == legal[1]);
  CHECK(run(*program) == result);
  CHECK(run(*backend->compile(graph, backend->make_store({}))) == result);
  // The same kernel, forced: the choice changes nothing but the kernel.
  backend->set_tuning(nullptr);
  CHECK(run(*backend->compile(graph, backend->make_store({}), {.candidate = std::string(legal[1])})) == result);
  CHECK(backend->compile(graph, backend->make_store({}))->plan().candidate[1] == legal[0]);
}

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
  const auto runs = [&](double seconds, int least) {
    backend.run_seconds = seconds;
    const auto program = backend.compile(small_graph(), nullptr, {}, nullptr);
    warm_up(*program, least);
    return program->counters().runs;
  };
  CHECK(runs(1, 1) == 1);
  CHECK(runs(1, 3) == 3);
  CHECK(runs(0x1p-9, 3) == 11);  // of 2 ms
  CHECK(runs(0, 1) > 11);        // and has an end
}

TEST_CASE("the programs that the proof compares share their temporaries", "[tuning]") {
  TimedBackend backend;
  const Graph graph = small_graph();
  backend.seconds[candidates(graph.nodes()[1], backend.facts())[1]] = 0.5;
  Tuning tuning;
  CHECK(tune_program(backend, graph, nullptr, fill, tuning).seconds_after > 0);
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

TEST_CASE("work on matrix cores has a roof of its own, or none", "[tuning]") {
  const Roof roof{.bytes_per_second = 10, .flops_per_second = 100, .matrix_flops_per_second = {{DType::f16, 800}}};
  const Cost cost{.bytes = 5, .flops = 200};
  REQUIRE(times_at_roof(roof, cost, {}));
  CHECK(times_at_roof(roof, cost, {})->copy == 0.5);
  CHECK(times_at_roof(roof, cost, {})->arithmetic == 2);
  REQUIRE(times_at_roof(roof, cost, DType::f16));
  CHECK(times_at_roof(roof, cost, DType::f16)->copy == 0.5);
  CHECK(times_at_roof(roof, cost, DType::f16)->arithmetic == 0.25);
  CHECK_FALSE(times_at_roof(roof, cost, DType::bf16));
}
