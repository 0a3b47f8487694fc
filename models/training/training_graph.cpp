#include "models/training/training_graph.h"

#include <cmath>

#include "models/adapters/lora.h"
#include "models/stored_weights.h"
#include "models/training/training_batch.h"
#include "runtime/autodiff.h"
#include "runtime/check.h"
#include "runtime/passes/loss_chunks.h"
#include "runtime/passes/whole_rows.h"
#include "shaders/accumulate/accumulate.h"
#include "shaders/adamw/adamw.h"
#include "shaders/cross_entropy/cross_entropy.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/global_norm/global_norm.h"
#include "shaders/join/join.h"
#include "shaders/log_likelihood/log_likelihood.h"
#include "shaders/matmul/matmul.h"
#include "shaders/moving_average/moving_average.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rms_norm/rms_norm.h"
#include "shaders/slice/slice.h"
#include "shaders/swap_axes/swap_axes.h"

namespace vkformer {

namespace {

/// Elements `first` .. of a gradient, as a tensor. (Dead unless it is an output.)
Value part(Graph& graph, Value gradient, int64_t first, const Shape& shape) {
  const Value flat = reshape(graph, gradient, {1, graph.shape(gradient).elements()});
  return reshape(graph, slice(graph, flat, first, shape.elements()), shape);
}

struct Loss {
  Value loss;
  int64_t classes;
};

Value add_log_likelihoods(Graph& graph, const Model& model, const Pass& pass) {
  const Value logits = add_logits(graph, model, pass);
  const Shape& shape = graph.shape(logits);
  return log_likelihood(graph, logits, graph.input("labels", {shape[0], shape[1]}, DType::i32), ignored_target);
}

Loss add_preference_loss(Graph& graph, const Model& model, const Pass& pass, double label_smoothing) {
  const Value likelihoods = add_log_likelihoods(graph, model, pass);
  const int64_t rows = graph.shape(likelihoods).elements();
  check(rows % 2 == 0, "a batch of {} rows is no batch of pairs", rows);
  const Value reference = graph.input("reference", {rows});
  const Value gained = add(graph, likelihoods, scale(graph, reference, -1));
  const Value rewards = reshape(graph, scale(graph, gained, model.preference_beta), {rows / 2, 2});
  const Value loss =
      cross_entropy(graph, rewards, graph.input("targets", {rows / 2}, DType::i32), label_smoothing, ignored_target);
  graph.mark_output(loss, "loss");
  return {loss, 2};
}

/// What a vector of so many numbers has as gains of its root mean square's norm to get length 1.
constexpr const char* length_one = "similarity.length_one";

Loss add_similarity_loss(Graph& graph, const Model& model, const BatchShape& shape, const Pass& pass,
                         double label_smoothing) {
  const Value hidden = add_logits(graph, model, pass);
  const Graph::Scope scope(graph, loss_scope);
  const int64_t rows = shape.rows, width = graph.shape(hidden).columns(), queries = rows / model.similarity->texts;
  check(queries * model.similarity->texts == rows, "a batch of {} rows has not {} for each query", rows,
        model.similarity->texts);
  const Value pooling = reshape(graph, graph.input("pooling", {rows, shape.positions}), {rows, 1, shape.positions});
  const Value pooled = reshape(graph, matmul(graph, pooling, hidden), {rows, width});
  const Value vectors = rms_norm(graph, pooled, graph.persistent(length_one, {width}), 1e-12F);
  const auto some = [&](int64_t first, int64_t count) { return part(graph, vectors, first * width, {count, width}); };
  const Value cosines = matmul(graph, some(0, queries), some(queries, rows - queries), {.transpose_b = true});
  const Value logits =
      add(graph, scale(graph, cosines, model.similarity->scale), graph.input("apart", {queries, rows - queries}));
  const Value loss = cross_entropy(graph, logits, graph.input("targets", {queries}, DType::i32), label_smoothing);
  graph.mark_output(loss, "loss");
  return {loss, rows - queries};
}

Loss add_number_loss(Graph& graph, const Model& model, const Pass& pass) {
  const Value logits = add_logits(graph, model, pass);
  const Graph::Scope scope(graph, loss_scope);
  const Shape shape = graph.shape(logits);
  const int64_t count = shape.elements();
  const Value z = reshape(graph, logits, {count, 1}), wanted = graph.input("wanted", shape),
              shares = graph.input("shares", shape), targets = graph.input("targets", {count}, DType::i32);
  // The sum of what `shares` weighs.
  const auto sum_of = [&](Value weights, Value x) {
    return reshape(graph, matmul(graph, reshape(graph, weights, {1, count}), x), {1});
  };
  Value loss;
  if (model.task == Task::number) {
    const Value apart = add(graph, z, scale(graph, reshape(graph, wanted, {count, 1}), -1));
    loss = sum_of(shares, multiply(graph, apart, apart));
  } else {
    // The mean of log(1 + exp z) is the cross-entropy of logits 0 and z where the first is right.
    const Value softplus = cross_entropy(graph, join_columns(graph, {{scale(graph, z, 0)}, {z}}), targets);
    loss = add(graph, softplus, scale(graph, sum_of(multiply(graph, shares, wanted), z), -1));
  }
  graph.mark_output(loss, "loss");
  return {loss, 1};
}

Loss add_loss(Graph& graph, const Model& model, const BatchShape& shape, double label_smoothing, Pass pass) {
  if (model.task == Task::score || model.task == Task::number) return add_number_loss(graph, model, pass);
  if (model.similarity) return add_similarity_loss(graph, model, shape, pass, label_smoothing);
  check(model.task != Task::states,
        "this {} model has no head, so no loss; train --labels, --tags, --answers and --masked give it one, --similar "
        "needs none",
        model.family);
  check(model.task != Task::vector && model.task != Task::match,
        "this {} model gives vectors, which are not trained; ViT's, DeiT's and DINOv2's classifiers are", model.family);
  if (model.preference_beta > 0) return add_preference_loss(graph, model, pass, label_smoothing);
  Value logits = add_logits(graph, model, pass);
  // The classes of an answer's ends are the positions.
  if (model.task == Task::answer) logits = swap_axes(graph, logits, 1);
  const Shape of_logits = graph.shape(logits);
  const Value targets = graph.input(
      "targets", Shape(of_logits.dimensions().first(static_cast<size_t>(of_logits.rank() - 1))), DType::i32);
  const Value loss = cross_entropy(graph, logits, targets, label_smoothing);
  graph.mark_output(loss, "loss");
  return {loss, of_logits.columns()};
}

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

Model that_learns_similarity(Model model, const Similarity& similarity) {
  check(model.task == Task::states, "a {} model with a head learns no similarity", model.family);
  const int64_t width = width_of(model);
  model.similarity = similarity;
  model.constants.push_back({length_one, {{width}}, [width] {
                               return std::vector(static_cast<size_t>(width), static_cast<float>(1 / std::sqrt(width)));
                             }});
  return model;
}

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
      gradient = part(graph, gradient, taken[parameter.joint], parameter.shape);
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
