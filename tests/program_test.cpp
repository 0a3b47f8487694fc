// Recorded programs on whatever Vulkan device is there.

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "models/training/training_batch.h"
#include "runtime/autodiff.h"
#include "runtime/backend.h"
#include "runtime/check.h"
#include "runtime/vulkan/segments.h"
#include "shaders/attention/attention.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/layer_norm/layer_norm.h"
#include "shaders/matmul/matmul.h"
#include "shaders/slice/slice.h"
#include "tests/gradient_helpers.h"
#include "tests/program_helpers.h"

using namespace vkformer;

namespace {

/// Two independent chains that meet.
Graph diamond() {
  Graph graph;
  const Value x = graph.input("x", {37, 65});
  const Value a = activate(graph, Activation::gelu, x);
  const Value b = scale(graph, x, 3);
  graph.mark_output(layer_norm(graph, add(graph, a, b), {graph.input("gain", {65})}, {}, 1e-5f), "y");
  return graph;
}

std::vector<float> run_diamond(Program& program) {
  return testing::run_on_ramps(program, {{"x", 37 * 65}, {"gain", 65}});
}

}  // namespace

TEST_CASE("replays record and allocate nothing", "[device]") {
  auto backend = make_backend("");
  auto program = backend->compile(diamond(), backend->make_store({}));
  const auto first = run_diamond(*program);
  const Counters before = program->counters();
  for (int i = 0; i < 5; ++i) CHECK(run_diamond(*program) == first);
  const Counters after = program->counters();
  CHECK(after.runs == before.runs + 5);
  CHECK(after.recorded_dispatches == before.recorded_dispatches);
  CHECK(after.command_buffers == before.command_buffers);
  CHECK(after.allocations == before.allocations);
}

TEST_CASE("barriers stand only where data flows", "[device]") {
  auto backend = make_backend("");
  auto program = backend->compile(diamond(), backend->make_store({}));
  // The two branches run without a barrier between them. Barriers: at the start, before the sum, before the norm,
  // before the copy of its result to the host.
  CHECK(program->counters().commands.dispatches == 5);
  CHECK(program->counters().commands.barriers == 4);
}

TEST_CASE("cutting a program into many submissions changes no bit", "[device]") {
  auto whole = make_backend("");
  auto pieces = make_backend("", {.segment_seconds = 1e-6});
  auto program = whole->compile(diamond(), whole->make_store({}));
  auto cut = pieces->compile(diamond(), pieces->make_store({}));
  CHECK(run_diamond(*cut) == run_diamond(*program));
  CHECK(cut->counters().segments > program->counters().segments);
}

TEST_CASE("backwards, barriers keep their places") {
  std::vector<Command> commands(6);
  commands[0].barrier_before = commands[2].barrier_before = commands[5].barrier_before = true;
  CHECK(order_of(commands, false) == std::vector<size_t>{0, 1, 2, 3, 4, 5});
  CHECK(order_of(commands, true) == std::vector<size_t>{1, 0, 4, 3, 2, 5});
}

TEST_CASE("commands that no barrier separates may run in any order", "[device][one_driver]") {
  for (const bool as_gpu : {false, true}) {
    const auto forwards = make_backend("", {.as_gpu = as_gpu});
    const auto backwards = make_backend("", {.backwards = true, .as_gpu = as_gpu});
    for (const nlohmann::json& config : {testing::small_gpt2, testing::small_llama, testing::small_bert}) {
      const Model model = testing::model_of(config);
      const BatchShape shape = usual_batch(model, 2, 8);
      CHECK(testing::loss_and_gradients(*forwards, model, shape, {}) ==
            testing::loss_and_gradients(*backwards, model, shape, {}));
    }
  }
}

TEST_CASE("a long dispatch is cut along z, then y, and along x only where there is one row") {
  const auto size = [](const std::array<uint32_t, 3>& groups) { return groups[0] * groups[1] * groups[2]; };
  for (const std::array<uint32_t, 3>& groups :
       {std::array<uint32_t, 3>{1, 1, 1}, {7, 1, 1}, {5, 4, 1}, {3, 1, 4}, {2, 3, 2}, {6, 8, 2}})
    for (const uint32_t count : {1u, 2u, 3u, 4u, 5u, 7u, 11u, 1'000'000u}) {
      CAPTURE(groups, count);
      std::vector<int> times(size(groups));
      const std::vector<WorkgroupRange> pieces = cut_dispatch(groups, count);
      for (const WorkgroupRange& piece : pieces) {
        const auto& [first, part] = piece;
        for (uint32_t z = first[2]; z < first[2] + part[2]; ++z)
          for (uint32_t y = first[1]; y < first[1] + part[1]; ++y)
            for (uint32_t x = first[0]; x < first[0] + part[0]; ++x) ++times.at((z * groups[1] + y) * groups[0] + x);
        CHECK((groups[1] == 1 || part[0] == groups[0]));
        // No more than asked for, or as little as there can be.
        CHECK((size(part) * count <= size(groups) || size(part) == (groups[1] == 1 ? 1 : groups[0])));
      }
      CHECK(std::ranges::all_of(times, [](int n) { return n == 1; }));
      CHECK(pieces.size() <= 4 * count);
    }
  CHECK(cut_dispatch({9, 12, 2}, 5).size() == 6);  // attention: blocks, heads, batches
}

