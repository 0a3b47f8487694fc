// Recorded programs on whatever Vulkan device is there.

#include <catch2/catch_test_macros.hpp>

#include "runtime/backend.h"
#include "runtime/check.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/layer_norm/layer_norm.h"

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

std::vector<float> ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 97) / 48.5f - 1;
  return values;
}

std::vector<float> run(Program& program) {
  program.write("x", ramp(37 * 65));
  program.write("gain", ramp(65));
  program.run();
  return program.read("y");
}

}  // namespace

TEST_CASE("replays record and allocate nothing", "[device]") {
  auto backend = make_backend("");
  auto program = backend->compile(diamond(), backend->make_store({}));
  const auto first = run(*program);
  const Counters before = program->counters();
  for (int i = 0; i < 5; ++i) CHECK(run(*program) == first);
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
  CHECK(program->counters().dispatches == 5);
  CHECK(program->counters().barriers == 4);
}

TEST_CASE("cutting a program into many submissions changes no bit", "[device]") {
  auto whole = make_backend("");
  auto pieces = make_backend("", {.segment_seconds = 1e-6});
  auto program = whole->compile(diamond(), whole->make_store({}));
  auto cut = pieces->compile(diamond(), pieces->make_store({}));
  CHECK(cut->counters().segments > program->counters().segments);
  CHECK(run(*cut) == run(*program));
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

TEST_CASE("inputs of the wrong name, type or size are refused", "[device]") {
  auto backend = make_backend("");
  auto program = backend->compile(diamond(), backend->make_store({}));
  CHECK_THROWS_AS(program->write("z", std::vector<float>{1}), Error);
  CHECK_THROWS_AS(program->write("x", std::vector<float>{1}), Error);
  CHECK_THROWS_AS(program->write("gain", std::vector<int32_t>(65)), Error);
  CHECK_THROWS_AS(program->read("x"), Error);
}

TEST_CASE("a profiled program times every dispatch", "[device]") {
  auto backend = make_backend("", {.profile = true});
  if (backend->facts().timestamp_period == 0) SKIP("the device has no timestamps");
  auto program = backend->compile(diamond(), backend->make_store({}));
  run(*program);
  const auto timings = program->timings();
  REQUIRE(timings.size() == program->counters().dispatches);
  CHECK(timings[0].op == "gelu");
  for (const Timing& timing : timings) CHECK(timing.seconds >= 0);
}

TEST_CASE("unknown devices are an error that lists the known ones", "[device]") {
  CHECK_THROWS_AS(make_backend("no such device"), Error);
  CHECK_THROWS_AS(make_backend("99"), Error);
}
