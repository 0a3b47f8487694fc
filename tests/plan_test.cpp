#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <random>

#include "runtime/check.h"
#include "runtime/plan.h"
#include "runtime/verify.h"
#include "shaders/adamw/adamw.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/join/join.h"
#include "shaders/layer_norm/layer_norm.h"
#include "shaders/reshape/reshape.h"
#include "shaders/resize_rows/resize_rows.h"
#include "tests/file_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

DeviceFacts small_device(uint64_t max_allocation = uint64_t{1} << 30) {
  DeviceFacts facts;
  facts.name = "test device";
  facts.kind = DeviceKind::cpu;
  facts.subgroup_size = facts.min_subgroup_size = facts.max_subgroup_size = 8;
  facts.subgroup_shuffle = facts.full_subgroups = facts.int64 = true;
  facts.max_workgroup_size = 256;
  facts.max_workgroups[0] = facts.max_workgroups[1] = facts.max_workgroups[2] = 65535;
  facts.shared_memory = 32768;
  facts.max_allocation = max_allocation;
  return facts;
}

constexpr int64_t kib = 1024;

}  // namespace

TEST_CASE("a chain of elementwise ops runs in place", "[plan]") {
  Graph graph;
  Value x = graph.input("x", {kib});
  for (int i = 0; i < 10; ++i) x = scale(graph, x, 2);
  graph.mark_output(scale(graph, x, 3), "y");
  const MemoryPlan plan = plan_memory(graph, small_device(), {});
  CHECK(plan.arena_bytes() == 2 * 4 * kib);  // the chain, and the output, which the host reads
  CHECK(plan.live_set_bytes == plan.arena_bytes());
}

TEST_CASE("a value that is read again later is not overwritten", "[plan]") {
  Graph graph;
  const Value x = scale(graph, graph.input("x", {kib}), 2);
  const Value y = scale(graph, x, 3);
  graph.mark_output(add(graph, x, y), "z");
  const MemoryPlan plan = plan_memory(graph, small_device(), {});
  CHECK(plan.values[static_cast<size_t>(x.id)].offset != plan.values[static_cast<size_t>(y.id)].offset);
}

TEST_CASE("what leads to no output is dropped", "[plan]") {
  Graph graph;
  const Value x = graph.input("x", {4, 8});
  const Value dead = scale(graph, x, 2);
  graph.mark_output(scale(graph, x, 3), "y");
  const MemoryPlan plan = plan_memory(graph, small_device(), {});
  CHECK(plan.live_nodes == std::vector<int>{1});
  CHECK(plan.values[static_cast<size_t>(dead.id)].area == Place::Area::none);
}

TEST_CASE("secondary outputs that nobody reads take no memory", "[plan]") {
  Graph graph;
  const Value x = graph.input("x", {1024, 8});
  graph.mark_output(layer_norm(graph, x, graph.input("gain", {8}), {}, 1e-5f), "y");
  const MemoryPlan plan = plan_memory(graph, small_device(), {});
  const Node& node = graph.nodes().front();
  CHECK(plan.values[static_cast<size_t>(node.outputs[0].id)].area == Place::Area::arena);
  CHECK(plan.values[static_cast<size_t>(node.outputs[1].id)].area == Place::Area::none);
}

TEST_CASE("small results that only the host reads are written where it reads them", "[plan]") {
  Graph graph;
  const Value x = graph.input("x", {8});
  const Value read = scale(graph, x, 2), small = scale(graph, read, 3);
  const Value large = scale(graph, graph.input("z", {1025}), 2);
  const Value in_place = reshape(graph, scale(graph, x, 5), {2, 4});
  for (const auto& [value, name] : {std::pair{read, "read"}, {small, "small"}, {large, "large"}, {in_place, "renamed"}})
    graph.mark_output(value, name);
  const MemoryPlan plan = plan_memory(graph, small_device(), {});
  const auto area = [](const MemoryPlan& of, Value v) { return of.values[static_cast<size_t>(v.id)].area; };
  CHECK(area(plan, small) == Place::Area::readback);
  CHECK(plan.values[static_cast<size_t>(small.id)].offset == plan.readback[1].offset);
  for (const Value other : {read, large, in_place}) CHECK(area(plan, other) == Place::Area::arena);
  CHECK(area(plan_memory(graph, small_device(), {}, {.guard_bytes = 64}), small) == Place::Area::arena);
}

