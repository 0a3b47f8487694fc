#include "models/verify/verify.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "models/families/registry.h"
#include "models/parameters.h"
#include "models/training/trainer.h"
#include "models/verify/verify_ops.h"
#include "models/verify/verify_parts.h"
#include "models/weights.h"
#include "runtime/check.h"
#include "shaders/attention/attention.h"

namespace vkformer {

namespace {

/// 0 for rows that are not compared; empty: all are.
using RowMask = std::vector<int32_t>;

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
    const JsonObject parameters = require_object(case_, "parameters");
    for (const auto& name : parameters.value().at("gradient_is_zero_in_theory"))
      zero_gradients_.insert(name.get<std::string>());
    read_batch();
  }

  void run() {
    compare_forward();
    verify_two_stream(backend_, model_, load(), case_, expected_, report_);
    compare_gradients();
    compare_training();
    verify_generation(backend_, folder_, model_, case_, expected_, report_);
  }

 private:
  bool has(const std::string& name) const { return expected_.find(name) != nullptr; }
  std::vector<float> floats(const std::string& name) const { return read_floats(expected_, name); }
  std::vector<int32_t> ints(const std::string& name) const { return read_ints(expected_, name); }
  const std::vector<int64_t>& shape(const std::string& name) const { return expected_.require(name).shape; }
  double limit(const char* key) const { return require_number(tolerance_, key, 0, 1); }

  void feed(std::string_view name, std::vector<int32_t> values) { inputs_.emplace_back(name, std::move(values)); }
  Feed feed() const { return {inputs_.begin(), inputs_.end()}; }

  /// The recorded batch as the model's inputs.
  void read_batch() {
    const auto ids = shape("input_ids");
    check(ids.size() == 2, "input_ids has {} dimensions, 2 are needed", ids.size());
    check(shape("attention_mask") == ids, "attention_mask has not the shape of input_ids");
    const RowMask mask = ints("attention_mask");
    batch_.rows = ids[0];
    batch_.mask = std::find(mask.begin(), mask.end(), 0) != mask.end();
    if (model_.has_encoder()) {
      const auto decoder = shape("decoder_input_ids");
      check(decoder.size() == 2 && decoder[0] == ids[0], "decoder_input_ids does not fit input_ids");
      batch_.positions = decoder[1];
      batch_.source_positions = ids[1];
      feed("ids", ints("decoder_input_ids"));
      feed("source", ints("input_ids"));
      source_mask_ = mask;
    } else {
      batch_.positions = ids[1];
      feed("ids", ints("input_ids"));
      mask_ = mask;
    }
    if (batch_.mask) feed(model_.has_encoder() ? "source_mask" : "mask", mask);
    batch_.segments = has("token_type_ids");
    if (batch_.segments) feed("segments", ints("token_type_ids"));
    check_feed(model_, batch_, feed());
    feed("targets", targets());
  }

  /// Labels at the positions whose logits they are compared with: causal models record the ids themselves.
  std::vector<int32_t> targets() const {
    std::vector<int32_t> labels = ints("labels");
    if (model_.task != Task::causal) return labels;
    check(shape("labels") == shape("input_ids"), "labels has not the shape of input_ids");
    const auto positions = static_cast<size_t>(batch_.positions);
    for (size_t row = 0; row < labels.size(); row += positions) {
      std::copy(labels.begin() + static_cast<std::ptrdiff_t>(row + 1),
                labels.begin() + static_cast<std::ptrdiff_t>(row + positions),
                labels.begin() + static_cast<std::ptrdiff_t>(row));
      labels[row + positions - 1] = -100;
    }
    return labels;
  }

