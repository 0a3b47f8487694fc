// The mean of several checkpoints.

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/training/average.h"
#include "models/training/trainer.h"
#include "models/weights.h"
#include "runtime/check.h"
#include "runtime/files/safetensors.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

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
  // A tensor that several parameters are parts of.
  std::vector<ParameterSpec> parts = {{"b.0", {1}}, {"b.1", {1}}, {"b.2", {1}}};
  for (int64_t i = 0; i < 3; ++i) parts[static_cast<size_t>(i)].stack = ParameterSpec::Stack{"b", 0, 1, i, 3};
  average_weights(folders, parts, mean);
  const SafetensorsFile whole(mean);
  whole.read_floats(whole.require("b"), b);
  CHECK(whole.tensors().size() == 1);
  CHECK(b == std::vector<float>{0, 9, 1e8f + 24});
}

TEST_CASE("the moving average follows the parameters", "[training][device][one_driver]") {
  const Model model = testing::model_of(
      {{"model_type", "gpt2"}, {"vocab_size", 23}, {"n_positions", 8}, {"n_embd", 12}, {"n_layer", 1}, {"n_head", 3}});
  const TrainSettings settings{.iterations = 30, .learning_rate = 1e-2, .warmup = 1, .moving_average = 0.6};
  const auto backend = make_backend("");
  Trainer trainer(*backend, model, settings, causal_batch(model, 2));
  initialize(trainer.store(), model.parameters, 1);
  const std::string name = model.parameters.front().name;
  std::vector<float> expected;
  for (int64_t i = 1; i <= 20; ++i) {
    trainer.step(i, testing::some_ids(16, 23, i), testing::some_ids(16, 23, i + 1));
    const std::vector<float> now = trainer.store().read(name);
    if (i == 1) expected = now;
    const auto rate = static_cast<float>(std::max(0.4, 9.0 / static_cast<double>(i + 10)));
    for (size_t n = 0; i > 1 && n < now.size(); ++n) expected[n] += rate * (now[n] - expected[n]);
  }
  const std::vector<float> last = trainer.store().read(name);
  trainer.use_moving_average();
  const std::vector<float> mean = trainer.store().read(name);
  double error = 0, moved = 0;
  for (size_t n = 0; n < mean.size(); ++n) {
    error = std::max(error, static_cast<double>(std::abs(mean[n] - expected[n])));
    moved = std::max(moved, static_cast<double>(std::abs(mean[n] - last[n])));
  }
  CHECK(error < 1e-6);
  CHECK(moved > 1e-4);
}