TEST_CASE("joined parts are computed inside their block", "[plan]") {
  Graph graph;
  const Value x = graph.input("x", {5});
  const Value a = scale(graph, x, 2), b = scale(graph, x, 3);
  const Value block = join(graph, {a, b, x});
  graph.mark_output(block, "block");
  const MemoryPlan plan = plan_memory(graph, small_device(), {});
  const auto offset = [&](Value v) { return plan.values[static_cast<size_t>(v.id)].offset; };
  CHECK(offset(a) == offset(block));
  CHECK(offset(b) == offset(block) + 32);
  CHECK(plan.values[static_cast<size_t>(x.id)].area == Place::Area::step);  // an input stays where it is
}

TEST_CASE("small values leave alone what has just been read, where there is room", "[plan]") {
  for (const bool room : {false, true}) {
    Graph graph;
    if (room) {  // two large ones at the same time, and then one
      const Value large = graph.input("large", {64 * kib});
      graph.mark_output(add(graph, large, scale(graph, large, 2)), "sum");
    }
    const Value x = graph.input("x", {kib});
    Values values{scale(graph, x, 2)};  // each is read by the next alone, which can't overwrite it
    for (int i = 0; i < 4; ++i) values.push_back(add(graph, x, values.back()));
    graph.mark_output(values.back(), "y");
    const MemoryPlan plan = plan_memory(graph, small_device(), {});
    const auto offset = [&](size_t i) { return plan.values[static_cast<size_t>(values[i].id)].offset; };
    CHECK((offset(0) == offset(2)) != room);
    CHECK(plan.arena_bytes() == (room ? 2 * 4 * 64 * kib : 2 * 4 * kib));
  }
}

TEST_CASE("rows are added and taken away where they lie", "[plan]") {
  Graph graph;
  const Value x = scale(graph, graph.input("x", {5, 800}), 2), more = resize_rows(graph, x, 7);
  const Value sum = add(graph, more, graph.input("y", {7, 800})), fewer = resize_rows(graph, sum, 5);
  const Value result = scale(graph, fewer, 3);
  graph.mark_output(result, "result");
  const MemoryPlan plan = plan_memory(graph, small_device(), {});
  const auto offset = [&](Value v) { return plan.values[static_cast<size_t>(v.id)].offset; };
  CHECK(offset(x) == offset(more));
  CHECK(offset(fewer) == offset(sum));
  CHECK(plan.values[static_cast<size_t>(fewer.id)].bytes == 4 * 5 * 800);
  CHECK(offset(result) != offset(sum));  // it would have to end with fewer bytes
}

TEST_CASE("what a joined part overwrites is computed inside the block, too", "[plan]") {
  Graph graph;
  const Value x = graph.input("x", {5});
  const Value early = scale(graph, x, 7), first = scale(graph, x, 9);
  const Value a = scale(graph, x, 2), b = add(graph, a, x), c = scale(graph, x, 3), d = add(graph, c, x);
  const Value late = add(graph, early, x);
  graph.mark_output(scale(graph, c, 5), "c is read again");
  const Value block = join(graph, {first, b, d, late});
  graph.mark_output(block, "block");
  const MemoryPlan plan = plan_memory(graph, small_device(), {});
  const auto offset = [&](Value v) { return plan.values[static_cast<size_t>(v.id)].offset; };
  CHECK(offset(first) == offset(block));
  CHECK(offset(a) == offset(b));
  CHECK(offset(b) == offset(block) + 32);
  CHECK(offset(d) == offset(block) + 64);
  CHECK(offset(c) != offset(d));
  CHECK(offset(early) != offset(late));  // the block would live longer
}

TEST_CASE("temporaries beyond the largest allocation go to another block", "[plan]") {
  Graph graph;
  const Value y = scale(graph, graph.input("x", {kib}), 2);
  graph.mark_output(scale(graph, y, 3), "z");
  CHECK(plan_memory(graph, small_device(8 * kib), {}).arena_blocks.size() == 1);
  CHECK(plan_memory(graph, small_device(4 * kib), {}).arena_blocks.size() == 2);
  CHECK_THAT(error_of([&] { plan_memory(graph, small_device(2 * kib), {}); }), ContainsSubstring("scale [1024] needs"));
}

