// Runs that begin before the host knows the one before: what comes of them is what comes of runs one after the other.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "shaders/elementwise/elementwise.h"
#include "tests/file_helpers.h"
#include "tests/program_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

/// y = 2 x; and, for memory of its own, z = 3 (x + x).
Graph doubling(int64_t count) {
  Graph graph;
  const Value x = graph.input("x", {count});
  graph.mark_output(scale(graph, x, 2), "y");
  graph.mark_output(scale(graph, add(graph, x, x), 3), "z");
  return graph;
}

void check_turns(Backend& backend) {
  const auto store = backend.make_store({});
  const auto workspace = backend.make_workspace();
  const auto a = backend.compile(doubling(4), store, {}, workspace),
             b = backend.compile(doubling(3), store, {}, workspace);
  CHECK_THAT(error_of([&] { a->take_input("x", *b, "y"); }), ContainsSubstring("can't be taken"));
  b->take_input("x", *a, "y");
  const auto first = [](const Program& program) { return program.read("y").at(0); };
  a->write("x", std::vector<float>{1, 2, 3, 4});
  for (int round = 0; round < 3; ++round) {
    a->start();
    b->start();
    a->finish();
    CHECK(first(*a) == 2);
    CHECK(b->read("y") == std::vector<float>{4, 8, 12});  // which waits
    b->finish();
  }
  b->write("x", std::vector<float>{7, 8, 9});
  b->run();
  CHECK(b->read("y") == std::vector<float>{14, 16, 18});
  CHECK(b->read("z") == std::vector<float>{42, 48, 54});
  // Memory moves, inputs change and programs end while others are under way.
  a->start();
  b->start();
  const auto large = backend.compile(doubling(5000), store, {}, workspace);
  CHECK(b->read("y") == std::vector<float>{4, 8, 12});
  a->start();
  a->write("x", std::vector<float>{5, 6, 7, 8});
  CHECK(first(*a) == 2);
  a->start();
  b->start();
  CHECK(b->read("z") == std::vector<float>{60, 72, 84});
  const auto c = backend.compile(doubling(3), store, {}, workspace);
  c->write("x", std::vector<float>{1, 1, 1});
  c->start();
}

}  // namespace

TEST_CASE("a program takes from another, which is under way, what it left", "[run_ahead][device][one_driver]") {
  check_turns(*make_reference_backend());
  check_turns(*make_backend(""));
}