  /// Largest error over the rows whose mask is not 0, as a share of the largest expected magnitude there, or of
  /// `largest` if that is greater.
  void compare(const std::string& name, std::span<const float> got, double tolerance, const RowMask& mask = {},
               double largest = 0) {
    const std::vector<float> want = floats(name);
    VerifyRow row{.tensor = name, .tolerance = tolerance, .how = "of the largest", .note = {}};
    if (want.size() != got.size() || (!mask.empty() && want.size() % mask.size() != 0)) {
      row.note = fmt::format("{} elements expected, the model gives {}", want.size(), got.size());
      report_(row);
      return;
    }
    const size_t columns = mask.empty() ? 1 : want.size() / mask.size();
    LargestError error{.largest = largest};
    for (size_t i = 0; i < want.size(); ++i)
      if (mask.empty() || mask[i / columns] != 0) error.add(static_cast<double>(got[i]), static_cast<double>(want[i]));
    row.error = error.relative();
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

  /// A Store with the case's weights.
  std::shared_ptr<Store> load() {
    const auto blocks = parameter_blocks(model_.parameters, backend_.facts().max_allocation);
    StoreLayout layout;
    add_model(layout, model_, blocks);
    auto store = backend_.make_store(layout);
    write_constants(*store, model_);
    load_parameters(*store, model_.parameters, folder_);
    return store;
  }

  /// Query rows [B, H, T] of attention probabilities, of which those of padded positions are not compared.
  static RowMask attention_rows(const RowMask& mask, const std::vector<int64_t>& shape) {
    RowMask rows;
    if (mask.empty()) return rows;
    for (int64_t b = 0; b < shape[0]; ++b)
      for (int64_t h = 0; h < shape[1]; ++h)
        rows.insert(rows.end(), mask.begin() + b * shape[2], mask.begin() + (b + 1) * shape[2]);
    return rows;
  }

  void compare_forward() {
    Graph graph;
    Pass pass = add_inputs(graph, model_, batch_);
    if (model_.has_encoder()) graph.mark_output(pass.memory = model_.encode(graph, pass), "encoder_last_hidden_state");
    const Value hidden = model_.hidden(graph, pass);
    graph.mark_output(hidden, "last_hidden_state");
    const Value logits = model_.head(graph, pass, hidden);
    graph.mark_output(logits, "logits");
    const bool pooled = graph.shape(logits).rank() == 2;
    struct Probabilities {
      std::string name;
      const RowMask& mask;
    };
    std::vector<Probabilities> recorded;
    const std::pair<std::string, std::string_view> places[] = {{"attention.0", ""},
                                                               {"encoder_attention.0", "encoder.0.self"},
                                                               {"decoder_attention.0", "decoder.0.self"},
                                                               {"cross_attention.0", "decoder.0.cross"}};
    const size_t forward_nodes = graph.nodes().size();
    for (const auto& [name, scope] : places) {
      if (!has(name)) continue;
      for (size_t n = 0; n < forward_nodes; ++n) {
        const Node& node = graph.nodes()[n];
        if (!is_attention(node) || (!scope.empty() && node.scope != scope)) continue;
        graph.mark_output(attention_weights(graph, Node(node)), name);
        recorded.push_back({name, scope == "encoder.0.self" ? source_mask_ : mask_});
        break;
      }
    }
    auto program = backend_.compile(std::move(graph), load());
    for (const auto& [name, values] : inputs_)
      if (name != "targets") program->write(std::string(name), values);
    program->run();
    const double tolerance = limit("logits_relative_to_max");
    if (model_.has_encoder())
      compare("encoder_last_hidden_state", program->read("encoder_last_hidden_state"), tolerance, source_mask_);
    compare("last_hidden_state", program->read("last_hidden_state"), tolerance, mask_);
    compare("logits", program->read("logits"), tolerance, pooled ? RowMask{} : mask_);
    for (const Probabilities& place : recorded)
      compare(place.name, program->read(place.name), tolerance, attention_rows(place.mask, shape(place.name)));
  }

  /// What the rounding noise of a gradient that is zero in theory (a key bias) is measured by: the gradient of the
  /// weight beside it. 0 for all other parameters.
  double scale_of_zero(const std::string& parameter) const {
    const std::string weight = parameter.substr(0, parameter.rfind('.')) + ".weight";
    if (!zero_gradients_.contains(parameter) || !has("grad." + weight)) return 0;
    double largest = 0;
    for (float value : floats("grad." + weight)) largest = std::max(largest, std::abs(static_cast<double>(value)));
    return largest;
  }

  void compare_gradients() {
    TrainingGraph training = build_loss_and_gradients(model_, batch_);
    for (size_t i = 0; i < training.gradients.size(); ++i)
      if (training.gradients[i]) training.graph.mark_output(training.gradients[i], "grad." + model_.parameters[i].name);
    const Values gradients = training.gradients;
    auto program = backend_.compile(std::move(training.graph), load());
    write_feed(*program, feed());
    program->write("seed", std::vector<int32_t>{0, 0});
    program->write("loss_gradient", std::vector<float>{1});
    program->run();
    compare_relative("loss", static_cast<double>(program->read("loss")[0]), static_cast<double>(floats("loss")[0]),
                     limit("loss_relative"));
    for (size_t i = 0; i < gradients.size(); ++i) {
      const ParameterSpec& parameter = model_.parameters[i];
      const std::string name = "grad." + parameter.name;
      // One that the loss does not reach has a gradient of zeros in the file; an untrained one has none.
      if (gradients[i])
        compare(name, program->read(name), limit("gradient_relative_to_tensor_max"), {}, scale_of_zero(parameter.name));
      else if (has(name))
        compare(name, std::vector<float>(static_cast<size_t>(parameter.shape.elements())), 0);
    }
  }

  TrainSettings optimizer() const {
    const JsonObject o = require_object(case_, "optimizer");
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

  void compare_training() {
    const TrainSettings settings = optimizer();
    Trainer trainer(backend_, model_, settings, batch_);
    load_parameters(trainer.store(), model_.parameters, folder_);
    const std::vector<float> losses = floats("adamw.losses");
    const double tolerance = limit("adamw_losses_relative");
    for (int64_t step = 1; step <= settings.iterations; ++step)
      compare_relative(fmt::format("adamw.losses[{}]", step - 1), trainer.step(step, feed()),
                       static_cast<double>(losses.at(static_cast<size_t>(step - 1))), tolerance, 1e-5);
    compare_relative(fmt::format("adamw.losses[{}]", settings.iterations), trainer.evaluate(feed()),
                     static_cast<double>(losses.back()), tolerance, 1e-5);
    compare_final_weights(trainer.store());
  }

  void compare_final_weights(const Store& store) {
    const double close = limit("adamw_final_absolute"), most = limit("adamw_final_absolute_max");
    int64_t total = 0, within = 0;
    double worst = 0;
    for (const ParameterSpec& parameter : model_.parameters) {
      // Rounding noise divided by its own size moves those at random.
      if (zero_gradients_.contains(parameter.name) || parameter.training == ParameterSpec::Training::never) continue;
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

  Backend& backend_;
  std::filesystem::path folder_;
  const std::function<void(const VerifyRow&)>& report_;
  JsonObject case_, tolerance_;
  SafetensorsFile expected_;
  Model model_;
  BatchShape batch_;
  std::set<std::string> zero_gradients_;
  std::vector<std::pair<std::string_view, std::vector<int32_t>>> inputs_;
  RowMask mask_, source_mask_;  ///< of the rows that `hidden` gives, and of the encoder's
};

/// A folder of tokenizers: each of them. False when it has none.
bool verify_tokenizers(const std::filesystem::path& folder, const std::function<void(const VerifyRow&)>& report) {
  if (!std::filesystem::is_directory(folder)) return false;
  std::set<std::filesystem::path> kinds;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (holds_tokenizer_case(entry.path())) kinds.insert(entry.path());
  for (const auto& kind : kinds) verify_tokenizer(kind, kind.filename().string() + ": ", report);
  return !kinds.empty();
}

}  // namespace

void verify_case(Backend& backend, const std::filesystem::path& folder,
                 const std::function<void(const VerifyRow&)>& report) {
  try {
    if (std::filesystem::exists(folder / "ops.json")) return verify_ops(backend, folder, report);
    if (holds_tokenizer_case(folder)) return verify_tokenizer(folder, "", report);
    if (verify_tokenizers(folder, report)) return;
    RecordedCase(backend, folder, report).run();
  } catch (const std::exception& error) {
    report({.tensor = "(case)", .how = "", .verdict = VerifyRow::Verdict::failed, .note = error.what()});
  }
}

}  // namespace vkformer