TEST_CASE("what may not have been done tells of a slow device alone") {
  CHECK(learned_factor(1, 2, 8, 0) == 0.25);
  CHECK(learned_factor(1, 16, 8, 0) == 2);
  CHECK(learned_factor(1, 2, 0, 8) == 1);
  CHECK(learned_factor(1, 16, 0, 8) == 2);
  CHECK(learned_factor(1, 2, 4, 4) == 0.5);
  CHECK(learned_factor(1, 6, 4, 4) == 1);
}

TEST_CASE("segments that grew to twice their budget are cut shorter, by no more than four") {
  CHECK(SlowedCuts().factor(0.5, 0.38, 2, 0.1, 0.1) == 0.5);
  CHECK(SlowedCuts().factor(0.5, 0.5, 2, 0.1, 0.125) == 1);
  CHECK(SlowedCuts().factor(0.5, 30, 1, 0.1, 0.1) == 2);
}

TEST_CASE("segments are cut shorter for as long as that helps") {
  static constexpr double budget = 0.1;
  // A run that grows to three seconds, of commands that share its estimate evenly. The longest of its segments, and
  // how often they were cut again.
  const auto outcome = [](double estimate, int commands) {
    SlowedCuts cuts;
    double factor = 0.5;
    int cut_again = 0;
    size_t segments = 0;
    for (double seconds = 0.01; seconds < 3; seconds *= 1.02) {
      const double each = factor * estimate / commands;
      const int together = std::max(1, static_cast<int>(budget / each));
      segments = static_cast<size_t>((commands + together - 1) / together);
      const double longest = std::min(budget, each * std::min(together, commands));
      const double next = cuts.factor(factor, seconds, segments, longest, budget);
      cut_again += next != factor;
      factor = next;
    }
    return std::pair(3 / static_cast<double>(segments), cut_again);
  };
  for (const double estimate : {0.01, 0.05, 0.08, 0.1, 0.3, 1.0}) CHECK(outcome(estimate, 100).first < 2.2 * budget);
  CHECK(outcome(0.01, 1).second < 10);  // which nothing takes apart
}

TEST_CASE("copies and fills of nothing are not recorded") {
  const Graph graph;
  const DeviceFacts facts;
  const Placement placement;
  Recorder recorder(graph, facts, {}, placement);
  recorder.copy({256, 0}, {512, 0});
  recorder.fill({256, 0}, 7);
  CHECK(recorder.take_commands().empty());
}

TEST_CASE("a short run tells nothing of the device's speed once a long one has", "[device][one_driver]") {
  auto backend = make_backend("", {.segment_seconds = 1e-3});
  const auto made = [&](int products) {
    Graph graph;
    Value x = graph.input("x", {128, 128});
    for (int i = 0; i < products; ++i) x = matmul(graph, x, x);
    graph.mark_output(products > 0 ? x : scale(graph, x, 2), "y");
    return backend->compile(std::move(graph), backend->make_store({}));
  };
  const auto submissions_of_long = [&] {
    const auto program = made(400);
    program->run();
    return program->counters().segments;
  };
  const auto run_twice = [](Program& program) {
    for (int i = 0; i < 2; ++i) program.run();  // the first one also compiles
  };
  run_twice(*made(400));
  const size_t before = submissions_of_long();
  run_twice(*made(0));
  CHECK(submissions_of_long() == before);
}

TEST_CASE("what is allocated is what the plan says", "[device]") {
  auto backend = make_backend("");
  StoreLayout layout;
  layout.add_block("block", std::vector<StoreLayout::Part>{{"a", {{3, 5}, DType::f32}}, {"b", {{7}, DType::f32}}});
  auto store = backend->make_store(layout);
  CHECK(backend->allocated_bytes() == static_cast<uint64_t>(layout.total_bytes()));
  auto program = backend->compile(diamond(), store);
  CHECK(backend->allocated_bytes() == static_cast<uint64_t>(layout.total_bytes() + program->plan().total_bytes()));
  program.reset();
  CHECK(backend->allocated_bytes() == static_cast<uint64_t>(layout.total_bytes()));
}

