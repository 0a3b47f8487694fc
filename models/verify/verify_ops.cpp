#include "models/verify/verify_ops.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/verify/verify_op_graph.h"
#include "models/verify/verify_parts.h"
#include "runtime/autodiff.h"
#include "runtime/check.h"
#include "shaders/adamw/adamw.h"
#include "shaders/global_norm/global_norm.h"

namespace vkformer {

namespace {

using Results = std::map<std::string, std::vector<float>>;  ///< by the names of the outputs

constexpr std::string_view gradient_prefix = "grad.";

Results run_differentiable(Backend& backend, OpGraph op) {
  const OpCase& recorded = op.recorded();
  const Value out = build_op(op);
  op.graph.mark_output(out, "out");
  std::vector<std::string> names;
  Values wanted;
  for (const std::string& output : recorded.outputs)
    if (output.starts_with(gradient_prefix)) {
      names.push_back(output);
      wanted.push_back(op.input(output.substr(gradient_prefix.size())));
    }
  const Values gradients = differentiate(op.graph, out, op.input("grad_out"), wanted);
  for (size_t i = 0; i < names.size(); ++i) {
    check(static_cast<bool>(gradients[i]), "no gradient flows to {}", names[i].substr(gradient_prefix.size()));
    op.graph.mark_output(gradients[i], names[i]);
  }
  names.emplace_back("out");
  auto program = backend.compile(std::move(op.graph), backend.make_store({}));
  op.feed(*program);
  program->run();
  Results results;
  for (const std::string& name : names) results[name] = program->read(name);
  return results;
}

/// Adds f32 tensors of the Store.
class State {
 public:
  Value add(Graph& graph, const std::string& name, const Shape& shape) {
    layout_.add_block("block of " + name, std::vector<StoreLayout::Part>{{name, {shape}}});
    return graph.persistent(name, shape);
  }
  const StoreLayout& layout() const { return layout_; }

