// When products and attention go to matrix cores, and what makes them stay away.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "runtime/autodiff.h"
#include "runtime/check.h"
#include "shaders/attention/attention.h"
#include "shaders/matmul/gpu/matrix_choice.h"
#include "shaders/matmul/gpu/matrix_layout.h"
#include "shaders/matmul/matmul.h"
#include "shaders/matmul/matmul_kernel.h"
#include "tests/matrix_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

std::vector<std::string_view> candidates(const DeviceFacts& facts, int64_t m, int64_t n, int64_t k,
                                         DType a = DType::f16, DType b = DType::f16, DType result = DType::f32) {
  Graph graph;
  matmul(graph, graph.input("a", {m, k}, a), graph.input("b", {k, n}, b), {.result = result});
  const Node& node = graph.nodes().front();
  return node.op->candidates(node, facts);
}

/// Of attention, or of its gradients, with heads of that width in a packed projection with a margin.
std::vector<std::string_view> attention_candidates_of(const DeviceFacts& facts, int64_t head_width,
                                                      bool backward = false, DType type = DType::f16,
                                                      int64_t margin = 0) {
  Graph graph;
  const int64_t width = 4 * head_width;
  const Value x = graph.input("x", {2, 128, margin + 3 * width}, type);
  const Value result = attention(graph, {x, margin}, {x, margin + width}, {x, margin + 2 * width},
                                 {.heads = 4, .head_width = head_width});
  const Value upstream = graph.input("upstream", {2, 128, width}, type);
  differentiate(graph, result, upstream, Values{x});
  for (const Node& node : graph.nodes())
    if (is_attention(node) != backward) return node.op->candidates(node, facts);
  return {};
}

}  // namespace

TEST_CASE("products of 16-bit operands go to matrix cores, in blocks that fill the device", "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  CHECK(candidates(facts, 1024, 1024, 1024).front() == "matrix128");
  CHECK(candidates(facts, 4096, 4096, 1024).front() == "matrix128");
  CHECK(candidates(facts, 256, 256, 4096).front() == "matrix64_split");
  CHECK(candidates(facts, 64, 64, 64).front() == "matrix64");
  facts.matrix_shapes.push_back({16, 16, 16, DType::bf16});
  CHECK(candidates(facts, 4096, 4096, 1024, DType::bf16, DType::bf16).front() == "matrix128");
}

TEST_CASE("small products and CPU devices only have the choice of matrix cores", "[matrix_cores]") {
  const auto cpu = device_with_matrix_cores(DeviceKind::cpu);
  for (const auto& names :
       {candidates(device_with_matrix_cores(), 63, 1024, 1024), candidates(device_with_matrix_cores(), 1024, 1024, 63),
        candidates(cpu, 1024, 1024, 1024)}) {
    CHECK(offered(names));
    CHECK_FALSE(names.front().starts_with("matrix"));
  }
}

TEST_CASE("matrix cores are not for other operands, nor where their products don't fit", "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  CHECK_FALSE(offered(candidates(facts, 1024, 1024, 1024, DType::f32, DType::f32)));
  CHECK_FALSE(offered(candidates(facts, 1024, 1024, 1024, DType::f32, DType::f16)));
  CHECK_FALSE(offered(candidates(facts, 1024, 1024, 1024, DType::bf16, DType::bf16)));
  facts.matrix_shapes = {{64, 64, 64}, {24, 16, 16}};
  CHECK_FALSE(offered(candidates(facts, 1024, 1024, 1024)));
  facts = device_with_matrix_cores();
  facts.full_subgroups = false;
  CHECK_FALSE(offered(candidates(facts, 1024, 1024, 1024)));
  facts = device_with_matrix_cores();
  facts.shared_memory = 16384;  // too little for the strips of four shares of 64 x 64
  CHECK(candidates(facts, 4096, 4096, 1024).front() == "matrix128x64");
}

TEST_CASE("where lanes share registers, matrix cores get narrow subgroups and wait for a measurement",
          "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  facts.min_subgroup_size = 8;
  facts.matrix_shapes = {{8, 8, 16}};
  const auto layout = matrix_layout(matrix64, facts, DType::f16);
  REQUIRE(layout);
  CHECK(layout->subgroup_size == 8);
  CHECK(layout->invocations() == 256);
  const auto names = candidates(facts, 1024, 1024, 1024);
  CHECK(offered(names));
  CHECK_FALSE(names.front().starts_with("matrix"));
  facts = device_with_matrix_cores();
  facts.max_subgroup_size = 64;  // every lane has its own registers
  CHECK(matrix_layout(matrix64, facts, DType::f16)->subgroup_size == 32);
}

