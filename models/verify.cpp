#include "models/verify.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/generation.h"
#include "models/training.h"
#include "models/weights.h"
#include "runtime/check.h"
#include "runtime/files/safetensors.h"
#include "shaders/cross_entropy/cross_entropy.h"

namespace vkformer {

namespace {

using Verdict = VerifyRow::Verdict;

Verdict verdict(bool passed) { return passed ? Verdict::passed : Verdict::failed; }

class RecordedCase {
 public:
  RecordedCase(Backend& backend, const std::filesystem::path& folder,
               const std::function<void(const VerifyRow&)>& report)
      : backend_(backend),
        folder_(folder),
        report_(report),
        case_(JsonObject::load(folder / "case.json")),
        tolerance_(require_object(case_, "tolerance")),
        expected_(folder / "expected.safetensors"),
        model_(make_model(JsonObject::load(folder / "config.json"))) {
    check(string_or(case_, "task", "causal") == "causal", "task '{}' is not supported yet",
          string_or(case_, "task", ""));
    const TensorEntry& ids = expected_.require("input_ids");
    check(ids.shape.size() == 2, "input_ids has {} dimensions, 2 are needed", ids.shape.size());
    batch_ = ids.shape[0];
    positions_ = ids.shape[1];
    for (const char* name : {"attention_mask", "labels"})
      check(expected_.require(name).shape == ids.shape, "{} has not the shape of input_ids", name);
    ids_ = ints("input_ids");
    mask_ = ints("attention_mask");
    // Mean cross-entropy of logits[:, :-1] against labels[:, 1:].
    const std::vector<int32_t> labels = ints("labels");
    targets_.assign(labels.size(), -100);
    for (int64_t i = 0; i < batch_ * positions_; ++i)
      if ((i + 1) % positions_ != 0) targets_[static_cast<size_t>(i)] = labels[static_cast<size_t>(i + 1)];
    for (int64_t i = 0; i < batch_ * positions_; ++i)
      check(i % positions_ == 0 || mask_[static_cast<size_t>(i)] <= mask_[static_cast<size_t>(i - 1)],
            "input_ids is padded on the left; only greedy prompts may be");
  }

  void run() {
    compare_forward_and_gradients();
    compare_training();
    for (const char* prefix : {"greedy", "greedy_left_pad"})
      if (expected_.find(std::string(prefix) + ".input_ids")) compare_greedy(prefix);
    if (expected_.find("attention.0"))
      report_({.tensor = "attention.0",
               .how = "",
               .verdict = Verdict::skipped,
               .note = "fused attention never forms the probabilities; out and log-sum-exp are proved by conform"});
  }

 private:
  std::vector<float> floats(const std::string& name) const {
    const TensorEntry& entry = expected_.require(name);
    std::vector<float> values(static_cast<size_t>(entry.elements()));
    expected_.read_floats(entry, values);
    return values;
  }
  std::vector<int32_t> ints(const std::string& name) const {
    const TensorEntry& entry = expected_.require(name);
    std::vector<int32_t> values(static_cast<size_t>(entry.elements()));
    expected_.read_ints(entry, values);
    return values;
  }
  double limit(const char* key) const { return require_number(tolerance_, key, 0, 1); }

  /// Largest error over the rows whose mask is 1, as a share of the largest expected magnitude there.
  void compare(const std::string& name, std::span<const float> got, double tolerance, bool masked) {
    const std::vector<float> want = floats(name);
    VerifyRow row{.tensor = name, .tolerance = tolerance, .how = "of the largest", .note = {}};
    if (want.size() != got.size()) {
      row.note = fmt::format("{} elements expected, the model gives {}", want.size(), got.size());
      report_(row);
      return;
    }
    const size_t columns = masked ? want.size() / mask_.size() : 1;
    double largest = 0, worst = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      if (masked && mask_[i / columns] == 0) continue;
      const double difference = std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
      largest = std::max(largest, std::abs(static_cast<double>(want[i])));
      worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
    }
    row.error = largest > 0 ? worst / largest : worst;
    row.verdict = verdict(row.error <= tolerance);
    report_(row);
  }