TEST_CASE("programs in one workspace have the memory of the largest, and the results of separate ones", "[device]") {
  const auto chain = [](int64_t rows) {
    Graph graph;
    const Value x = graph.input("x", {rows, 7});
    const Value a = scale(graph, x, 2), b = activate(graph, Activation::gelu, x);
    graph.mark_output(add(graph, add(graph, a, b), scale(graph, a, 3)), "y");
    return graph;
  };
  const auto result = [](Program& program, int64_t rows) {
    program.write("x", testing::ramp(static_cast<size_t>(rows * 7)));
    program.run();
    return program.read("y");
  };
  auto backend = make_backend("");
  auto store = backend->make_store({});
  const auto alone = backend->compile(chain(3), store), large_alone = backend->compile(chain(500), store);
  const auto expected = result(*alone, 3), large_expected = result(*large_alone, 500);
  const uint64_t before = backend->allocated_bytes();
  auto workspace = backend->make_workspace();
  auto small = backend->compile(chain(3), store, {}, workspace);
  CHECK(result(*small, 3) == expected);
  auto large = backend->compile(chain(500), store, {}, workspace);
  const auto own = [](const Program& program) { return program.plan().total_bytes() - program.plan().arena_bytes(); };
  CHECK(small->plan().arena_bytes() < large->plan().arena_bytes());
  CHECK(backend->allocated_bytes() - before ==
        static_cast<uint64_t>(own(*small) + own(*large) + large->plan().arena_bytes()));
  // The first is recorded again, once, because its memory has moved.
  for (int i = 0; i < 3; ++i) {
    CHECK(result(*large, 500) == large_expected);
    CHECK(result(*small, 3) == expected);
  }
  CHECK(small->counters().recorded_dispatches == 2 * alone->counters().recorded_dispatches);
  CHECK(large->counters().recorded_dispatches == large_alone->counters().recorded_dispatches);
  small.reset();
  large.reset();
  workspace.reset();
  CHECK(backend->allocated_bytes() == before);
}

TEST_CASE("a store keeps its tensors apart", "[device]") {
  auto backend = make_backend("");
  StoreLayout layout;
  layout.add_block("block", std::vector<StoreLayout::Part>{{"a", {{3}, DType::f32}}, {"b", {{2}, DType::f32}}});
  auto store = backend->make_store(layout);
  store->write("a", std::vector<float>{1, 2, 3});
  store->write("b", std::vector<float>{4, 5});
  CHECK(store->read("a") == std::vector<float>{1, 2, 3});
  CHECK(store->read("block") == std::vector<float>{1, 2, 3, 0, 4, 5, 0, 0});
  CHECK_THROWS_AS(store->read("c"), Error);
  CHECK_THROWS_AS(store->write("a", std::vector<float>{1}), Error);
}

TEST_CASE("a store that was extended shares what it had", "[device]") {
  for (const auto& backend : {make_backend(""), make_reference_backend()}) {
    const uint64_t before = backend->allocated_bytes();
    StoreLayout layout;
    layout.add_block("weights", std::vector<StoreLayout::Part>{{"a", {Shape{300}}}, {"b", {Shape{64}, DType::f16}}});
    auto store = backend->make_store(layout);
    store->write("a", std::vector<float>(300, 1));
    const uint64_t first = backend->allocated_bytes();
    layout.add_block("state", std::vector<StoreLayout::Part>{{"c", {Shape{100}}}});
    const auto extended = backend->extend_store(store, layout);
    CHECK(backend->allocated_bytes() - first == (before == first ? 0 : 400));
    CHECK(extended->read("a") == std::vector<float>(300, 1));
    CHECK(extended->read("c") == std::vector<float>(100, 0));
    extended->write("a", std::vector<float>(300, 2));
    store->write("b", std::vector<float>(64, 3));
    CHECK(store->read("a") == std::vector<float>(300, 2));
    store.reset();
    CHECK(extended->read("b") == std::vector<float>(64, 3));
    Graph graph;
    graph.mark_output(add(graph, graph.persistent("a", Shape{300}), graph.persistent("a", Shape{300})), "y");
    const auto program = backend->compile(std::move(graph), extended);
    program->run();
    CHECK(program->read("y") == std::vector<float>(300, 4));
  }
}

TEST_CASE("inputs of the wrong name, type or size are refused", "[device]") {
  auto backend = make_backend("");
  auto program = backend->compile(diamond(), backend->make_store({}));
  CHECK_THROWS_AS(program->write("z", std::vector<float>{1}), Error);
  CHECK_THROWS_AS(program->write("x", std::vector<float>{1}), Error);
  CHECK_THROWS_AS(program->write("gain", std::vector<int32_t>(65)), Error);
  CHECK_THROWS_AS(program->read("x"), Error);
}