TEST_CASE("attention of 16-bit values goes to matrix cores where heads and rows fit", "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  facts.shared_memory = 49152;
  for (bool backward : {false, true}) {
    CHECK(attention_candidates_of(facts, 64, backward).front() == "matrix");
    CHECK(attention_candidates_of(facts, 128, backward).front() == (backward ? "matrix_wide" : "matrix"));
    CHECK(offered(attention_candidates_of(facts, 256, backward)) != backward);
    CHECK_FALSE(offered(attention_candidates_of(facts, 512, backward)));
    CHECK_FALSE(offered(attention_candidates_of(facts, 24, backward)));  // by 8, not by 16
    DeviceFacts shallow = facts;
    shallow.matrix_shapes = {{8, 8, 8}};
    CHECK(offered(attention_candidates_of(shallow, 24, backward)));
    CHECK(offered(attention_candidates_of(shallow, 128, backward)));
    CHECK_FALSE(offered(attention_candidates_of(facts, 36, backward)));
    CHECK_FALSE(offered(attention_candidates_of(facts, 64, backward, DType::f32)));
    CHECK_FALSE(offered(attention_candidates_of(facts, 64, backward, DType::bf16)));
    CHECK_FALSE(offered(attention_candidates_of(facts, 64, backward, DType::f16, 4)));
    const auto on_cpu = attention_candidates_of(device_with_matrix_cores(DeviceKind::cpu), 64, backward);
    CHECK(offered(on_cpu));
    CHECK_FALSE(on_cpu.front().starts_with("matrix"));
    DeviceFacts intel = facts;
    intel.min_subgroup_size = 8;
    CHECK_FALSE(offered(attention_candidates_of(intel, 64, backward)));
  }
}

TEST_CASE("products of whole workgroups are offered where the device has them in that size", "[matrix_cores]") {
  const auto offered_blocks = [](const DeviceFacts& facts, int64_t m = 1024, DType type = DType::f16) {
    const auto names = candidates(facts, m, 1024, 1024, type, type);
    return std::ranges::count_if(
        names, [](std::string_view name) { return name.starts_with("matrix_workgroup") && !name.ends_with("_split"); });
  };
  DeviceFacts facts = device_with_matrix_cores();
  facts.matrix_shapes.push_back({16, 16, 16, DType::bf16});
  CHECK(offered_blocks(facts) == 0);
  facts.workgroup_matrices = {
      .granularities = {{{32, 32, 16}, 256}, {{32, 16, 16}, 128}, {{256, 16, 16, DType::bf16}, 128}},
      .tensor_addressing = true,
      .per_element = true,
      .max_dimension = 256,
      .kernels = {DType::f16, DType::bf16}};
  CHECK(offered_blocks(facts) == 3);
  CHECK(offered_blocks(facts, 3) == 3);
  CHECK(offered_blocks(facts, 1024, DType::f32) == 0);
  CHECK(offered_blocks(facts, 1024, DType::bf16) == 0);  // not in blocks of so many rows
  facts.workgroup_matrices.granularities.back().shape.m = 32;
  CHECK(offered_blocks(facts, 1024, DType::bf16) == 2);
  const auto without = [&](const auto& change) {
    DeviceFacts other = facts;
    change(other, other.workgroup_matrices);
    return offered_blocks(other);
  };
  CHECK(without([](auto&, auto& matrices) { matrices.max_dimension = 64; }) == 0);
  CHECK(without([](auto&, auto& matrices) { matrices.granularities[0].shape.m = 256; }) == 2);
  CHECK(without([](auto&, auto& matrices) { matrices.granularities[1].shape.n = 128; }) == 2);
  CHECK(without([](auto&, auto& matrices) { matrices.granularities[0].shape.k = 128; }) == 2);
  CHECK(without([](auto&, auto& matrices) { matrices.tensor_addressing = false; }) == 0);
  CHECK(without([](auto&, auto& matrices) { matrices.per_element = false; }) == 0);
  CHECK(without([](auto&, auto& matrices) { matrices.kernels.clear(); }) == 0);
  const auto rounded = [&] {
    return std::ranges::count(candidates(facts, 64, 64, 64, DType::f16, DType::f16, DType::f16), "matrix_workgroup128");
  };
  CHECK(rounded() == 0);
  facts.workgroup_matrices.f16_sums = true;
  CHECK(rounded() == 1);
  CHECK(without([](auto& other, auto& matrices) { matrices.reserved_shared = other.shared_memory + 1; }) == 0);
  CHECK(without([](auto& other, auto&) { other.max_workgroup_size = 128; }) == 2);
  CHECK(without([](auto& other, auto&) {
          other.matrix_check = [](DType, std::string_view kernel) { return !kernel.starts_with("matrix_workgroup"); };
        }) == 0);

  // Sums of another range than the first would begin within 16 bytes.
  CHECK(std::ranges::count(candidates(facts, 67, 42, 131), "matrix_workgroup128_4_split") == 0);
  CHECK(std::ranges::count(candidates(facts, 128, 128, 192), "matrix_workgroup128_4_split") == 1);
  // The second product would, too.
  Graph graph;
  matmul(graph, graph.input("a", {2, 3, 5}, DType::f16), graph.input("b", {2, 5, 16}, DType::f16));
  const Node& node = graph.nodes().front();
  CHECK(std::ranges::count(node.op->candidates(node, facts), "matrix_workgroup128") == 0);
}

