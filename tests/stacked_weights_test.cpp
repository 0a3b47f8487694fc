// Parameters that files have in one tensor, as gpt-oss's experts.

#include "models/stacked_weights.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "models/weights.h"
#include "runtime/encoding/encoding.h"
#include "runtime/files/weight_files.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int64_t stack_experts = 3, stack_outputs = 5, stack_inputs = 64;

/// Gates and ups of all experts, side by side in a stack.
std::vector<ParameterSpec> gates_and_ups() {
  std::vector<ParameterSpec> parameters;
  for (int64_t e = 0; e < stack_experts; ++e)
    for (const int64_t part : {0, 1})
      parameters.push_back({.name = fmt::format("experts.{}.{}.weight", e, part),
                            .shape = {stack_outputs, stack_inputs},
                            .stack = ParameterSpec::Stack{"both", e, stack_experts, part, 2}});
  return parameters;
}

TensorSource bytes_of(const char* name, std::vector<int64_t> shape, const std::vector<uint8_t>& bytes) {
  return {.name = name, .dtype = FileDType::u8, .shape = std::move(shape), .data = [&bytes] {
            return std::as_bytes(std::span(bytes));
          }};
}

std::vector<uint8_t> some_bytes(int64_t count, int step, int least, int most) {
  std::vector<uint8_t> bytes;
  for (int64_t i = 0; i < count; ++i)
    bytes.push_back(static_cast<uint8_t>(least + static_cast<int>(i * step + i / 7) % (most - least + 1)));
  return bytes;
}

}  // namespace

TEST_CASE("a stack that is read and written has the bytes it had", "[weights]") {
  const TemporaryFolder folder;
  const std::string name = GENERATE("gpt_oss", "deepseek_v2");
  const Model model = load_model(fixtures / name);
  Weights(model.parameters, fixtures / name).save(folder / "model.safetensors");
  const SafetensorsFile before(fixtures / name / "model.safetensors"), after(folder / "model.safetensors");
  REQUIRE(before.tensors().size() == after.tensors().size());
  for (const TensorEntry& entry : before.tensors()) {
    INFO(entry.name);
    const TensorEntry& written = after.require(entry.name);
    CHECK(written.shape == entry.shape);
    CHECK(std::ranges::equal(written.bytes, entry.bytes));
  }
}

TEST_CASE("a stack of MXFP4 has two neighbours in a byte", "[weights]") {
  constexpr float codes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  constexpr int64_t blocks = stack_inputs / 32, rows = 2 * stack_outputs;
  const auto packed = some_bytes(stack_experts * rows * blocks * 16, 37, 0, 255);
  const auto scales = some_bytes(stack_experts * rows * blocks, 3, 120, 130);
  const TemporaryFolder folder;
  write_safetensors(folder / "model.safetensors",
                    {bytes_of("model.both_blocks", {stack_experts, rows, blocks, 16}, packed),
                     bytes_of("model.both_scales", {stack_experts, rows, blocks}, scales)});
  const std::vector<ParameterSpec> parameters = gates_and_ups();
  std::vector<ParameterSpec> named = parameters;
  for (ParameterSpec& parameter : named) parameter.stack->tensor = "model.both";
  const Weights weights(named, folder.path());
  CHECK(weights.extra().empty());
  for (const ParameterSpec& parameter : named) {
    INFO(parameter.name);
    CHECK(weights.stored_type(parameter.name, false) == DType::mxfp4);
    const std::vector<float> values = weights.read(parameter.name);
    for (int64_t i = 0; i < stack_outputs * stack_inputs; ++i) {
      const int64_t row = parameter.stack->index * rows + 2 * (i / stack_inputs) + parameter.stack->first,
                    k = i % stack_inputs;
      const uint8_t byte = packed[static_cast<size_t>(row * stack_inputs / 2 + k / 2)];
      const int code = k % 2 == 0 ? byte & 15 : byte >> 4;
      const float magnitude = std::ldexp(codes[code & 7], scales[static_cast<size_t>(row * blocks + k / 32)] - 127);
      REQUIRE(values[static_cast<size_t>(i)] == (code > 7 ? -magnitude : magnitude));
    }
  }
}