TEST_CASE("a program profiled in detail times every dispatch", "[device]") {
  auto backend = make_backend("", {.profile = true, .profile_details = true});
  if (backend->facts().timestamp_period == 0) SKIP("the device has no timestamps");
  auto program = backend->compile(diamond(), backend->make_store({}));
  run_diamond(*program);
  const auto timings = program->timings();
  REQUIRE(timings.size() == program->counters().commands.dispatches);
  CHECK(timings[0].op == "gelu");
  for (const Timing& timing : timings) CHECK(timing.seconds >= 0);
}

TEST_CASE("a profile in detail leaves out timestamps every other time, and forgets the first run", "[device]") {
  auto backend = make_backend("", {.profile = true, .profile_details = true});
  if (backend->facts().timestamp_period == 0) SKIP("the device has no timestamps");
  auto program = backend->compile(diamond(), backend->make_store({}));
  const auto first = run_diamond(*program);
  for (int i = 1; i < 6; ++i) CHECK(run_diamond(*program) == first);
  int timed = 0, plain = 0;
  for (const RunTimes& run : program->run_times()) {
    ++(run.timed ? timed : plain);
    CHECK(run.host > 0);
    if (!run.timed) continue;
    CHECK(run.device > 0);
    CHECK(run.device <= run.host);
    if (run.latency) CHECK(*run.latency + run.device <= run.host);
  }
  CHECK(timed == 2);
  CHECK(plain == 3);
  for (const Timing& timing : program->timings()) {
    REQUIRE(timing.recent.size() == 2);
    CHECK(timing.recent.back() == static_cast<float>(timing.seconds));
  }
}

TEST_CASE("kernels that prepare or finish a product have none of its operations", "[device]") {
  auto backend = make_backend("", {.profile = true, .profile_details = true});
  if (backend->facts().timestamp_period == 0) SKIP("the device has no timestamps");
  Graph graph;
  graph.mark_output(matmul(graph, graph.input("x", {64, 512}), graph.input("w", {512, 32})), "y");
  for (const std::string_view candidate : graph.nodes()[0].op->candidates(graph.nodes()[0], backend->facts())) {
    CAPTURE(candidate);
    auto program = backend->compile(graph, backend->make_store({}), {.candidate = std::string(candidate)});
    program->write("x", testing::ramp(64 * 512));
    program->write("w", testing::ramp(512 * 32));
    program->run();
    double flops = 0;
    for (const Timing& timing : program->timings())
      if (timing.kernel != "matmul_pack" && timing.kernel != "matmul_reduce") flops += timing.cost.flops;
    CHECK(flops == 2.0 * 64 * 512 * 32);
  }
}

TEST_CASE("what a kernel leaves to a fill is not charged to it, and without details both are timed as one",
          "[device]") {
  const bool details = GENERATE(true, false);
  auto backend = make_backend("", {.profile = true, .profile_details = details});
  if (backend->facts().timestamp_period == 0) SKIP("the device has no timestamps");
  Graph graph;
  const Value x = graph.input("x", {4, 10}), y = slice(graph, x, 2, 3), seed = graph.input("seed", {4, 3});
  graph.mark_output(differentiate(graph, y, seed, std::span(&x, 1))[0], "dx");
  auto program = backend->compile(graph, backend->make_store({}));
  program->write("seed", testing::ramp(4 * 3));
  program->run();
  double bytes = 0;
  int rows = 0;
  for (const Timing& timing : program->timings()) {
    if (timing.op != "slice_backward") continue;
    bytes += timing.cost.bytes;
    ++rows;
  }
  CHECK(rows == (details ? 2 : 1));
  CHECK(bytes == 4.0 * (4 * 3 + 4 * 10));
}

TEST_CASE("what a cache costs is a bound", "[device]") {
  auto backend = make_backend("", {.profile = true});
  if (backend->facts().timestamp_period == 0) SKIP("the device has no timestamps");
  for (const bool cached : {false, true}) {
    Graph graph;
    const Value q = graph.input("q", {1, 1, 8}), kv = graph.input("kv", {1, 64, 16});
    AttentionOptions options{.heads = 2, .head_width = 4, .causal = true};
    if (cached) options.position = graph.input("position", {1}, DType::i32);
    graph.mark_output(attention(graph, {q}, {kv, 0}, {kv, 8}, options), "y");
    auto program = backend->compile(graph, backend->make_store({}));
    program->write("q", testing::ramp(8));
    program->write("kv", testing::ramp(64 * 16));
    if (cached) program->write("position", std::vector<int32_t>{3});
    program->run();
    CHECK(program->timings().front().cost.at_most == cached);
  }
}

TEST_CASE("unknown devices are an error that lists the known ones", "[device]") {
  CHECK_THROWS_AS(make_backend("no such device"), Error);
  CHECK_THROWS_AS(make_backend("99"), Error);
}