TEST_CASE("whole workgroups take whole blocks", "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  facts.workgroup_matrices = {.granularities = {{{32, 16, 16}, 128}},
                              .tensor_addressing = true,
                              .per_element = true,
                              .max_dimension = 256,
                              .kernels = {DType::f16}};
  const auto first = [&](int64_t m, int64_t n, int64_t k) { return candidates(facts, m, n, k).front(); };
  facts.matrix_check = [](DType, std::string_view kernel) { return kernel != "matrix_workgroup128"; };
  CHECK(first(1024, 1024, 1024) == "matrix_workgroup128_4");  // of cores that nobody counted, 64
  facts.cores = 128;
  CHECK(first(1024, 1024, 1024) == "matrix_workgroup128x64_4");  // blocks of 128 x 128 leave half of the cores idle
  CHECK(first(2048, 2048, 1024) == "matrix_workgroup128_4");
  CHECK(first(512, 512, 4096) == "matrix_workgroup128_4_split");
  CHECK_FALSE(first(2048, 2048 + 8, 1024).starts_with("matrix_workgroup"));
  CHECK_FALSE(first(2048, 2048, 1024 + 8).starts_with("matrix_workgroup"));
}

TEST_CASE("a transposed operand A has rates of its own", "[matrix_cores]") {
  const DeviceFacts facts = device_with_matrix_cores();
  Graph graph;
  matmul(graph, graph.input("a", {4096, 1024}, DType::f16), graph.input("b", {4096, 4096}, DType::f16),
         {.transpose_a = true});
  const Node& node = graph.nodes().front();
  CHECK(node.op->candidates(node, facts).front() == "matrix128");
}

TEST_CASE("matrix cores are tried when an f16 product first asks, and left alone when wrong", "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  int asked = 0;
  facts.matrix_check = [&](DType, std::string_view) { return ++asked, false; };
  candidates(facts, 1024, 1024, 1024, DType::f32, DType::f32);
  CHECK(asked == 0);
  CHECK_FALSE(offered(candidates(facts, 1024, 1024, 1024)));
  CHECK(asked > 0);
}

TEST_CASE("blocks that come out wrong are left alone, and the next best go first", "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  facts.matrix_check = [](DType, std::string_view kernel) { return kernel != "matrix128"; };
  const auto names = candidates(facts, 4096, 4096, 1024);
  CHECK(names.front() == "matrix128x64");
  CHECK(std::ranges::count(names, "matrix128") == 0);
  facts.matrix_check = [](DType, std::string_view kernel) { return kernel == "matrix64"; };
  CHECK(candidates(facts, 4096, 4096, 1024).front() == "matrix64");
}

TEST_CASE("attention has a check of its own", "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  facts.matrix_check = [](DType, std::string_view kernel) { return kernel != "attention"; };
  CHECK(offered(candidates(facts, 1024, 1024, 1024)));
  for (const bool backward : {false, true}) CHECK_FALSE(offered(attention_candidates_of(facts, 64, backward)));
  facts.matrix_check = [](DType, std::string_view kernel) { return kernel != "wide_attention_backward"; };
  CHECK(offered(attention_candidates_of(facts, 128, false)));
  CHECK_FALSE(offered(attention_candidates_of(facts, 128, true)));
}

