// A kernel that the driver can't compile, on a driver that is made to refuse some.

#include <dlfcn.h>
#include <vulkan/vulkan.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>

#include "runtime/check.h"
#include "runtime/tuning.h"
#include "shaders/matmul/matmul.h"
#include "tests/program_helpers.h"

using namespace vkformer;

namespace {

/// Of the pipelines that are made next; with what.
std::atomic<int> refusals = 0;
std::atomic<VkResult> refusal = VK_ERROR_UNKNOWN;

Graph product() {
  Graph graph;
  graph.mark_output(matmul(graph, graph.input("a", {37, 64}), graph.input("b", {64, 64})), "y");
  return graph;
}

const testing::RampInputs inputs = {{"a", 37 * 64}, {"b", 64 * 64}};

std::string error_of_run(Program& program) {
  testing::fill_with_ramps(program, inputs);
  try {
    program.run();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

// Stands before the loader's: the library's calls come here, and go on.
extern "C" VKAPI_ATTR VkResult VKAPI_CALL vkCreateComputePipelines(VkDevice device, VkPipelineCache cache,
                                                                   uint32_t count,
                                                                   const VkComputePipelineCreateInfo* infos,
                                                                   const VkAllocationCallbacks* own,
                                                                   VkPipeline* pipelines) {
  static const auto next = reinterpret_cast<PFN_vkCreateComputePipelines>(dlsym(RTLD_NEXT, "vkCreateComputePipelines"));
  if (refusals.load() > 0 && refusals.fetch_sub(1) > 0) return refusal;
  return next(device, cache, count, infos, own, pipelines);
}

TEST_CASE("a kernel that the driver can't compile gives way to another", "[program][device][one_driver]") {
  std::vector<std::string> notes;
  const auto backend = make_backend("", {.note = [&](const std::string& line) { notes.push_back(line); }});
  const auto reference = make_reference_backend();
  const auto expected = testing::run_on_ramps(*reference->compile(product(), reference->make_store({})), inputs);
  const auto first = backend->plan(product(), {}).candidate.front();
  refusals = 1;
  const auto program = backend->compile(product(), backend->make_store({}));
  CHECK(testing::largest_difference(testing::run_on_ramps(*program, inputs), expected) < 1e-3);
  CHECK(refusals == 0);
  CHECK(program->plan().candidate.front() != first);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find(fmt::format("device 0 ({})", backend->facts().name)) != std::string::npos);
  CHECK(notes[0].find("can't compile the kernel matmul_") != std::string::npos);
  CHECK(notes[0].find("unknown error (-13); update it") != std::string::npos);
  CHECK(notes[0].find(fmt::format("matmul does without its kernel '{}'", first)) != std::string::npos);
  // Later programs know.
  CHECK(backend->plan(product(), {}).candidate.front() == program->plan().candidate.front());
  const auto later = backend->compile(product(), backend->make_store({}));
  CHECK(testing::run_on_ramps(*later, inputs) == program->read("y"));
  CHECK(notes.size() == 1);
}

TEST_CASE("no other kernel stands in for one that was asked for, or for want of memory",
          "[program][device][one_driver]") {
  std::vector<std::string> notes;
  const auto backend = make_backend("", {.note = [&](const std::string& line) { notes.push_back(line); }});
  const std::string first(backend->plan(product(), {}).candidate.front());
  Tuning tuning;
  const Graph graph = product();
  tuning.set(signature(graph.nodes().front()), {first, 0});
  for (const PlanOptions& options : {PlanOptions{.candidate = first}, PlanOptions{.tuning = &tuning}}) {
    refusals = 1000;
    const auto fresh = make_backend("", {.note = [&](const std::string& line) { notes.push_back(line); }});
    const auto program = fresh->compile(product(), fresh->make_store({}), options);
    CHECK(error_of_run(*program).find("can't compile the kernel matmul_") != std::string::npos);
    refusals = 0;
  }
  refusals = 1000;
  refusal = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  const auto program = backend->compile(product(), backend->make_store({}));
  CHECK(error_of_run(*program).find("out of device memory") != std::string::npos);
  refusals = 0;
  refusal = VK_ERROR_UNKNOWN;
  CHECK(notes.empty());
  CHECK(backend->plan(product(), {}).candidate.front() == first);
}

TEST_CASE("a driver that compiles no kernel of an op is told of", "[program][device][one_driver]") {
  const auto backend = make_backend("");
  refusals = 1000;
  const auto program = backend->compile(product(), backend->make_store({}));
  CHECK(error_of_run(*program).find("compiles none of its kernels") != std::string::npos);
  refusals = 0;
}