TEST_CASE("inputs and outputs beyond the largest allocation are refused", "[plan]") {
  Graph many_inputs, many_outputs;
  many_inputs.mark_output(add(many_inputs, many_inputs.input("a", {kib}), many_inputs.input("b", {kib})), "y");
  const Value x = many_outputs.input("x", {kib});
  for (const char* name : {"y", "z"}) many_outputs.mark_output(scale(many_outputs, x, 2), name);
  const auto refusal = [](const Graph& graph, uint64_t largest) {
    return error_of([&] { plan_memory(graph, small_device(largest), {}); });
  };
  CHECK(refusal(many_inputs, 8 * kib) == "");
  CHECK_THAT(refusal(many_inputs, 4 * kib), ContainsSubstring("all inputs together need"));
  CHECK(refusal(many_outputs, 8 * kib) == "");
  CHECK_THAT(refusal(many_outputs, 4 * kib), ContainsSubstring("all outputs together need"));
}

TEST_CASE("tensors alive at the same time never overlap", "[plan]") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 50; ++trial) {
    Graph graph;
    Values pool{graph.input("x", {static_cast<int64_t>(random() % 200 + 1)})};
    for (int i = 0; i < 40; ++i) {
      const Value from = pool[random() % pool.size()];
      pool.push_back(random() % 2 ? scale(graph, from, 2) : activate(graph, Activation::relu, from));
      if (random() % 4 == 0)
        pool.push_back(graph.input(fmt::format("x{}", i), {static_cast<int64_t>(random() % 200 + 1)}));
    }
    for (int i = 0; i < 3; ++i) {
      const Value chosen = pool[random() % pool.size()];
      if (graph.info(chosen).producer >= 0 && !graph.info(chosen).output)
        graph.mark_output(chosen, fmt::format("y{}", i));
    }
    if (graph.outputs().empty()) continue;
    const MemoryPlan plan = plan_memory(graph, small_device(), {});
    for (size_t a = 0; a < plan.items.size(); ++a)
      for (size_t b = 0; b < a; ++b) {
        const PlannedItem &p = plan.items[a], &q = plan.items[b];
        const bool together = p.first_node <= q.last_node && q.first_node <= p.last_node;
        const bool overlap = p.place.block == q.place.block && p.place.offset < q.place.offset + q.bytes &&
                             q.place.offset < p.place.offset + p.bytes;
        CHECK_FALSE((together && overlap));
      }
    CHECK(plan.arena_bytes() >= plan.live_set_bytes);
  }
}

TEST_CASE("reading a part of a block after the block was changed in place is refused", "[plan]") {
  StoreLayout layout;
  for (const char* block : {"p", "m", "v"})
    layout.add_block(block, std::vector<StoreLayout::Part>{{std::string(block) + "0", {Shape{8}}},
                                                           {std::string(block) + "1", {Shape{8}}}});
  const auto changed = [](Graph& graph) {
    const auto block = [&](const char* name) { return graph.persistent(name, {16}); };
    return adamw(graph, block("p"), graph.input("g", {16}), block("m"), block("v"), graph.input("schedule", {3}), {},
                 {});
  };
  const DeviceFacts facts = small_device();
  Graph before, after;
  before.mark_output(scale(before, before.persistent("p1", {8}), 2), "fresh");
  changed(before);
  CHECK_NOTHROW(plan_memory(before, facts, layout));
  changed(after);
  after.mark_output(scale(after, after.persistent("p1", {8}), 2), "stale");
  CHECK_NOTHROW(verify(after));  // names alone do not tell
  CHECK_THROWS_AS(plan_memory(after, facts, layout), Error);
}

TEST_CASE("reading a tensor after it was changed in place is refused", "[plan]") {
  Graph graph;
  const Value p = graph.persistent("p", {16}), g = graph.input("g", {16});
  const Value m = graph.persistent("m", {16}), v = graph.persistent("v", {16});
  adamw(graph, p, g, m, v, graph.input("schedule", {3}), {}, {});
  CHECK_NOTHROW(verify(graph));
  graph.mark_output(scale(graph, p, 2), "stale");
  CHECK_THROWS_AS(verify(graph), Error);
}
