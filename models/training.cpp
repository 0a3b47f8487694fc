#include "models/training.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "models/weights.h"
#include "runtime/autodiff.h"
#include "runtime/check.h"
#include "runtime/files/safetensors.h"
#include "shaders/accumulate/accumulate.h"
#include "shaders/adamw/adamw.h"
#include "shaders/cross_entropy/cross_entropy.h"
#include "shaders/global_norm/global_norm.h"
#include "shaders/join/join.h"

namespace vkformer {

namespace {

constexpr std::string_view moments[] = {"exp_avg", "exp_avg_sq"};

int64_t block_elements(const StoreLayout& layout, size_t i) {
  return layout.find(block_name("parameters", i))->type.elements();
}

/// Adds the moments' specs, so that they are saved and loaded like parameters.
std::vector<ParameterSpec> moment_specs(const Model& model) {
  std::vector<ParameterSpec> specs;
  for (std::string_view moment : moments)
    for (const ParameterSpec& parameter : model.parameters)
      specs.push_back({fmt::format("{}/{}", moment, parameter.name), parameter.shape});
  return specs;
}

Graph build_evaluation(const Model& model, int64_t batch, int64_t context) {
  Graph graph;
  const Value ids = graph.input("ids", {batch, context}, DType::i32);
  const Value targets = graph.input("targets", {batch, context}, DType::i32);
  graph.mark_output(cross_entropy(graph, model.head(graph, model.hidden(graph, {.ids = ids})), targets), "loss");
  return graph;
}

}  // namespace

double learning_rate_at(const TrainSettings& s, int64_t iteration) {
  if (iteration <= s.warmup)
    return s.learning_rate * static_cast<double>(iteration) / static_cast<double>(s.warmup + 1);
  if (iteration >= s.iterations) return s.min_learning_rate;
  const double progress = static_cast<double>(iteration - s.warmup) / static_cast<double>(s.iterations - s.warmup);
  return s.min_learning_rate +
         0.5 * (1 + std::cos(std::numbers::pi * progress)) * (s.learning_rate - s.min_learning_rate);
}

TrainingGraph build_loss_and_gradients(const Model& model, const std::vector<ParameterBlock>& blocks, int64_t batch,
                                       int64_t context) {
  TrainingGraph built;
  Graph& graph = built.graph;
  const Value ids = graph.input("ids", {batch, context}, DType::i32);
  const Value targets = graph.input("targets", {batch, context}, DType::i32);
  const Value seed = graph.input("seed", {2}, DType::i32);
  const Value upstream = graph.input("loss_gradient", {1});
  built.loss = cross_entropy(graph, model.head(graph, model.hidden(graph, {.ids = ids, .seed = seed})), targets);
  graph.mark_output(built.loss, "loss");
  Values parameters;
  for (const ParameterSpec& parameter : model.parameters)
    parameters.push_back(graph.persistent(parameter.name, parameter.shape));
  built.gradients = differentiate(graph, built.loss, upstream, parameters);
  for (size_t i = 0; i < parameters.size(); ++i)
    check(static_cast<bool>(built.gradients[i]), "the loss does not depend on {}", model.parameters[i].name);
  for (const ParameterBlock& block : blocks) {
    Values parts;
    for (const ParameterSpec* parameter : block.parameters)
      parts.push_back(built.gradients[static_cast<size_t>(parameter - model.parameters.data())]);
    built.blocks.push_back(join(graph, parts));
  }
  return built;
}

void append_update(Graph& graph, const std::vector<ParameterBlock>& blocks, const Values& gradients,
                   const TrainSettings& s) {
  const Graph::Scope scope(graph, "optimizer");
  const Value schedule = graph.input("schedule", {3});
  Value norm;
  if (s.clip > 0) graph.mark_output(norm = global_norm(graph, gradients), "norm");
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Shape shape = graph.shape(gradients[i]);
    adamw(graph, graph.persistent(block_name("parameters", i), shape), gradients[i],
          graph.persistent(block_name(moments[0], i), shape), graph.persistent(block_name(moments[1], i), shape),
          schedule, norm,
          {.beta1 = s.beta1,
           .beta2 = s.beta2,
           .epsilon = s.epsilon,
           .weight_decay = s.weight_decay,
           .decayed_elements = blocks[i].decayed_elements,
           .clip_norm = s.clip});
  }
}

int64_t TrainingPlan::total_bytes() const {
  return std::accumulate(rows.begin(), rows.end(), int64_t{0},
                         [](int64_t sum, const Row& row) { return sum + row.bytes; });
}