  void compare_relative(const std::string& name, double got, double want, double tolerance, double absolute = 0) {
    const double error = std::abs(got - want) / std::abs(want);
    report_({.tensor = name,
             .error = error,
             .tolerance = tolerance,
             .how = "relative",
             .verdict = verdict(error <= tolerance || std::abs(got - want) <= absolute),
             .note = {}});
  }

  void compare_forward_and_gradients() {
    const auto blocks = parameter_blocks(model_.parameters, backend_.facts().max_allocation);
    StoreLayout layout;
    add_model(layout, model_, blocks);
    auto store = backend_.make_store(layout);
    write_constants(*store, model_);
    load_parameters(*store, model_.parameters, folder_);

    Graph forward;
    const Value ids = forward.input("ids", {batch_, positions_}, DType::i32);
    const Value hidden = model_.hidden(forward, {.ids = ids});
    forward.mark_output(hidden, "last_hidden_state");
    forward.mark_output(model_.head(forward, hidden), "logits");
    auto program = backend_.compile(std::move(forward), store);
    program->write("ids", ids_);
    program->run();
    for (const char* name : {"last_hidden_state", "logits"})
      compare(name, program->read(name), limit("logits_relative_to_max"), true);

    TrainingGraph training = build_loss_and_gradients(model_, blocks, batch_, positions_);
    for (size_t i = 0; i < training.gradients.size(); ++i)
      training.graph.mark_output(training.gradients[i], "grad." + model_.parameters[i].name);
    auto gradients = backend_.compile(std::move(training.graph), store);
    gradients->write("ids", ids_);
    gradients->write("targets", targets_);
    gradients->write("seed", std::vector<int32_t>{0, 0});
    gradients->write("loss_gradient", std::vector<float>{1});
    gradients->run();
    compare_relative("loss", static_cast<double>(gradients->read("loss")[0]), static_cast<double>(floats("loss")[0]),
                     limit("loss_relative"));
    for (const ParameterSpec& parameter : model_.parameters)
      compare("grad." + parameter.name, gradients->read("grad." + parameter.name),
              limit("gradient_relative_to_tensor_max"), false);
  }

  TrainSettings optimizer() const {
    const JsonObject o = require_object(case_, "optimizer");
    TrainSettings settings{.batch = batch_, .context = positions_, .warmup = 0};
    settings.iterations = require_integer(o, "steps", 1, 1000);
    settings.learning_rate = settings.min_learning_rate = require_number(o, "lr", 0, 1);
    settings.beta1 = o.value().at("betas").at(0).get<double>();
    settings.beta2 = o.value().at("betas").at(1).get<double>();
    settings.epsilon = require_number(o, "eps", 0, 1);
    settings.weight_decay = require_number(o, "weight_decay", 0, 1);
    settings.clip = number_or(o, "clipping", 0, 0, 1e9);
    return settings;
  }

  void compare_training() {
    const TrainSettings settings = optimizer();
    Trainer trainer(backend_, model_, settings);
    load_parameters(trainer.store(), model_.parameters, folder_);
    const std::vector<float> losses = floats("adamw.losses");
    const double tolerance = limit("adamw_losses_relative");
    for (int64_t step = 1; step <= settings.iterations; ++step)
      compare_relative(fmt::format("adamw.losses[{}]", step - 1), trainer.step(step, ids_, targets_),
                       static_cast<double>(losses.at(static_cast<size_t>(step - 1))), tolerance, 1e-5);
    compare_relative(fmt::format("adamw.losses[{}]", settings.iterations), trainer.evaluate(ids_, targets_),
                     static_cast<double>(losses.back()), tolerance, 1e-5);
    compare_final_weights(trainer.store());
  }

