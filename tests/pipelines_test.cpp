// What drivers say of pipelines, and which kernels follow from a device's registers.

#include <catch2/catch_test_macros.hpp>

#include "models/families/gpt2/gpt2.h"
#include "models/generation/generation.h"
#include "runtime/autodiff.h"
#include "runtime/check.h"
#include "runtime/conform/conform.h"
#include "runtime/pipeline_figures.h"
#include "shaders/attention/attention.h"
#include "shaders/common/stream.h"
#include "shaders/layer_norm/layer_norm.h"
#include "shaders/matmul/matmul.h"

using namespace vkformer;

namespace {

DeviceFacts gpu(uint32_t least, uint32_t usual, uint32_t most) {
  DeviceFacts facts;
  facts.kind = DeviceKind::discrete;
  facts.min_subgroup_size = least;
  facts.subgroup_size = usual;
  facts.max_subgroup_size = most;
  facts.subgroup_shuffle = facts.full_subgroups = true;
  facts.max_workgroup_size = 1024;
  facts.shared_memory = 49152;
  return facts;
}

std::string_view first_for_row(const DeviceFacts& facts, int64_t columns) {
  Graph graph;
  layer_norm(graph, graph.input("x", {4, columns}), graph.input("gain", {columns}), graph.input("bias", {columns}),
             1e-5f);
  const Node& node = graph.nodes().front();
  return node.op->candidates(node, facts).front();
}

std::string_view first_for_product(const DeviceFacts& facts, int64_t side) {
  Graph graph;
  matmul(graph, graph.input("a", {side, side}), graph.input("b", {side, side}));
  const Node& node = graph.nodes().front();
  return node.op->candidates(node, facts).front();
}

}  // namespace

TEST_CASE("drivers' statistics get one name each", "[pipelines]") {
  PipelineRecord radv{
      .code = {
          {64, {{"VGPRs", 84}, {"SGPRs", 30}, {"Spilled VGPRs", 0}, {"Subgroups per SIMD", 18}, {"LDS size", 1024}}}}};
  const PipelineFigures amd = figures_of(radv);
  CHECK(amd.subgroup_size == 64);
  CHECK(amd.registers == 84.0);
  CHECK(amd.resident == 18.0);
  CHECK(amd.shared == 1024.0);
  CHECK_FALSE(amd.code);
  CHECK_FALSE(amd.spilled());
  const PipelineRecord nvk{.code = {{32, {{"Number of GPRs", 72}, {"Spills to reg", 3}, {"SLM size", 512}}}}};
  CHECK(figures_of(nvk).spilled());  // an array that found no registers
  CHECK_FALSE(figures_of(PipelineRecord{}).spilled());
}

TEST_CASE("of several codes for a pipeline the widest without spills counts", "[pipelines]") {
  const PipelineRecord anv{.code = {{8, {{"Spill count", 0}, {"Max live registers", 90}}},
                                    {16, {{"Spill count", 0}, {"Max live registers", 110}}},
                                    {32, {{"Spill count", 40}, {"Max live registers", 300}}}}};
  CHECK(figures_of(anv).subgroup_size == 16);
  CHECK(figures_of(anv).registers == 110.0);
}

TEST_CASE("rows are held by a subgroup only where its lanes have the registers", "[pipelines]") {
  const DeviceFacts nvidia = gpu(32, 32, 32), amd = gpu(32, 64, 64), intel = gpu(8, 32, 32);
  CHECK(first_for_row(nvidia, 256) == "subgroup");
  CHECK(first_for_row(nvidia, 768) == "subgroups");
  CHECK(first_for_row(amd, 512) == "subgroup");
  CHECK(first_for_row(amd, 768) == "subgroups");
  CHECK(first_for_row(intel, 128) == "subgroups");
}

TEST_CASE("workgroups that are halved have a power of two of invocations, whatever the limit", "[pipelines]") {
  DeviceFacts facts;
  facts.kind = DeviceKind::discrete;
  for (const auto& [limit, lanes] : {std::pair{128u, 128u}, {192u, 128u}, {256u, 256u}, {1000u, 256u}}) {
    facts.max_workgroup_size = limit;
    CHECK(stream_workgroup(facts) == lanes);
  }
}

TEST_CASE("large products take large shares where registers and shared memory hold them", "[pipelines]") {
  DeviceFacts facts = gpu(32, 32, 32);
  CHECK(first_for_product(facts, 4096) == "tile128");
  CHECK(first_for_product(facts, 1024) == "tile64");  // 64 blocks of 128 x 128 leave cores idle
  facts.cores = 16;
  CHECK(first_for_product(facts, 1024) == "tile128");
  facts.shared_memory = 32768;
  CHECK(first_for_product(facts, 4096) == "tile64");
  CHECK(first_for_product(gpu(8, 32, 32), 4096) == "tile64");
  CHECK(first_for_product(gpu(32, 64, 64), 4096) == "tile64");
}

TEST_CASE("pipelines are made without memory and kept in the log", "[pipelines][device]") {
  const auto backend = make_backend("", {.inspect = true});
  const size_t before = pipelines_logged();
  make_case_pipelines(*backend, {.op = "add_bias", .all = true});
  CHECK(pipelines_logged() > before);
  CHECK(backend->allocated_bytes() == 0);
  for (const PipelineRecord& record : pipeline_log())
    if (record.kernel == "add_bias") CHECK(record.seconds > 0);
}

TEST_CASE("a token takes a GPU five dispatches a layer", "[pipelines][device][other_driver]") {
  const auto backend = make_backend("", {.as_gpu = true});
  const Model model = make_gpt2({.vocabulary = 67, .context = 32, .width = 32, .layers = 2, .heads = 4, .inner = 64});
  const GenerationPlan plan = plan_generation(model, {}, parameter_blocks(model.parameters, UINT64_MAX));
  const auto programs = generation_programs(model, plan, {}, backend->facts(), 3);
  REQUIRE(programs.size() == 3);  // of one row, and of 2 and 4 that check guesses
  for (const GenerationProgram& program : programs) {
    INFO(program.name);
    const CommandCounts counts = backend->make_pipelines(program.graph, plan.layout);
    CHECK(counts.dispatches == 2 * 5 + 2);  // the embedding, the head, which writes where the host reads
    CHECK(counts.barriers == counts.dispatches);
  }
}

TEST_CASE("gradients of queries and of keys don't wait for each other, in one tensor or in several",
          "[pipelines][device][other_driver]") {
  const auto backend = make_backend("", {.as_gpu = true});
  const auto barriers = [&](bool packed) {
    Graph graph;
    Values sources;
    // So many positions that each gradient is copied to the host, be it one of three or all in one.
    for (const char* name : {"q", "k", "v"})
      if (sources.empty() || !packed) sources.push_back(graph.input(name, {2, 19, packed ? 96 : 32}));
    const auto columns = [&](size_t i) {
      return packed ? HeadColumns{sources[0], static_cast<int64_t>(32 * i)} : HeadColumns{sources[i]};
    };
    const Value y = attention(graph, columns(0), columns(1), columns(2), {.heads = 2, .head_width = 16});
    for (const Value gradient : differentiate(graph, y, graph.input("upstream", {2, 19, 32}), sources))
      graph.mark_output(gradient, fmt::format("gradient {}", gradient.id));
    return backend->make_pipelines(graph, {}).barriers;
  };
  CHECK(barriers(true) == barriers(false));
}
