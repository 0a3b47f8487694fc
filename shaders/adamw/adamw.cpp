#include "shaders/adamw/adamw.h"

#include <cmath>

#include "shaders/adamw/adamw.args.h"
#include "shaders/common/stream.h"

namespace vkformer {
namespace {

enum : size_t { parameters_input, gradient_input, moment1_input, moment2_input, schedule_input, norm_input };

Types infer(const Node& node) {
  const bool scaled = node.flag("scaled"), clips = node.number("clip_norm") > 0 || scaled;
  check(node.inputs.size() == 6, "[adamw] takes parameters, gradient, two moments, schedule and norm");
  const char* names[] = {"parameters", "gradient", "moment1", "moment2", "schedule", "norm"};
  for (size_t i = 0; i < 6; ++i) {
    if (i == norm_input && !clips) continue;
    check(node.has_input(i), "[adamw] {} is absent", names[i]);
    check(node.input_types[i].dtype == DType::f32, "[adamw] {} is not f32", names[i]);
  }
  for (const size_t i : {gradient_input, moment1_input, moment2_input})
    check(node.in(i).elements() == node.in(0).elements(), "[adamw] {} {} and parameters {} differ in size", names[i],
          node.in(i).to_string(), node.in(0).to_string());
  check(node.in(schedule_input) == Shape{scaled ? 4 : 3}, "[adamw] schedule is {}, not [{}]",
        node.in(schedule_input).to_string(), scaled ? 4 : 3);
  check(!clips || node.in(norm_input) == Shape{1}, "[adamw] norm is {}, not [1]",
        clips ? node.in(norm_input).to_string() : "");
  const int64_t decayed = node.integer("decayed_elements");
  check(decayed >= 0 && decayed <= node.in(0).elements(), "[adamw] {} decayed elements of {}", decayed,
        node.in(0).elements());
  return {node.input_types[parameters_input], node.input_types[moment1_input], node.input_types[moment2_input]};
}

void record(Recorder& r, const Node& node) {
  const AdamWArgs args{.parameters = r.address(node.inputs[parameters_input]),
                       .gradient = r.address(node.inputs[gradient_input]),
                       .moment1 = r.address(node.inputs[moment1_input]),
                       .moment2 = r.address(node.inputs[moment2_input]),
                       .schedule = r.address(node.inputs[schedule_input]),
                       .norm = r.address(node.inputs[node.has_input(norm_input) ? norm_input : schedule_input]),
                       .stream = stream_over(r.device(), node.out(0).elements()),
                       .decayed = static_cast<uint32_t>(node.integer("decayed_elements")),
                       .beta1_rest = static_cast<float>(1 - node.number("beta1")),
                       .beta2 = static_cast<float>(node.number("beta2")),
                       .beta2_rest = static_cast<float>(1 - node.number("beta2")),
                       .epsilon = static_cast<float>(node.number("epsilon")),
                       .weight_decay = static_cast<float>(node.number("weight_decay")),
                       .clip_norm = static_cast<float>(node.number("clip_norm")),
                       .decay_gradient = node.flag("decay_gradient"),
                       .scaled = node.flag("scaled")};
  r.dispatch(stream_launch(r, "adamw", args.stream), args);
}

void reference(const Node& node, Inputs inputs, Outputs outputs) {
  const HostTensor& schedule = *inputs[schedule_input];
  const double beta1 = node.number("beta1"), beta2 = node.number("beta2"), clip = node.number("clip_norm");
  const double unscale = node.flag("scaled") ? schedule[3] : 1;
  const double norm = inputs[norm_input] ? unscale * (*inputs[norm_input])[0] : 0;
  if (node.flag("scaled") && !std::isfinite(norm)) return;  // outputs start as what they change
  const double factor = unscale * (clip > 0 ? std::min(1.0, clip / (norm + 1e-6)) : 1);
  for (int64_t i = 0; i < node.out(0).elements(); ++i) {
    double g = factor * (*inputs[gradient_input])[i];
    double p = (*inputs[parameters_input])[i];
    if (i < node.integer("decayed_elements")) {
      if (node.flag("decay_gradient"))
        g += node.number("weight_decay") * p;
      else
        p *= 1 - schedule[0] * node.number("weight_decay");
    }
    const double m = beta1 * (*inputs[moment1_input])[i] + (1 - beta1) * g;
    const double v = beta2 * (*inputs[moment2_input])[i] + (1 - beta2) * g * g;
    outputs[0][i] = p - schedule[0] / schedule[1] * m / (std::sqrt(v) / schedule[2] + node.number("epsilon"));
    outputs[1][i] = m;
    outputs[2][i] = v;
  }
}

Attributes attributes_of(const AdamWOptions& options) {
  return {{"beta1", options.beta1},
          {"beta2", options.beta2},
          {"epsilon", options.epsilon},
          {"weight_decay", options.weight_decay},
          {"decayed_elements", static_cast<double>(options.decayed_elements)},
          {"decay_gradient", options.decay_gradient ? 1.0 : 0.0},
          {"scaled", options.scaled ? 1.0 : 0.0},
          {"clip_norm", options.clip_norm}};
}

// No, some and all elements decayed, the border inside a quad; decay of either kind; clipping off, active and idle.
std::vector<Case> cases() {
  std::vector<Case> cases;
  const auto add = [&](const Shape& shape, const AdamWOptions& options, double least_norm = 2, double most_norm = 3) {
    const TensorType type{shape};
    cases.push_back({.inputs = {{type},
                                {type},
                                {{Shape{shape.elements()}}},
                                {type, 0.01, 1},
                                {{{options.scaled ? 4 : 3}}, 0.1, 1},
                                {{{1}}, least_norm, most_norm, options.clip_norm == 0 && !options.scaled}},
                     .attributes = attributes_of(options)});
  };
  add({1}, {.decayed_elements = 1});
  add({3}, {.decayed_elements = 2});
  add({2, 4}, {.decayed_elements = 6, .clip_norm = 1});
  add({7, 149}, {.beta2 = 0.999, .epsilon = 1e-3, .weight_decay = 0.01, .decayed_elements = 1001, .clip_norm = 10});
  add({7, 149}, {.weight_decay = 0, .decayed_elements = 0, .clip_norm = 0.5});
  add({2, 3}, {.decayed_elements = 5, .decay_gradient = true});
  add({7, 149}, {.beta2 = 0.999, .decayed_elements = 1001, .decay_gradient = true, .clip_norm = 1});
  add({3, 4271}, {.decayed_elements = 8191, .clip_norm = 1});
  add({7, 149}, {.decayed_elements = 1001, .clip_norm = 0.1, .scaled = true});
  add({7, 149}, {.decayed_elements = 1001, .scaled = true});
  // Gradients that overflowed: infinite, and not a number.
  add({7, 149}, {.decayed_elements = 1001, .scaled = true}, 1e39, 1e39);
  add({7, 149}, {.decayed_elements = 1001, .scaled = true}, HUGE_VAL, HUGE_VAL);
  return cases;
}

// Reads four blocks and writes three.
Cost cost(const Node& node) {
  const auto elements = static_cast<double>(node.out(0).elements());
  return {.bytes = 28 * elements, .flops = 16 * elements};
}

const Op adamw_op = {.name = "adamw",
                     .infer = infer,
                     .record = record,
                     .reference = reference,
                     .cases = cases,
                     .cost = cost,
                     .candidates = stream_candidates,
                     .room = stream_room,
                     .aliases = {parameters_input, moment1_input, moment2_input}};

}  // namespace

Values adamw(Graph& graph, Value parameters, Value gradient, Value moment1, Value moment2, Value schedule, Value norm,
             const AdamWOptions& options) {
  return graph.add(adamw_op, {parameters, gradient, moment1, moment2, schedule, norm}, attributes_of(options));
}

}  // namespace vkformer

VKFORMER_OPS(adamw, &vkformer::adamw_op)
