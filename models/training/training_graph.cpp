#include "models/training/training_graph.h"

#include "models/adapters/lora.h"
#include "models/stored_weights.h"
#include "models/training/losses.h"
#include "models/training/training_batch.h"
#include "runtime/autodiff.h"
#include "runtime/check.h"
#include "runtime/passes/loss_chunks.h"
#include "runtime/passes/whole_rows.h"
#include "shaders/accumulate/accumulate.h"
#include "shaders/adamw/adamw.h"
#include "shaders/global_norm/global_norm.h"
#include "shaders/join/join.h"
#include "shaders/moving_average/moving_average.h"

namespace vkformer {

namespace {

/// A graph as a family builds it becomes that of the model as it stands. Inputs and outputs keep their names.
Graph completed(Graph graph, const Model& model) { return with_stored_types(adapted(std::move(graph), model), model); }

Graph with_precision(Graph graph, const MixedPrecision& precision) {
  if (precision.whole_rows) graph = with_whole_rows(graph);
  if (is_half(precision.products)) graph = with_mixed_precision(graph, precision);
  return graph;
}

Graph in_chunks(Graph graph, const MixedPrecision& precision) {
  return precision.most_logits > 0 ? with_loss_in_chunks(graph, precision.most_logits).graph : std::move(graph);
}

}  // namespace

TrainingGraph build_loss_and_gradients(const Model& model, const BatchShape& shape, bool checkpoint_activations,
                                       const MixedPrecision& precision) {
  TrainingGraph built;
  Graph& graph = built.graph;
  Pass pass = add_inputs(graph, model, shape);
  pass.seed = graph.input("seed", {2}, DType::i32);
  graph.input("loss_gradient", {1});
  built.classes = add_loss(graph, model, shape, model.label_smoothing, pass).classes;
  graph = with_precision(completed(std::move(graph), model), precision);
  const Value upstream = graph.find("loss_gradient");
  built.loss = graph.find("loss");
  using Training = ParameterSpec::Training;
  std::map<std::string, Value> persistent;
  for (Value value : graph.persistents()) persistent[graph.info(value).name] = value;
  Values trained;
  for (const ParameterSpec& parameter : model.parameters) {
    if (!parameter.trains()) continue;
    const bool joint = persistent.contains(parameter.joint);
    check(!joint || !persistent.contains(parameter.name), "{} is read alone and as a part of {}", parameter.name,
          parameter.joint);
    trained.push_back(joint ? persistent[parameter.joint] : graph.persistent(parameter.name, parameter.shape));
  }
  Values gradients = differentiate(graph, built.loss, upstream, trained, checkpoint_activations);
  if (precision.most_logits > 0) {
    Rewritten chunked = with_loss_in_chunks(graph, precision.most_logits);
    for (Value& value : gradients)
      if (value) value = chunked.of(value);
    built.loss = chunked.of(built.loss);
    graph = std::move(chunked.graph);
  }
  size_t next = 0;
  std::map<std::string, int64_t> taken;  // elements of a joint gradient
  for (const ParameterSpec& parameter : model.parameters) {
    Value gradient = parameter.trains() ? gradients[next++] : Value{};
    if (gradient && persistent.contains(parameter.joint)) {
      built.joint[parameter.joint] = gradient;
      gradient = elements_of(graph, gradient, taken[parameter.joint], parameter.shape);
      taken[parameter.joint] += parameter.shape.elements();
    }
    built.gradients.push_back(gradient);
    check(built.gradients.back() || parameter.training != Training::always, "the loss does not depend on {}",
          parameter.name);
  }
  return built;
}

Graph build_evaluation(const Model& model, const BatchShape& shape, const MixedPrecision& precision, int64_t* classes) {
  Graph graph;
  const Loss loss = add_loss(graph, model, shape, 0, add_inputs(graph, model, shape));
  if (classes != nullptr) *classes = loss.classes;
  return in_chunks(with_precision(completed(std::move(graph), model), precision), precision);
}

Graph build_log_likelihoods(const Model& model, const BatchShape& shape, const MixedPrecision& precision) {
  Graph graph;
  graph.mark_output(add_log_likelihoods(graph, model, add_inputs(graph, model, shape)), "log_likelihoods");
  return in_chunks(with_precision(completed(std::move(graph), model), precision), precision);
}

std::vector<std::string_view> state_names(const TrainSettings& settings) {
  std::vector<std::string_view> names{"exp_avg", "exp_avg_sq"};
  if (settings.moving_average > 0) names.push_back(average_name);
  return names;
}

std::vector<ParameterBlock> training_blocks(const Model& model, const Values& gradients, uint64_t max_allocation) {
  std::vector<bool> resting;
  for (Value gradient : gradients) resting.push_back(!gradient);
  return parameter_blocks(model.parameters, max_allocation, resting);
}

Values join_gradients(TrainingGraph& training, const Model& model, const std::vector<ParameterBlock>& blocks) {
  Values joined;
  for (const ParameterBlock& block : blocks) {
    if (!block.trained) break;
    Values parts;
    for (const ParameterSpec* parameter : block.parameters) {
      const auto joint = training.joint.find(parameter->joint);
      const auto index = static_cast<size_t>(parameter - model.parameters.data());
      const Value gradient = joint == training.joint.end() ? training.gradients[index] : joint->second;
      if (parts.empty() || parts.back() != gradient) parts.push_back(gradient);
    }
    joined.push_back(join(training.graph, parts));
  }
  return joined;
}

void append_update(Graph& graph, const std::vector<ParameterBlock>& blocks, const Values& gradients,
                   const TrainSettings& s) {
  const Graph::Scope scope(graph, "optimizer");
  const Value schedule = graph.input("schedule", {s.scales_loss() ? 4 : 3});
  Value norm;
  if (s.clip > 0 || s.scales_loss()) graph.mark_output(norm = global_norm(graph, gradients), "norm");
  const Value rate = s.moving_average > 0 ? graph.input("average_rate", {1}) : Value{};
  const std::vector<std::string_view> states = state_names(s);
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Shape shape = graph.shape(gradients[i]);
    const auto state = [&](size_t n) { return graph.persistent(block_name(states[n], i), shape, Role::moment); };
    const Values updated = adamw(graph, graph.persistent(block_name("parameters", i), shape), gradients[i], state(0),
                                 state(1), schedule, norm,
                                 {.beta1 = s.beta1,
                                  .beta2 = s.beta2,
                                  .epsilon = s.epsilon,
                                  .weight_decay = s.weight_decay,
                                  .decayed_elements = blocks[i].decayed_elements,
                                  .clip_norm = s.clip,
                                  .scaled = s.scales_loss()});
    if (rate) moving_average(graph, state(2), updated[0], rate);
  }
}

void append_accumulation(Graph& graph, const Values& gradients) {
  const Value first = graph.input("first", {1}, DType::i32);
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Shape flat{graph.shape(gradients[i]).elements()};
    accumulate(graph, graph.persistent(block_name("gradient", i), flat, Role::gradient_sum), gradients[i], first);
  }
}

Graph build_update(const std::vector<ParameterBlock>& blocks, const std::vector<int64_t>& elements,
                   const TrainSettings& settings) {
  Graph graph;
  Values sums;
  for (size_t i = 0; i < elements.size(); ++i)
    sums.push_back(graph.persistent(block_name("gradient", i), {elements[i]}, Role::gradient_sum));
  append_update(graph, blocks, sums, settings);
  return graph;
}

}  // namespace vkformer
