// What several threads may do, and what is refused.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <numeric>
#include <thread>

#include "runtime/all_cores.h"
#include "runtime/backend.h"
#include "runtime/one_thread.h"
#include "runtime/recorder.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/layer_norm/layer_norm.h"
#include "shaders/matmul/matmul.h"

using namespace vkformer;
using Catch::Matchers::EndsWith;

namespace {

constexpr const char* two_threads = "is used by two threads at the same time; give each thread a backend of its own";

/// The message of the Error that `call` ends with in another thread; empty: it ends without.
template <class Call>
std::string error_in_another_thread(Call&& call) {
  std::string message;
  std::thread([&] {
    try {
      call();
    } catch (const Error& error) {
      message = error.what();
    }
  }).join();
  return message;
}

/// What another thread hears that enters while a node of the op below is being recorded.
struct Intrusion {
  Backend* backend = nullptr;
  std::shared_ptr<Store> store;
  std::vector<std::string> messages;
} intrusion;

const Op intruded_op = {.name = "intruded",
                        .infer = [](const Node& node) { return Types{node.input_types[0]}; },
                        .record =
                            [](Recorder& recorder, const Node& node) {
                              const auto intrude = [](auto call) {
                                intrusion.messages.push_back(error_in_another_thread(call));
                              };
                              intrude([] { intrusion.backend->make_store({}); });
                              intrude([] { intrusion.store->read("x"); });
                              intrude([] { intrusion.backend->compile({}, intrusion.store); });
                              recorder.copy(recorder.region(node.inputs[0]), recorder.region(node.outputs[0]));
                            }};

std::vector<float> sawtooth(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 97) / 48.5f - 1;
  return values;
}

/// Results of a few programs of a backend made here, from its opening to its end.
std::vector<std::vector<float>> results_of_own_backend(int64_t rows) {
  const auto backend = make_backend("");
  StoreLayout layout;
  layout.add_block("block", std::vector<StoreLayout::Part>{{"w", {{65, 29}}}});
  const auto store = backend->make_store(layout);
  store->write("w", sawtooth(65 * 29));
  std::vector<std::vector<float>> results;
  for (int64_t more : {0, 1, 30}) {
    Graph graph;
    const Value x = graph.input("x", {rows + more, 65});
    const Value y = layer_norm(graph, activate(graph, Activation::gelu, x), {graph.input("gain", {65})}, {}, 1e-5f);
    graph.mark_output(matmul(graph, y, graph.persistent("w", {65, 29})), "y");
    const auto program = backend->compile(graph, store);
    program->write("x", sawtooth((rows + more) * 65));
    program->write("gain", sawtooth(65));
    for (int run = 0; run < 3; ++run) program->run();
    results.push_back(program->read("y"));
  }
  results.push_back(store->read("w"));
  return results;
}

}  // namespace

TEST_CASE("one thread at a time is let in, as often as it likes", "[threads]") {
  OneThread object;
  const auto enter = [&] { const auto stay = object.enter("the object"); };
  {
    const auto outer = object.enter("the object");
    const auto inner = object.enter("the object");
    CHECK_THAT(error_in_another_thread(enter), EndsWith(two_threads));
  }
  CHECK(error_in_another_thread(enter).empty());
  CHECK_NOTHROW(enter());
}

TEST_CASE("a backend that is in use refuses another thread, and works on", "[threads][device]") {
  const auto backend = make_backend("");
  StoreLayout layout;
  layout.add_block("block", std::vector<StoreLayout::Part>{{"x", {{5}}}});
  intrusion = {.backend = backend.get(), .store = backend->make_store(layout), .messages = {}};
  Graph graph;
  graph.mark_output(graph.apply(intruded_op, {graph.input("a", {5})}), "b");
  {
    const auto program = backend->compile(graph, intrusion.store);
    REQUIRE(intrusion.messages.size() == 3);
    for (const std::string& message : intrusion.messages) CHECK_THAT(message, EndsWith(two_threads));
    program->write("a", sawtooth(5));
    program->run();
    CHECK(program->read("b") == sawtooth(5));
    // One after the other, every thread may.
    CHECK(error_in_another_thread([&] { program->run(); }).empty());
  }
  intrusion = {};
}

TEST_CASE("two threads with a backend each run at the same time", "[threads][device]") {
  const auto expected = results_of_own_backend(37), others_expected = results_of_own_backend(3);
  std::vector<std::vector<float>> other;
  std::vector<std::vector<float>> mine;
  for (int round = 0; round < 3; ++round) {
    std::thread thread([&] { other = results_of_own_backend(3); });
    mine = results_of_own_backend(37);
    thread.join();
    CHECK(mine == expected);
    CHECK(other == others_expected);
  }
}

TEST_CASE("devices may be listed while another thread opens one", "[threads][device]") {
  std::vector<DeviceListing> listed;
  std::thread thread([&] { listed = list_devices(); });
  const auto backend = make_backend("");
  thread.join();
  CHECK(listed.size() == list_devices().size());
}

TEST_CASE("work in pieces is done once each, and an error among them is thrown", "[threads]") {
  for (const int64_t count : {0, 1, 2, 1000}) {
    std::vector<int> done(static_cast<size_t>(count));
    on_all_cores(count, [&](int64_t piece) { ++done[static_cast<size_t>(piece)]; });
    CHECK(std::accumulate(done.begin(), done.end(), int64_t{0}) == count);
    CHECK(std::count(done.begin(), done.end(), 1) == count);
  }
  CHECK_THROWS_WITH(on_all_cores(100, [](int64_t piece) { check(piece != 37, "piece {}", piece); }), EndsWith("37"));
}
