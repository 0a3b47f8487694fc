// What a SPIR-V module asks of a workgroup, read from its declarations, and what it is made to ask of 16-bit floats.

#include "runtime/vulkan/module_needs.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <initializer_list>
#include <map>
#include <vector>

#include "runtime/check.h"
#include "runtime/vulkan/embedded_shaders.h"
#include "runtime/vulkan/half_modes.h"

using namespace vkformer;

namespace {

/// Instructions, each {opcode, operands...}, behind a header.
std::vector<uint32_t> module_of(std::initializer_list<std::vector<uint32_t>> instructions) {
  std::vector<uint32_t> words = {0x07230203, 0x10600, 0, 100, 0};
  for (const std::vector<uint32_t>& instruction : instructions) {
    words.push_back(static_cast<uint32_t>(instruction.size()) << 16 | instruction[0]);
    words.insert(words.end(), instruction.begin() + 1, instruction.end());
  }
  return words;
}

// layout(constant_id = 0) const uint WIDTH = 8, (constant_id = 1) ROWS = 2; workgroups of WIDTH x 4 x 1;
// shared vec4 tile[(WIDTH + 1) * ROWS]; shared bool flag;
const std::vector<uint32_t> small_shader = module_of({
    {331, 1, 38, 10, 12, 13},  // OpExecutionModeId LocalSizeId
    {71, 10, 1, 0},            // SpecId 0
    {71, 11, 1, 1},            // SpecId 1
    {21, 2, 32, 0},            // uint
    {22, 3, 32},               // float
    {23, 4, 3, 4},             // vec4
    {20, 5},                   // bool
    {50, 2, 10, 8},            // WIDTH
    {50, 2, 11, 2},            // ROWS
    {43, 2, 12, 4},            // 4
    {43, 2, 13, 1},            // 1
    {52, 2, 14, 128, 10, 13},  // WIDTH + 1
    {52, 2, 15, 132, 14, 11},  // * ROWS
    {28, 6, 4, 15},            // vec4[...]
    {32, 7, 4, 6},             // pointers into the workgroup's memory
    {32, 8, 4, 5},
    {59, 7, 20, 4},      // tile
    {59, 8, 21, 4},      // flag
    {54, 2, 30, 0, 31},  // OpFunction: what follows counts for nothing
    {59, 7, 22, 4},
});

/// Instructions of a module from `at` on, {opcode, operands...}.
std::vector<uint32_t> instruction_at(std::span<const uint32_t> words, size_t at) {
  std::vector<uint32_t> instruction(words.begin() + static_cast<long>(at),
                                    words.begin() + static_cast<long>(at + (words[at] >> 16)));
  instruction[0] &= 0xffff;
  return instruction;
}

bool has_instruction(std::span<const uint32_t> words, const std::vector<uint32_t>& wanted) {
  for (size_t at = 5; at < words.size(); at += words[at] >> 16)
    if (instruction_at(words, at) == wanted) return true;
  return false;
}

std::span<const uint32_t> kernel(std::string_view name, std::string_view variant) {
  const auto shaders = embedded_shaders();
  const auto found = std::ranges::find_if(
      shaders, [&](const EmbeddedShader& shader) { return shader.kernel == name && shader.variant == variant; });
  REQUIRE(found != shaders.end());
  return found->words;
}

}  // namespace

TEST_CASE("a module tells what it asks of a workgroup", "[pipelines]") {
  CHECK(needs_of(small_shader, {}).invocations == 8 * 4);
  CHECK(needs_of(small_shader, {}).shared_bytes == 16 * (8 + 1) * 2 + 4);
  const std::vector<uint32_t> constants = {64, 3};
  CHECK(needs_of(small_shader, constants).invocations == 64 * 4);
  CHECK(needs_of(small_shader, constants).shared_bytes == 16 * (64 + 1) * 3 + 4);
}

TEST_CASE("a module tells whether it multiplies on matrix cores", "[pipelines]") {
  CHECK_FALSE(needs_of(module_of({{17, 1}}), {}).matrix_cores);        // OpCapability Shader
  CHECK(needs_of(module_of({{17, 1}, {17, 6022}}), {}).matrix_cores);  // CooperativeMatrixKHR
  for (const EmbeddedShader& shader : embedded_shaders()) {
    if (shader.words.empty()) continue;
    CAPTURE(shader.kernel, shader.variant);
    const bool plain = shader.variant.find("plain") != std::string_view::npos;
    const bool named = shader.kernel.ends_with("_matrix") || (shader.kernel == "matmul_workgroup" && !plain);
    CHECK(needs_of(shader.words, {}).matrix_cores == named);
  }
}

