// Measured choices: the file, and what plans make of it.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <regex>

#include "runtime/check.h"
#include "runtime/tuning.h"
#include "shaders/elementwise/elementwise.h"
#include "tests/file_helpers.h"
#include "tests/tuning_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

Tuning example() {
  Tuning tuning;
  tuning.set("matmul f32[8, 64] f32[64, 16] -> f32[8, 16]", {"lanes", 1.5e-3});
  tuning.set("add f32[8] f32[8] -> f32[8]", {"quads", 0});
  return tuning;
}

/// The file of example() with one key changed.
nlohmann::json changed_file(const std::filesystem::path& file, const std::string& key, const nlohmann::json& value) {
  example().save(file, some_device());
  nlohmann::json json = nlohmann::json::parse(get(file));
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
  nlohmann::json json = nlohmann::json::parse(get(file));
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
  const std::string text = get(file);
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
