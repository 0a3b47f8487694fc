#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/stacked_weights.h"
#include "models/training/trainer.h"
#include "models/verify/recorded_case.h"
#include "models/verify/verify_parts.h"
#include "models/weights.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

/// What the rounding noise of a gradient that is zero in theory (a key bias) is measured by: the gradient of the
/// weight beside it. 0 for all other parameters.
double scale_of_zero(const RecordedCase& recorded, const std::string& parameter) {
  const std::string weight = parameter.substr(0, parameter.rfind('.')) + ".weight";
  if (!recorded.zero_in_theory(parameter) || !recorded.has("grad." + weight)) return 0;
  double largest = 0;
  for (float value : recorded.floats("grad." + weight))
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  return largest;
}

}  // namespace

void verify_gradients(const RecordedCase& recorded) {
  TrainingGraph training = build_loss_and_gradients(recorded.model(), recorded.batch());
  for (size_t i = 0; i < training.gradients.size(); ++i)
    if (training.gradients[i])
      training.graph.mark_output(training.gradients[i], "grad." + recorded.model().parameters[i].name);
  const Values gradients = training.gradients;
  auto program = recorded.backend().compile(std::move(training.graph), recorded.load());
  write_feed(*program, recorded.feed());
  program->write("seed", std::vector<int32_t>{0, 0});
  program->write("loss_gradient", std::vector<float>{1});
  program->run();
  recorded.compare_relative("loss", static_cast<double>(program->read("loss")[0]),
                            static_cast<double>(recorded.floats("loss")[0]), recorded.limit("loss_relative"));
  const std::vector<ParameterSpec>& parameters = recorded.model().parameters;
  for (const FileTensor& tensor : file_tensors(parameters)) {
    const std::string name = "grad." + tensor.name;
    const bool reached = static_cast<bool>(gradients[static_cast<size_t>(tensor.parts.front() - parameters.data())]);
    // One that the loss does not reach has a gradient of zeros in the file; an untrained one has none.
    if (!reached && !recorded.has(name)) continue;
    const std::vector<float> values = tensor.values([&](const ParameterSpec& part) {
      return reached ? program->read("grad." + part.name)
                     : std::vector<float>(static_cast<size_t>(part.shape.elements()));
    });
    recorded.compare(name, values, reached ? recorded.limit("gradient_relative_to_tensor_max") : 0, {},
                     scale_of_zero(recorded, tensor.name));
  }
}

namespace {

TrainSettings optimizer(const RecordedCase& recorded) {
  const JsonObject o = require_object(recorded.manifest(), "optimizer");
  TrainSettings settings{.warmup = 0};
  settings.iterations = require_integer(o, "steps", 1, 1000);
  settings.learning_rate = settings.min_learning_rate = require_number(o, "lr", 0, 1);
  settings.beta1 = o.value().at("betas").at(0).get<double>();
  settings.beta2 = o.value().at("betas").at(1).get<double>();
  settings.epsilon = require_number(o, "eps", 0, 1);
  settings.weight_decay = require_number(o, "weight_decay", 0, 1);
  settings.clip = number_or(o, "clipping", 0, 0, 1e9);
  return settings;
}

void compare_final_weights(const RecordedCase& recorded, const Store& store) {
  const double close = recorded.limit("adamw_final_absolute"), most = recorded.limit("adamw_final_absolute_max");
  int64_t total = 0, within = 0;
  double worst = 0;
  for (const FileTensor& tensor : file_tensors(recorded.model().parameters)) {
    // Rounding noise divided by its own size moves those at random.
    if (recorded.zero_in_theory(tensor.name) || tensor.parts.front()->training == ParameterSpec::Training::never)
      continue;
    const auto got = tensor.values([&](const ParameterSpec& part) { return store.read(part.name); });
    const auto want = recorded.floats("adamw.final." + tensor.name);
    check(got.size() == want.size(), "adamw.final.{} has {} elements, the model {}", tensor.name, want.size(),
          got.size());
    for (size_t i = 0; i < want.size(); ++i) {
      const double error = std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
      worst = std::isfinite(error) ? std::max(worst, error) : INFINITY;
      within += error <= close;
      ++total;
    }
  }
  const double outside = 1 - static_cast<double>(within) / static_cast<double>(total);
  recorded.report()({.tensor = "adamw.final.* (fraction beyond 5e-5)",
                     .error = outside,
                     .tolerance = 1 - recorded.limit("adamw_final_fraction_within"),
                     .how = "of all elements",
                     .verdict = verdict(outside <= 1 - recorded.limit("adamw_final_fraction_within")),
                     .note = {}});
  recorded.report()({.tensor = "adamw.final.* (largest error)",
                     .error = worst,
                     .tolerance = most,
                     .how = "absolute",
                     .verdict = verdict(worst <= most),
                     .note = {}});
}

}  // namespace

void verify_training(const RecordedCase& recorded) {
  const TrainSettings settings = optimizer(recorded);
  Trainer trainer(recorded.backend(), recorded.model(), settings, recorded.batch());
  load_parameters(trainer.store(), recorded.model().parameters, recorded.folder());
  const std::vector<float> losses = recorded.floats("adamw.losses");
  const double tolerance = recorded.limit("adamw_losses_relative");
  for (int64_t step = 1; step <= settings.iterations; ++step)
    recorded.compare_relative(fmt::format("adamw.losses[{}]", step - 1), trainer.step(step, recorded.feed()),
                              static_cast<double>(losses.at(static_cast<size_t>(step - 1))), tolerance, 1e-5);
  compare_final_weights(recorded, trainer.store());
  // Another step tells the loss before it.
  recorded.compare_relative(fmt::format("adamw.losses[{}]", settings.iterations),
                            trainer.step(settings.iterations + 1, recorded.feed()), static_cast<double>(losses.back()),
                            tolerance, 1e-5);
}

}  // namespace vkformer