 private:
  StoreLayout layout_;
};

Results run_optimizer(Backend& backend, OpGraph op) {
  const JsonObject& attributes = op.attributes();
  const nlohmann::json betas = attributes.value().value("betas", nlohmann::json::array());
  check(betas.size() == 2 && betas[0].is_number() && betas[1].is_number(), "betas needs two numbers");
  const double rate = require_number(attributes, "lr", 0, 1e6);
  const int64_t steps = require_integer(attributes, "steps", 1, 1000);
  const Value first_gradient = op.input("grad_1");
  const Shape shape = op.graph.shape(first_gradient);
  State state;
  const auto tensor = [&](const char* name) { return state.add(op.graph, name, shape); };
  const AdamWOptions options{.beta1 = betas[0].get<double>(),
                             .beta2 = betas[1].get<double>(),
                             .epsilon = require_number(attributes, "eps", 0, 1),
                             .weight_decay = require_number(attributes, "weight_decay", 0, 1e6),
                             .decayed_elements = shape.elements(),
                             .decay_gradient = op.recorded().op == "adam"};
  adamw(op.graph, tensor("param"), first_gradient, tensor("exp_avg"), tensor("exp_avg_sq"),
        op.graph.input("schedule", {3}), {}, options);
  auto store = backend.make_store(state.layout());
  store->write("param", op.floats("param_0"));
  auto program = backend.compile(std::move(op.graph), store);
  Results results;
  for (int64_t step = 1; step <= steps; ++step) {
    const auto t = static_cast<double>(step);
    program->write("grad_1", op.floats(fmt::format("grad_{}", step)));
    program->write("schedule",
                   std::vector<float>{static_cast<float>(rate), static_cast<float>(1 - std::pow(options.beta1, t)),
                                      static_cast<float>(std::sqrt(1 - std::pow(options.beta2, t)))});
    program->run();
    results[fmt::format("param_{}", step)] = store->read("param");
  }
  for (const char* name : {"exp_avg", "exp_avg_sq"}) results[name] = store->read(name);
  return results;
}

/// Clipping is a part of AdamW's kernel. With beta1 = 0 and moments of 0 the first moment is the clipped gradient.
Results run_clip(Backend& backend, OpGraph op) {
  const double most = require_number(op.attributes(), "max_norm", 1e-9, 1e9);
  Values gradients;
  for (const std::string& name : op.recorded().inputs) gradients.push_back(op.input(name));
  const Value norm = global_norm(op.graph, gradients);
  op.graph.mark_output(norm, "norm");
  const Value schedule = op.input("schedule", {3}, std::vector<float>{0, 1, 1});
  State state;
  std::vector<std::pair<std::string, std::string>> moments;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const std::string number = op.recorded().inputs[i].substr(std::string_view("grad_").size());
    const Shape shape = op.graph.shape(gradients[i]);
    const auto tensor = [&](const std::string& name) { return state.add(op.graph, name + "_" + number, shape); };
    const Value parameters = tensor("param"), moment1 = tensor("exp_avg"), moment2 = tensor("exp_avg_sq");
    adamw(op.graph, parameters, gradients[i], moment1, moment2, schedule, norm,
          {.beta1 = 0, .weight_decay = 0, .clip_norm = most});
    moments.emplace_back("clipped_" + number, "exp_avg_" + number);
  }
  auto store = backend.make_store(state.layout());
  auto program = backend.compile(std::move(op.graph), store);
  op.feed(*program);
  program->run();
  Results results{{"norm", program->read("norm")}};
  for (const auto& [output, moment] : moments) results[output] = store->read(moment);
  return results;
}

std::vector<std::string> keys(const JsonObject& object) {
  std::vector<std::string> names;
  for (const auto& [name, shape] : object.value().items()) names.push_back(name);
  return names;
}

OpCase read_case(const JsonObject& object) {
  const JsonObject tolerance = require_object(object, "tolerance");
  return {.name = require_string(object, "name"),
          .op = require_string(object, "op"),
          .attributes = require_object(object, "attributes"),
          .inputs = keys(require_object(object, "inputs")),
          .outputs = keys(require_object(object, "outputs")),
          .relative = require_number(tolerance, "relative", 0, 1),
          .absolute = require_number(tolerance, "absolute", 0, 1)};
}

VerifyRow compare(const OpCase& recorded, const std::string& output, const std::vector<float>& want,
                  const Results& results) {
  VerifyRow row{.tensor = recorded.name + "/" + output, .how = "absolute", .note = {}};
  const auto found = results.find(output);
  if (output == "out_uniform") {
    row.verdict = VerifyRow::Verdict::skipped;
    row.note = "fully masked rows give zeros, as in out";
  } else if (found == results.end()) {
    row.note = "this operator has no such output";
  } else if (found->second.size() != want.size()) {
    row.note = fmt::format("{} elements expected, the operator gives {}", want.size(), found->second.size());
  } else {
    LargestError error;
    for (size_t i = 0; i < want.size(); ++i)
      error.add(static_cast<double>(found->second[i]), static_cast<double>(want[i]));
    row.error = error.worst;
    row.tolerance = recorded.relative * error.largest + recorded.absolute;
    row.verdict = verdict(row.error <= row.tolerance);
  }
  return row;
}

}  // namespace

void verify_ops(Backend& backend, const std::filesystem::path& folder,
                const std::function<void(const VerifyRow&)>& report) {
  const JsonObject list = JsonObject::load(folder / "ops.json");
  const SafetensorsFile file(folder / "ops.safetensors");
  check(list.has("cases") && list.value().at("cases").is_array(), "{}: \"cases\" must be an array", list.name());
  for (const nlohmann::json& one : list.value().at("cases")) {
    std::string name = "(case)";
    try {
      const OpCase recorded = read_case(JsonObject::parse(one.dump(), list.name()));
      name = recorded.name;
      const auto run = recorded.op == "adam" || recorded.op == "adamw" ? run_optimizer
                       : recorded.op == "clip"                         ? run_clip
                                                                       : run_differentiable;
      const Results results = run(backend, OpGraph(recorded, file));
      for (const std::string& output : recorded.outputs)
        report(compare(recorded, output, read_floats(file, name + "/" + output), results));
    } catch (const std::exception& error) {
      report({.tensor = name, .how = "", .verdict = VerifyRow::Verdict::failed, .note = error.what()});
    }
  }
}

}  // namespace vkformer