  void compare_final_weights(const Store& store) {
    const double close = limit("adamw_final_absolute"), most = limit("adamw_final_absolute_max");
    int64_t total = 0, within = 0;
    double worst = 0;
    for (const ParameterSpec& parameter : model_.parameters) {
      const auto got = store.read(parameter.name), want = floats("adamw.final." + parameter.name);
      check(got.size() == want.size(), "adamw.final.{} has {} elements, the model {}", parameter.name, want.size(),
            got.size());
      for (size_t i = 0; i < want.size(); ++i) {
        const double error = std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
        worst = std::isfinite(error) ? std::max(worst, error) : INFINITY;
        within += error <= close;
        ++total;
      }
    }
    const double outside = 1 - static_cast<double>(within) / static_cast<double>(total);
    report_({.tensor = "adamw.final.* (fraction beyond 5e-5)",
             .error = outside,
             .tolerance = 1 - limit("adamw_final_fraction_within"),
             .how = "of all elements",
             .verdict = verdict(outside <= 1 - limit("adamw_final_fraction_within")),
             .note = {}});
    report_({.tensor = "adamw.final.* (largest error)",
             .error = worst,
             .tolerance = most,
             .how = "absolute",
             .verdict = verdict(worst <= most),
             .note = {}});
  }

  // Each prompt runs by itself without its padding: positions count real tokens only.
  void compare_greedy(const std::string& prefix) {
    const TensorEntry& prompts = expected_.require(prefix + ".input_ids");
    const TensorEntry& sequences = expected_.require(prefix + ".sequences");
    const auto ids = ints(prefix + ".input_ids"), mask = ints(prefix + ".attention_mask");
    const auto want = ints(prefix + ".sequences");
    const std::vector<float> logits = floats(prefix + ".logits");
    check(prompts.shape.size() == 2 && sequences.shape.size() == 2 && sequences.shape[0] == prompts.shape[0] &&
              expected_.require(prefix + ".attention_mask").shape == prompts.shape,
          "{}: prompts, masks and sequences don't fit together", prefix);
    const int64_t width = prompts.shape[1], length = sequences.shape[1];
    const int64_t steps = length - width, vocabulary = model_.vocabulary;
    check(steps > 0 && logits.size() == static_cast<size_t>(prompts.shape[0] * steps * vocabulary),
          "{}.logits has {} elements, which is not prompts x steps x vocabulary", prefix, logits.size());
    Generator generator(backend_, model_);
    load_parameters(generator.store(), model_.parameters, folder_);
    int64_t wrong = 0;
    double worst = 0, largest = 0;
    for (int64_t row = 0; row < prompts.shape[0]; ++row) {
      std::vector<int32_t> prompt;
      for (int64_t i = row * width; i < (row + 1) * width; ++i)
        if (mask[static_cast<size_t>(i)]) prompt.push_back(ids[static_cast<size_t>(i)]);
      std::vector<float> got = generator.prefill(prompt);
      for (int64_t step = 0; step < steps; ++step) {
        const float* expected = logits.data() + (row * steps + step) * vocabulary;
        for (int64_t v = 0; v < vocabulary; ++v) {
          const double reference = static_cast<double>(expected[v]);
          const double difference = std::abs(static_cast<double>(got[static_cast<size_t>(v)]) - reference);
          worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
          largest = std::max(largest, std::abs(reference));
        }
        const int32_t token = sample(got, {.temperature = 0}, 0);
        wrong += token != want[static_cast<size_t>(row * length + width + step)];
        if (step + 1 < steps) got = generator.decode(token);
      }
    }
    const double tolerance = limit("logits_relative_to_max");
    report_({.tensor = prefix + ".sequences",
             .error = static_cast<double>(wrong),
             .how = "wrong ids",
             .verdict = verdict(wrong == 0),
             .note = {}});
    report_({.tensor = prefix + ".logits",
             .error = worst / largest,
             .tolerance = tolerance,
             .how = "of the largest",
             .verdict = verdict(worst / largest <= tolerance),
             .note = {}});
  }

  Backend& backend_;
  std::filesystem::path folder_;
  const std::function<void(const VerifyRow&)>& report_;
  JsonObject case_, tolerance_;
  SafetensorsFile expected_;
  Model model_;
  int64_t batch_ = 0, positions_ = 0;
  std::vector<int32_t> ids_, mask_, targets_;
};

}  // namespace

void verify_case(Backend& backend, const std::filesystem::path& folder,
                 const std::function<void(const VerifyRow&)>& report) {
  try {
    RecordedCase(backend, folder, report).run();
  } catch (const std::exception& error) {
    report({.tensor = "(case)", .how = "", .verdict = Verdict::failed, .note = error.what()});
  }
}

}  // namespace vkformer
