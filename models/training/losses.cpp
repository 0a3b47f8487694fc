#include "models/training/losses.h"

#include <cmath>

#include "runtime/check.h"
#include "runtime/passes/precision.h"
#include "shaders/cross_entropy/cross_entropy.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/log_likelihood/log_likelihood.h"
#include "shaders/matmul/matmul.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rms_norm/rms_norm.h"
#include "shaders/slice/slice.h"
#include "shaders/swap_axes/swap_axes.h"

namespace vkformer {

Value elements_of(Graph& graph, Value x, int64_t first, const Shape& shape) {
  const Value flat = reshape(graph, x, {1, graph.shape(x).elements()});
  return reshape(graph, slice(graph, flat, first, shape.elements()), shape);
}

Value add_log_likelihoods(Graph& graph, const Model& model, const Pass& pass) {
  const Value logits = add_logits(graph, model, pass);
  const Shape& shape = graph.shape(logits);
  return log_likelihood(graph, logits, graph.input("labels", {shape[0], shape[1]}, DType::i32), ignored_target);
}

namespace {

/// The sum of x [n, 1], each weighed by one of `weights`, n numbers of any shape: [1].
Value weighted_sum(Graph& graph, Value weights, Value x) {
  return reshape(graph, matmul(graph, reshape(graph, weights, {1, graph.shape(x)[0]}), x), {1});
}

/// The mean of (x - wanted)^2 over those that `shares` counts; x [n, 1], the others of n numbers.
Value squared_error(Graph& graph, Value x, Value wanted, Value shares) {
  const Value apart = add(graph, x, scale(graph, reshape(graph, wanted, graph.shape(x)), -1));
  return weighted_sum(graph, shares, multiply(graph, apart, apart));
}

Loss add_preference_loss(Graph& graph, const Model& model, const Pass& pass, double label_smoothing) {
  const Value likelihoods = add_log_likelihoods(graph, model, pass);
  const int64_t rows = graph.shape(likelihoods).elements();
  check(rows % 2 == 0, "a batch of {} rows is no batch of pairs", rows);
  const Value reference = graph.input("reference", {rows});
  Value gained = add(graph, likelihoods, scale(graph, reference, -1));
  if (model.preference->per_token()) gained = multiply(graph, gained, graph.input("per_token", {rows}));
  const Graph::Scope scope(graph, loss_scope);
  if (model.preference->loss == Preference::Loss::ipo) {
    const int64_t pairs = rows / 2;
    graph.input("targets", {pairs}, DType::i32);  // which pairs there are; `shares` says it to the loss
    const Value both = reshape(graph, gained, {pairs, 2});
    const Value apart = add(graph, slice(graph, both, 0, 1), scale(graph, slice(graph, both, 1, 1), -1));
    const Value loss = squared_error(graph, apart, graph.input("wanted", {pairs}), graph.input("shares", {pairs}));
    graph.mark_output(loss, "loss");
    return {loss, 2};
  }
  const Value rewards = reshape(graph, scale(graph, gained, model.preference->beta), {rows / 2, 2});
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
  const auto some = [&](int64_t first, int64_t count) {
    return elements_of(graph, vectors, first * width, {count, width});
  };
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
  Value loss;
  if (model.task == Task::number) {
    loss = squared_error(graph, z, wanted, shares);
  } else {
    // The mean of log(1 + exp z) is the cross-entropy of logits 0 and z where the first is right.
    const Value softplus = cross_entropy(graph, join_columns(graph, {{scale(graph, z, 0)}, {z}}), targets);
    loss = add(graph, softplus, scale(graph, weighted_sum(graph, multiply(graph, shares, wanted), z), -1));
  }
  graph.mark_output(loss, "loss");
  return {loss, 1};
}

}  // namespace

Loss add_loss(Graph& graph, const Model& model, const BatchShape& shape, double label_smoothing, const Pass& pass) {
  if (model.task == Task::score || model.task == Task::number) return add_number_loss(graph, model, pass);
  if (model.similarity) return add_similarity_loss(graph, model, shape, pass, label_smoothing);
  check(model.task != Task::states,
        "this {} model has no head, so no loss; train --labels, --tags, --answers and --masked give it one, --similar "
        "needs none",
        model.family);
  check(model.task != Task::vector && model.task != Task::match,
        "this {} model gives vectors, which are not trained; ViT's, DeiT's and DINOv2's classifiers are", model.family);
  if (model.preference) return add_preference_loss(graph, model, pass, label_smoothing);
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

Model that_learns_similarity(Model model, const Similarity& similarity) {
  check(model.task == Task::states, "a {} model with a head learns no similarity", model.family);
  const int64_t width = width_of(model);
  model.similarity = similarity;
  model.constants.push_back({length_one, {{width}}, [width] {
                               return std::vector(static_cast<size_t>(width), static_cast<float>(1 / std::sqrt(width)));
                             }});
  return model;
}

}  // namespace vkformer