TrainingPlan plan_training(const Model& model, const TrainSettings& settings, const Backend& backend) {
  const int64_t context = settings.context ? settings.context : model.context;
  check(context >= 1 && context <= model.context, "a context of {} positions was asked for; the model has {}", context,
        model.context);
  check(settings.batch >= 1 && settings.accumulate >= 1, "batch {} and accumulation {} must be at least 1",
        settings.batch, settings.accumulate);
  TrainingPlan plan;
  plan.blocks = parameter_blocks(model.parameters, backend.facts().max_allocation);
  add_model(plan.layout, model, plan.blocks);
  const int64_t model_bytes = plan.layout.total_bytes();
  for (std::string_view moment : moments) add_parameter_blocks(plan.layout, moment, plan.blocks);
  const int64_t moment_bytes = plan.layout.total_bytes() - model_bytes;
  plan.rows = {{"parameters and constants", model_bytes}, {"AdamW moments", moment_bytes}};

  TrainingGraph training = build_loss_and_gradients(model, plan.blocks, settings.batch, context);
  if (settings.accumulate == 1) {
    append_update(training.graph, plan.blocks, training.blocks, settings);
    plan.programs.emplace_back("step", std::move(training.graph));
  } else {
    Graph update;
    Values sums;
    const Value first = training.graph.input("first", {1}, DType::i32);
    for (size_t i = 0; i < plan.blocks.size(); ++i) {
      const std::string name = block_name("gradient", i);
      const Shape shape{block_elements(plan.layout, i)};
      plan.layout.add_block(name, std::vector<StoreLayout::Part>{{name + ".sum", {shape, DType::f32}}});
      accumulate(training.graph, training.graph.persistent(name, shape), training.blocks[i], first);
      sums.push_back(update.persistent(name, shape));
    }
    append_update(update, plan.blocks, sums, settings);
    plan.programs.emplace_back("micro-batch", std::move(training.graph));
    plan.programs.emplace_back("update", std::move(update));
    plan.rows.push_back({"gradient sums", moment_bytes / 2});
  }
  plan.programs.emplace_back("evaluation", build_evaluation(model, settings.batch, context));
  for (const auto& [name, graph] : plan.programs) {
    const MemoryPlan memory = backend.plan(graph, plan.layout);
    plan.rows.push_back({name + ": temporaries", memory.arena_bytes()});
    plan.rows.push_back({name + ": inputs and outputs", memory.step_bytes + memory.readback_bytes});
    if (plan.live_set_bytes == 0) {
      plan.live_set_bytes = memory.live_set_bytes;
      plan.biggest = memory.items;
    }
  }
  return plan;
}

Trainer::Trainer(Backend& backend, const Model& model, const TrainSettings& settings)
    : model_(model), settings_(settings), plan_(plan_training(model_, settings, backend)) {
  store_ = backend.make_store(plan_.layout);
  write_constants(*store_, model_);
  std::vector<std::unique_ptr<Program>> programs;
  for (const auto& [name, graph] : plan_.programs) programs.push_back(backend.compile(graph, store_));
  step_ = std::move(programs[0]);
  if (settings_.accumulate > 1) update_ = std::move(programs[1]);
  evaluation_ = std::move(programs.back());
  step_->write("loss_gradient", std::vector<float>{1.0f / static_cast<float>(settings_.accumulate)});
}

double Trainer::step(int64_t iteration, std::span<const int32_t> ids, std::span<const int32_t> targets) {
  const double t = static_cast<double>(iteration);
  const std::vector<float> schedule = {static_cast<float>(learning_rate_at(settings_, iteration)),
                                       static_cast<float>(1 - std::pow(settings_.beta1, t)),
                                       static_cast<float>(std::sqrt(1 - std::pow(settings_.beta2, t)))};
  Program& updating = update_ ? *update_ : *step_;
  updating.write("schedule", schedule);
  const size_t share = ids.size() / static_cast<size_t>(settings_.accumulate);
  double loss = 0;
  for (int64_t micro = 0; micro < settings_.accumulate; ++micro) {
    const size_t at = static_cast<size_t>(micro) * share;
    step_->write("ids", ids.subspan(at, share));
    step_->write("targets", targets.subspan(at, share));
    const int64_t draw = (iteration - 1) * settings_.accumulate + micro;
    step_->write("seed", std::vector<int32_t>{static_cast<int32_t>(settings_.seed), static_cast<int32_t>(draw)});
    if (update_) step_->write("first", std::vector<int32_t>{micro == 0});
    step_->run();
    loss += static_cast<double>(step_->read("loss")[0]);
  }
  if (update_) update_->run();
  if (settings_.clip > 0) norm_ = static_cast<double>(updating.read("norm")[0]);
  return loss / static_cast<double>(settings_.accumulate);
}

double Trainer::evaluate(std::span<const int32_t> ids, std::span<const int32_t> targets) {
  evaluation_->write("ids", ids);
  evaluation_->write("targets", targets);
  evaluation_->run();
  return static_cast<double>(evaluation_->read("loss")[0]);
}

std::vector<std::pair<std::string, const Program*>> Trainer::programs() const {
  if (!update_) return {{"step", step_.get()}};
  return {{"micro-batch", step_.get()}, {"update", update_.get()}};
}

void Trainer::save(const std::filesystem::path& folder) const {
  save_parameters(*store_, model_.parameters, folder / "model.safetensors");
  save_parameters(*store_, moment_specs(model_), folder / "optimizer.safetensors");
}

void Trainer::load(const std::filesystem::path& folder) {
  load_parameters(*store_, model_.parameters, folder);
  load_parameters(*store_, moment_specs(model_), folder / "optimizer.safetensors");
}

}  // namespace vkformer