TEST_CASE("a module that breaks off, or has sizes that nobody knows, is refused", "[pipelines]") {
  const std::span<const uint32_t> whole = small_shader;
  CHECK_THROWS_AS(needs_of(whole.first(7), {}), Error);
  CHECK_THROWS_AS(needs_of(module_of({{50, 2}}), {}), Error);
  CHECK_THROWS_AS(needs_of(module_of({{32, 7, 4, 6}, {59, 7, 20, 4}}), {}), Error);  // of an unknown type
}

TEST_CASE("what every kernel asks of a workgroup is known", "[pipelines]") {
  for (const EmbeddedShader& shader : embedded_shaders()) {
    if (shader.words.empty()) continue;
    CAPTURE(shader.kernel, shader.variant);
    CHECK(needs_of(shader.words, {}).invocations > 0);
  }
}

TEST_CASE("kernels with 16-bit floats ask for the modes that a device promises", "[pipelines]") {
  const auto halves = kernel("cast", "f16_quads");
  uint32_t entry_point = 0;
  for (size_t at = 5; entry_point == 0; at += halves[at] >> 16)
    if ((halves[at] & 0xffff) == 15) entry_point = halves[at + 2];
  const std::vector<uint32_t> nearest_capability = {17, 4467}, subnormal_capability = {17, 4464};
  const std::vector<uint32_t> nearest = {16, entry_point, 4462, 16}, subnormals = {16, entry_point, 4459, 16};

  const auto both = with_half_modes(halves, {.nearest = true, .subnormals = true});
  CHECK(instruction_at(both, 5) == nearest_capability);
  for (const auto& wanted : {nearest_capability, subnormal_capability, nearest, subnormals})
    CHECK(has_instruction(both, wanted));
  // packHalf2x16 (an OpExtInst) became OpFConvert.
  const auto count = [](std::span<const uint32_t> words, uint32_t opcode, uint32_t instruction) {
    int found = 0;
    for (size_t at = 5; at < words.size(); at += words[at] >> 16)
      found += (words[at] & 0xffff) == opcode && (instruction == 0 || words[at + 4] == instruction);
    return found;
  };
  CHECK(count(halves, 12, 58) > 0);
  CHECK(count(both, 12, 58) == 0);
  CHECK(count(both, 115, 0) == count(halves, 115, 0) + count(halves, 12, 58));

  const auto kept = with_half_modes(halves, {.subnormals = true});
  CHECK(kept.size() == halves.size() + 2 + 4);
  CHECK(has_instruction(kept, subnormals));
  CHECK_FALSE(has_instruction(kept, nearest));
  CHECK(needs_of(both, {}).invocations == needs_of(halves, {}).invocations);
  CHECK(std::ranges::equal(with_half_modes(halves, {}, true), halves));
}

TEST_CASE("what a device does not promise of 16-bit floats kernels do themselves", "[pipelines]") {
  // Numbers of constants that are true, from those on that no kernel has for itself.
  const auto switched_on = [](std::span<const uint32_t> words) {
    std::map<uint32_t, uint32_t> numbers;
    std::vector<uint32_t> on;
    for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
      const auto w = instruction_at(words, at);
      if (w[0] == 71 && w[2] == 1) numbers[w[1]] = w[3];                       // OpDecorate SpecId
      if (w[0] == 48 && numbers.at(w[2]) >= 100) on.push_back(numbers[w[2]]);  // OpSpecConstantTrue
    }
    return on;
  };
  const auto packs = kernel("cast", "f16_quads"), decodes = kernel("embedding_blocks", "f32_q6_k");
  CHECK(switched_on(with_half_modes(packs, {})) == std::vector<uint32_t>{101});
  CHECK(switched_on(with_half_modes(packs, {.nearest = true})).empty());
  CHECK(switched_on(with_half_modes(decodes, {.nearest = true})) == std::vector<uint32_t>{100});
  CHECK(switched_on(with_half_modes(decodes, {.subnormals = true})).empty());
  CHECK(switched_on(with_half_modes(decodes, {}, true)).empty());
}

TEST_CASE("kernels without 16-bit floats stay as they are", "[pipelines]") {
  const auto words = kernel("adamw", "quads");
  CHECK(std::ranges::equal(with_half_modes(words, {.nearest = true, .subnormals = true}), words));
  CHECK_THROWS_AS(with_half_modes(words.first(6), {}), Error);
}
