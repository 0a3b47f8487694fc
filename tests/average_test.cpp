// The mean of several checkpoints.

#include <catch2/catch_test_macros.hpp>

#include "models/training/average.h"
#include "models/weights.h"
#include "runtime/check.h"
#include "runtime/files/safetensors.h"
#include "tests/file_helpers.h"

using namespace vkformer;

TEST_CASE("weights are averaged element by element", "[training]") {
  const testing::TemporaryFolder folder;
  const std::vector<ParameterSpec> parameters = {{"a", {2}}, {"b", {1, 3}}};
  std::vector<std::filesystem::path> folders;
  for (const float i : {1.0f, 2.0f, 6.0f}) {
    folders.push_back(folder.path() / std::to_string(i));
    std::filesystem::create_directory(folders.back());
    const std::vector<float> a{i, -i}, b{0, 3 * i, 1e8f + 8 * i};
    write_safetensors(folders.back() / "model.safetensors",
                      {TensorSource::of("a", {2}, a), TensorSource::of("b", {1, 3}, b)});
  }
  const std::filesystem::path mean = folder.path() / "mean.safetensors";
  average_weights(folders, parameters, mean);
  const SafetensorsFile file(mean);
  std::vector<float> a(2), b(3);
  file.read_floats(file.require("a"), a);
  file.read_floats(file.require("b"), b);
  CHECK(a == std::vector<float>{3, -3});
  CHECK(b == std::vector<float>{0, 9, 1e8f + 24});
  CHECK_THROWS_AS(average_weights(folders, {{"c", {1}}}, mean), Error);
}