TEST_CASE("groups of rows are read as they lie in files, in any pieces", "[weights]") {
  constexpr int64_t heads = 3, rows = 5, columns = 32;
  constexpr ParameterSpec::Stack::Span last{2, 3}, first{0, 1};
  std::vector<float> floats(heads * rows * columns);
  for (size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i) / 512;
  const TemporaryFolder folder;
  const std::vector<ParameterSpec> whole = {{.name = "both", .shape = {heads * rows, columns}}};
  write_safetensors(folder / "floats.safetensors", {TensorSource::of("both", {heads * rows, columns}, floats)});
  Weights(whole, folder / "floats.safetensors").save(folder / "model.safetensors", {}, {}, FileDType::bf16);

  const WeightFiles files(folder / "model.safetensors");
  ParameterSpec part{.name = "some", .shape = {heads * (last.rows + first.rows), columns}};
  part.stack = {.tensor = "both",
                .count = heads,
                .step = rows,
                .layout = ParameterSpec::Stack::Layout::groups,
                .spans = {last, first}};
  const auto found = find_in_stack(files, part, "both");
  REQUIRE(found);
  const WeightTensor &tensor = *found->weight, &all = *found->tensors.front();
  CHECK(tensor.stored(false) == DType::bf16);
  CHECK_FALSE(tensor.stored(true));
  const int64_t piece = GENERATE(int64_t{1}, int64_t{7}, 2 * columns, 5 * columns, 100 * columns);
  for (int64_t begin = 0; begin < tensor.elements(); begin += piece) {
    const auto count = static_cast<size_t>(std::min(piece, tensor.elements() - begin));
    std::vector<float> values(count), expected(1);
    std::vector<std::byte> stored(2 * count), expected_bytes(2);
    tensor.read_floats(begin, values);
    tensor.read_stored(begin, stored);
    for (size_t i = 0; i < count; ++i) {
      const int64_t at = begin + static_cast<int64_t>(i), row = at / columns;
      const bool of_last = row < heads * last.rows;
      const int64_t head = of_last ? row / last.rows : row - heads * last.rows;
      const int64_t in_file = head * rows + (of_last ? last.first + row % last.rows : first.first);
      all.read_floats(in_file * columns + at % columns, expected);
      all.read_stored(in_file * columns + at % columns, expected_bytes);
      REQUIRE(values[i] == expected[0]);
      REQUIRE(std::ranges::equal(std::span(stored).subspan(2 * i, 2), expected_bytes));
    }
  }
}

TEST_CASE("what is wrong with a stack is told once", "[weights]") {
  const TemporaryFolder folder;
  const auto error = [&](std::vector<TensorSource> tensors) {
    write_safetensors(folder / "model.safetensors", std::move(tensors));
    return error_of([&] { Weights(gates_and_ups(), folder.path()); });
  };
  const std::vector<float> values(stack_experts * stack_inputs * stack_outputs);
  CHECK_THAT(error({TensorSource::of("other", {2}, std::span(values).first(2))}),
             ContainsSubstring("lacks 1 tensor that the config asks for: both"));
  const std::string wrong = error({TensorSource::of("both", {stack_experts, stack_inputs, stack_outputs}, values)});
  CHECK_THAT(wrong, ContainsSubstring("tensor \"both\" has shape [3, 64, 5], the config asks for [3, 64, 10]"));
  CHECK(wrong.find(';') == wrong.npos);
  const auto packed = some_bytes(stack_experts * 2 * stack_outputs * 2 * 16, 1, 0, 255),
             scales = some_bytes(30, 1, 1, 2);
  CHECK_THAT(error({bytes_of("both_blocks", {stack_experts, 2 * stack_outputs, 2, 16}, packed),
                    bytes_of("both_scales", {stack_experts, 2 * stack_outputs}, scales)}),
             ContainsSubstring("tensor \"both_scales\" has shape [3, 10], the config asks for [3, 10, 2]"));
}
