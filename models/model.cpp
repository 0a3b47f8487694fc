#include "models/model.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "runtime/check.h"
#include "shaders/visible_keys/visible_keys.h"

namespace vkformer {

int64_t width_of(const Model& model) {
  for (const char* key : {"d_model", "n_embd", "hidden_size", "dim"})
    if (model.config->contains(key)) return model.config->at(key).get<int64_t>();
  return 0;
}

TensorType Model::source_type(int64_t sources, int64_t positions) const {
  if (frame_columns == 0) return {{sources, positions}, DType::i32};
  return {{sources, positions * frames_per_position, frame_columns}, DType::f32};
}

int64_t Model::parameter_count() const {
  return std::accumulate(parameters.begin(), parameters.end(), int64_t{0},
                         [](int64_t sum, const ParameterSpec& p) { return sum + p.shape.elements(); });
}

void check_results(std::span<const float> results, size_t columns) {
  const auto odd = std::ranges::find_if(results, [](float value) { return !std::isfinite(value); });
  check(odd == results.end(), "the logits of row {} are not finite numbers; the weights may be damaged",
        static_cast<size_t>(odd - results.begin()) / columns);
}

namespace {

/// Layers with states take what a mask leaves of a row for one text.
void check_gaps(const Model& model, std::span<const int32_t> mask, size_t positions) {
  for (size_t first = 0; first < mask.size(); first += positions) {
    const auto row = mask.subspan(first, std::min(positions, mask.size() - first));
    const auto gap = std::find(std::ranges::find(row, 1), row.end(), 0);
    check(std::find(gap, row.end(), 1) == row.end(),
          "row {} of the mask has a 0 at position {}, between 1s; {} keeps states, which begin anew behind it: padding "
          "must be in front of a row's tokens or behind them",
          first / positions, gap - row.begin(), model.family);
  }
}

}  // namespace

std::span<const int32_t> integers_of(const Feed& feed, std::string_view input) {
  const auto found = std::ranges::find(feed, input, &Feed::value_type::first);
  if (found == feed.end()) return {};
  const auto* integers = std::get_if<std::span<const int32_t>>(&found->second);
  check(integers != nullptr, "{} holds floats; it takes integers", input);
  return *integers;
}

void check_feed(const Model& model, const BatchShape& shape, const Feed& feed) {
  const auto values_of = [&](std::string_view input) { return integers_of(feed, input); };
  const auto check_below = [&](std::string_view input, const char* what, int64_t limit) {
    for (int32_t value : values_of(input))
      check(value >= 0 && value < limit, "{} holds {}; the model has {} {}, from 0 to {}", input, value, limit, what,
            limit - 1);
  };
  check_below("ids", "ids", model.vocabulary);
  if (model.frame_columns == 0 && !model.sees()) check_below("source", "ids", model.input_vocabulary());
  if (model.segments > 0) check_below("segments", "token types", model.segments);  // else add_inputs refuses them
  for (int32_t position : values_of("positions"))
    check(position >= 0 && position < shape.positions, "positions hold {}; they are numbers within a row of {}",
          position, shape.positions);
  for (int32_t position : values_of("predicted"))
    check(position >= -1 && position < shape.rows * shape.positions, "predicted holds {}; the batch has {} positions",
          position, shape.rows * shape.positions);
  const auto ids = values_of("ids"), mask = values_of("mask");
  if (model.recurrent) check_gaps(model, mask, static_cast<size_t>(shape.positions));
  if (model.padding < 0) return;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != model.padding) continue;
    const bool last = (i + 1) % static_cast<size_t>(shape.positions) == 0;
    check(i < mask.size() && mask[i] == 0 && (last || ids[i + 1] == model.padding),
          "row {} has its padding id {} at position {}, where it is not masked or a token follows; {} counts positions "
          "over its tokens, so padding must be masked and behind them",
          i / static_cast<size_t>(shape.positions), model.padding, i % static_cast<size_t>(shape.positions),
          model.family);
  }
}

void write_feed(Program& program, const Feed& feed) {
  for (const auto& [name, values] : feed)
    std::visit([&](const auto& span) { program.write(std::string(name), span); }, values);
}

Pass add_inputs(Graph& graph, const Model& model, const BatchShape& shape) {
  const int64_t B = shape.rows, T = shape.positions, S = shape.source_positions;
  check(B >= 1 && T >= 1 && S >= 0, "a batch of {} x {} positions was asked for; both must be at least 1", B, T);
  for (const auto& [positions, most] :
       {std::pair{T, model.reads_ids() ? model.context : 0}, std::pair{S, model.source_limit()}})
    check(most == 0 || positions <= most,
          "a sequence of {} positions is too long; the model has {}, as its config says", positions, most);
  check(model.has_encoder() == (S > 0), "{} has {} encoder, but the batch has {} source positions", model.family,
        model.has_encoder() ? "an" : "no", S);
  const auto integers = [&](const char* name, const Shape& dimensions) {
    return graph.input(name, dimensions, DType::i32);
  };
  Pass pass;
  if (model.reads_ids()) pass.ids = integers("ids", {B, T});
  if (model.sees()) pass.source = graph.input("source", {B, model.picture.positions(), model.picture.columns()});
  if (S > 0) {
    const TensorType source = model.source_type(B, S);
    pass.source = graph.input("source", source.shape, source.dtype);
  }
  check(model.reads_ids() || (!shape.mask && !shape.packed && !shape.numbered && !shape.segments),
        "{} sees pictures, but the batch has what belongs to texts", model.family);
  if (shape.predictions > 0) {
    check(model.query_stream, "{} has no query stream, but the batch has predictions", model.family);
    const Value order = integers("order", {B, T});
    pass.mask = visible_keys(graph, order, MaskRule::earlier_or_self);
    pass.query_mask = visible_keys(graph, order, MaskRule::earlier);
    pass.predicted = integers("predicted", {B, shape.predictions});
  } else if (shape.packed) {
    check(model.task == Task::causal, "{} does not take rows of several texts", model.family);
    pass.texts = integers("texts", {B, T});
    pass.mask = visible_keys(graph, pass.texts, MaskRule::same);
  } else if (shape.mask) {
    (S > 0 ? pass.source_mask : pass.mask) = S > 0 ? integers("source_mask", {B, S}) : integers("mask", {B, T});
    pass.texts = pass.mask;
  }
  if (shape.packed || shape.numbered) {
    check(model.task == Task::causal, "{} counts positions itself; it takes no numbers for them", model.family);
    pass.first_positions = integers("positions", {B, T});
  }
  check(!shape.segments || model.segments > 0, "{} has no token types, but the batch has segments", model.family);
  if (shape.segments) pass.segments = integers("segments", {B, T});
  return pass;
}

Value add_logits(Graph& graph, const Model& model, Pass pass) {
  if (model.has_encoder()) pass.memory = model.encode(graph, pass);
  return model.head(graph, pass, model.hidden(graph, pass));
}

}  // namespace vkformer
