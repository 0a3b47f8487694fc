#pragma once
// Small models with vocabularies of about 300, and the gradients of their losses.

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "models/parameters.h"
#include "models/training/training_graph.h"
#include "runtime/backend.h"
#include "tests/model_helpers.h"

namespace vkformer::testing {

inline const nlohmann::json small_gpt2 = {{"model_type", "gpt2"}, {"n_embd", 24}, {"n_head", 3},      {"n_layer", 1},
                                          {"vocab_size", 301},    {"n_ctx", 16},  {"n_positions", 16}};
inline const nlohmann::json small_llama = {
    {"model_type", "llama"},       {"hidden_size", 24},      {"num_attention_heads", 4},
    {"num_key_value_heads", 2},    {"num_hidden_layers", 1}, {"intermediate_size", 36},
    {"vocab_size", 302},           {"rms_norm_eps", 1e-5},   {"max_position_embeddings", 16},
    {"tie_word_embeddings", false}};
/// Its head has a bias.
inline const nlohmann::json small_bert = {{"architectures", {"BertForMaskedLM"}},
                                          {"model_type", "bert"},
                                          {"hidden_size", 24},
                                          {"num_attention_heads", 3},
                                          {"num_hidden_layers", 1},
                                          {"intermediate_size", 36},
                                          {"vocab_size", 303},
                                          {"max_position_embeddings", 16}};

/// The loss of a batch of ids below 301, and its gradient by parameter, in one list.
inline std::vector<float> loss_and_gradients(Backend& backend, const Model& model, const BatchShape& shape,
                                             const MixedPrecision& precision) {
  const std::shared_ptr<Store> store = make_model_store(backend, model);
  initialize(*store, model.parameters, 7);

  TrainingGraph training = build_loss_and_gradients(model, shape, false, precision);
  Graph& graph = training.graph;
  std::vector<std::string> outputs{"loss"};
  for (size_t i = 0; i < training.gradients.size(); ++i)
    if (training.gradients[i]) graph.mark_output(training.gradients[i], outputs.emplace_back(fmt::format("{}", i)));
  const auto program = backend.compile(std::move(graph), store);
  for (Value input : program->graph().inputs()) {
    const ValueInfo& info = program->graph().info(input);
    const bool pairs = model.preference.has_value();  // whose targets are the first of two
    const bool ids = info.name == "ids" || info.name == "labels" || (info.name == "targets" && !pairs);
    std::vector<int32_t> numbers = some_ids(info.type.elements(), ids ? 301 : 1, 97);
    if (info.name.ends_with("mask")) std::ranges::fill(numbers, 1);
    if (info.name == "loss_gradient")
      program->write(info.name, std::vector<float>{1});
    else if (info.name == "reference")
      program->write(info.name, std::vector<float>(static_cast<size_t>(info.type.elements()), -80));
    else
      program->write(info.name, numbers);
  }
  program->run();
  std::vector<float> results;
  for (const std::string& output : outputs) std::ranges::copy(program->read(output), std::back_inserter(results));
  return results;
}

/// A model's loss of a batch on the reference, by the parameters that it starts with.
class LossAlong {
 public:
  /// `feed` must outlive it.
  LossAlong(const Model& model, const BatchShape& shape, Feed feed, const MixedPrecision& precision = {})
      : model_(model), shape_(shape), feed_(std::move(feed)), precision_(precision) {}

  /// Of all parameters, one after the other.
  std::vector<float> gradient() const {
    std::vector<float> all;
    run({}, 0, &all);
    return all;
  }
  /// Along its own direction the loss changes by the square of the gradient's norm; gives what it changes by, beside
  /// that.
  std::pair<double, double> slope() const {
    const std::vector<float> direction = gradient();
    double square = 0;
    for (const float value : direction) square += static_cast<double>(value) * static_cast<double>(value);
    const double step = 1e-3 / std::sqrt(square);
    return {(run(direction, step, nullptr) - run(direction, -step, nullptr)) / (2 * step), square};
  }

 private:
  /// Where the parameters are moved by `step` times `direction`.
  double run(std::span<const float> direction, double step, std::vector<float>* gradients) const {
    const auto backend = make_backend("reference");
    const std::shared_ptr<Store> store = make_model_store(*backend, model_);
    size_t at = 0;
    for (const ParameterSpec& parameter : model_.parameters) {
      std::vector<float> values = start_values(parameter, 7);
      for (float& value : values)
        if (!direction.empty()) value += static_cast<float>(step * static_cast<double>(direction[at++]));
      store->write(parameter.name, values);
    }
    TrainingGraph training = build_loss_and_gradients(model_, shape_, false, precision_);
    for (size_t i = 0; i < training.gradients.size(); ++i)
      training.graph.mark_output(training.gradients[i], fmt::format("{}", i));
    const size_t count = training.gradients.size();
    const auto program = backend->compile(std::move(training.graph), store);
    write_feed(*program, feed_);
    program->write("loss_gradient", std::vector<float>{1});
    program->write("seed", std::vector<int32_t>{0, 0});
    program->run();
    for (size_t i = 0; gradients != nullptr && i < count; ++i)
      std::ranges::copy(program->read(fmt::format("{}", i)), std::back_inserter(*gradients));
    return static_cast<double>(program->read("loss")[0]);
  }

  const Model& model_;
  BatchShape shape_;
  Feed feed_;
  MixedPrecision precision_;
};

}  // namespace vkformer::testing