TEST_CASE("a device is held to the products on matrix cores that another one offers", "[matrix_cores]") {
  DeviceFacts other = device_with_matrix_cores();
  other.matrix_shapes = {{16, 16, 16}, {8, 8, 16}};
  CHECK(device_with_matrix_cores().within(other).matrix_shapes == std::vector<MatrixShape>{{16, 16, 16}});
  other.matrix_shapes.clear();
  CHECK_FALSE(offered(candidates(device_with_matrix_cores().within(other), 1024, 1024, 1024)));
}

TEST_CASE("workgroups have no more subgroups than the device allows", "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  facts.max_workgroup_size = 1024;
  CHECK(facts.largest_group(512) == 512);
  facts.max_workgroup_subgroups = 14;
  CHECK(facts.largest_group(512) == 512);  // no size is asked for
  facts.max_subgroup_size = 64;
  CHECK(facts.largest_group(512) == 256);
  facts.max_workgroup_subgroups = 3;
  CHECK_FALSE(offered(candidates(facts, 1024, 1024, 1024)));
  CHECK_FALSE(offered(attention_candidates_of(facts, 64)));
}

TEST_CASE("each of the ranges of K that are summed side by side has some of it", "[matrix_cores]") {
  const MatrixBlocks blocks{.name = "", .rows = 64, .columns = 64, .upright = 100, .transposed = 100};
  for (const int64_t tiles : {1, 2, 5, 16, 63})
    for (int64_t k = 64; k < 9000; ++k) {
      const MatmulProblem p{.m = 64, .n = 64 * tiles, .k = k};
      const auto check = [&](const SplitRanges& ranges, int64_t step) {
        const bool all = ranges.count >= 2 && ranges.length % step == 0 && (ranges.count - 1) * ranges.length < k &&
                         ranges.count * ranges.length >= k;
        if (!all) FAIL(k << " in " << ranges.count << " ranges of " << ranges.length << ", " << tiles << " tiles");
      };
      check(ranges_to_fill(p, 256, tiles), 16);
      if (k > matrix_range_step) check(matrix_ranges(blocks, p, device_with_matrix_cores()), matrix_range_step);
    }
}

TEST_CASE("K is cut into ranges where that keeps more cores busy than its sums cost", "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  facts.cores = 132;
  const auto first = [&](int64_t m, int64_t n, int64_t k) { return candidates(facts, m, n, k).front(); };
  // Products of prompts: LLaMA's of 1.1 G parameters, and a head.
  CHECK(first(512, 2048, 5632) == "matrix128_split");
  CHECK(first(512, 11264, 2048) == "matrix128");
  CHECK(first(128, 2048, 5632) == "matrix128_split");
  CHECK(first(64, 2048, 5632) == "matrix64_split");
  CHECK(first(64, 50264, 768) == "matrix64");
  facts.cores = 20;
  CHECK(first(512, 2048, 5632) == "matrix128");
}

TEST_CASE("K is not cut, not even for a try, where workgroups are many", "[matrix_cores]") {
  const DeviceFacts facts = device_with_matrix_cores();
  const auto splits = [&](int64_t m, int64_t n, DType type) {
    return std::ranges::count_if(candidates(facts, m, n, 4096, type, type),
                                 [](std::string_view name) { return name.ends_with("_split"); });
  };
  CHECK(splits(16 * 64, 16 * 64, DType::f16) == 3);
  CHECK(splits(16 * 64, 16 * 64, DType::f32) == 1);
  CHECK(splits(16 * 64, 16 * 64 + 1, DType::f16) == 1);  // of blocks of 128 x 128
  CHECK(splits(4096, 151936, DType::f32) == 0);
}

TEST_CASE("every product that pays on matrix cores goes there, cut or not", "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  facts.cores = 17;
  for (int64_t m = 64; m < 4000; m += m / 3)
    for (int64_t n = 64; n < 9000; n += n / 5)
      for (const int64_t k : {64, 100, 3000, 40000}) {
        CAPTURE(m, n, k);
        REQUIRE(candidates(facts, m, n, k).front().starts_with("matrix"));
      }
}
