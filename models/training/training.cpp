#include "models/training/training.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "models/parameters.h"
#include "models/weights.h"
#include "runtime/autodiff.h"
#include "runtime/check.h"
#include "runtime/files/safetensors.h"
#include "runtime/passes/precision.h"
#include "shaders/accumulate/accumulate.h"
#include "shaders/adamw/adamw.h"
#include "shaders/cross_entropy/cross_entropy.h"
#include "shaders/global_norm/global_norm.h"
#include "shaders/join/join.h"
#include "shaders/reshape/reshape.h"
#include "shaders/slice/slice.h"

namespace vkformer {

namespace {

constexpr std::string_view moments[] = {"exp_avg", "exp_avg_sq"};

int64_t block_elements(const StoreLayout& layout, size_t i) {
  return layout.find(block_name("parameters", i))->type.elements();
}

/// Specs of the moments of the trained blocks, so that they are saved and loaded like parameters.
std::vector<ParameterSpec> moment_specs(const std::vector<ParameterBlock>& blocks) {
  std::vector<ParameterSpec> specs;
  for (std::string_view moment : moments)
    for (const ParameterBlock& block : blocks)
      for (const ParameterSpec* parameter : block.parameters)
        if (block.trained) specs.push_back({fmt::format("{}/{}", moment, parameter->name), parameter->shape});
  return specs;
}

/// Elements `first` .. of a gradient, as a tensor. (Dead unless it is an output.)
Value part(Graph& graph, Value gradient, int64_t first, const Shape& shape) {
  const Value flat = reshape(graph, gradient, {1, graph.shape(gradient).elements()});
  return reshape(graph, slice(graph, flat, first, shape.elements()), shape);
}

Value add_loss(Graph& graph, const Model& model, const Pass& pass) {
  const Value logits = add_logits(graph, model, pass);
  const Shape& shape = graph.shape(logits);
  const Value targets =
      graph.input("targets", Shape(shape.dimensions().first(static_cast<size_t>(shape.rank() - 1))), DType::i32);
  const Value loss = cross_entropy(graph, logits, targets, model.label_smoothing);
  graph.mark_output(loss, "loss");
  return loss;
}

Graph build_evaluation(const Model& model, const BatchShape& shape, DType products) {
  Graph graph;
  add_loss(graph, model, add_inputs(graph, model, shape));
  return is_half(products) ? with_half_products(graph, products).graph : graph;
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

BatchShape causal_batch(const Model& model, const TrainSettings& settings) {
  check(model.task == Task::causal, "{} is not trained on running text", model.family);
  return {.rows = settings.batch, .positions = settings.context ? settings.context : model.context};
}

BatchShape usual_batch(const Model& model, const TrainSettings& settings) {
  const int64_t context = settings.context > 0 ? settings.context : model.context > 0 ? model.context : usual_positions;
  return {.rows = settings.batch,
          .positions = context,
          .source_positions = model.has_encoder() ? context : 0,
          .mask = model.task != Task::causal};
}

TrainingGraph build_loss_and_gradients(const Model& model, const BatchShape& shape, bool checkpoint_activations,
                                       DType products) {
  TrainingGraph built;
  Graph& graph = built.graph;
  Pass pass = add_inputs(graph, model, shape);
  pass.seed = graph.input("seed", {2}, DType::i32);
  Value upstream = graph.input("loss_gradient", {1});
  built.loss = add_loss(graph, model, pass);
  if (is_half(products)) {
    Rewritten rewritten = with_half_products(graph, products);
    upstream = rewritten.values[static_cast<size_t>(upstream.id)];
    built.loss = rewritten.values[static_cast<size_t>(built.loss.id)];
    graph = std::move(rewritten.graph);
  }
  using Training = ParameterSpec::Training;
  std::map<std::string, Value> persistent;
  for (Value value : graph.persistents()) persistent[graph.info(value).name] = value;
  Values trained;
  for (const ParameterSpec& parameter : model.parameters) {
    if (parameter.training == Training::never) continue;
    const bool joint = persistent.contains(parameter.joint);
    check(!joint || !persistent.contains(parameter.name), "{} is read alone and as a part of {}", parameter.name,
          parameter.joint);
    trained.push_back(joint ? persistent[parameter.joint] : graph.persistent(parameter.name, parameter.shape));
  }
  const Values gradients = differentiate(graph, built.loss, upstream, trained, checkpoint_activations);
  size_t next = 0;
  std::map<std::string, int64_t> taken;  // elements of a joint gradient
  for (const ParameterSpec& parameter : model.parameters) {
    Value gradient = parameter.training == Training::never ? Value{} : gradients[next++];
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
  const bool scaled = s.products == DType::f16;
  const Value schedule = graph.input("schedule", {scaled ? 4 : 3});
  Value norm;
  if (s.clip > 0 || scaled) graph.mark_output(norm = global_norm(graph, gradients), "norm");
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Shape shape = graph.shape(gradients[i]);
    adamw(graph, graph.persistent(block_name("parameters", i), shape), gradients[i],
          graph.persistent(block_name(moments[0], i), shape), graph.persistent(block_name(moments[1], i), shape),
          schedule, norm,
          {.beta1 = s.beta1,
           .beta2 = s.beta2,
           .epsilon = s.epsilon,
           .weight_decay = s.weight_decay,
           .decayed_elements = blocks[i].decayed_elements,
           .clip_norm = s.clip,
           .scaled = scaled});
  }
}

int64_t TrainingPlan::total_bytes() const {
  return std::accumulate(rows.begin(), rows.end(), int64_t{0},
                         [](int64_t sum, const Row& row) { return sum + row.bytes; });
}

TrainingPlan plan_training(const Model& model, const TrainSettings& settings, const BatchShape& shape,
                           const Backend& backend) {
  check(settings.accumulate >= 1, "an accumulation of {} micro-batches was asked for; at least 1 is needed",
        settings.accumulate);
  TrainingPlan plan;
  TrainingGraph training = build_loss_and_gradients(model, shape, settings.checkpoint_activations, settings.products);
  plan.blocks = training_blocks(model, training.gradients, backend.facts().max_allocation);
  const Values joined = join_gradients(training, model, plan.blocks);
  add_model(plan.layout, model, plan.blocks);
  const int64_t model_bytes = plan.layout.total_bytes();
  for (std::string_view moment : moments) add_parameter_blocks(plan.layout, moment, plan.blocks);
  const int64_t moment_bytes = plan.layout.total_bytes() - model_bytes;
  plan.rows = {{"parameters and constants", model_bytes}, {"AdamW moments", moment_bytes}};

  if (settings.accumulate == 1) {
    append_update(training.graph, plan.blocks, joined, settings);
    plan.programs.emplace_back("step", std::move(training.graph));
  } else {
    Graph update;
    Values sums;
    const Value first = training.graph.input("first", {1}, DType::i32);
    for (size_t i = 0; i < joined.size(); ++i) {
      const std::string name = block_name("gradient", i);
      const Shape block{block_elements(plan.layout, i)};
      plan.layout.add_block(name, std::vector<StoreLayout::Part>{{name + ".sum", {block, DType::f32}}});
      accumulate(training.graph, training.graph.persistent(name, block), joined[i], first);
      sums.push_back(update.persistent(name, block));
    }
    append_update(update, plan.blocks, sums, settings);
    plan.programs.emplace_back("micro-batch", std::move(training.graph));
    plan.programs.emplace_back("update", std::move(update));
    plan.rows.push_back({"gradient sums", moment_bytes / 2});
  }
  plan.programs.emplace_back("evaluation", build_evaluation(model, shape, settings.products));
  std::vector<int64_t> workspace;
  for (const auto& [name, graph] : plan.programs) {
    const MemoryPlan memory = backend.plan(graph, plan.layout);
    if (plan.temporaries.empty()) {
      plan.live_set_bytes = memory.live_set_bytes;
      plan.biggest = memory.items;
    }
    plan.temporaries.push_back({name, memory.arena_bytes()});
    widen_blocks(workspace, memory.arena_blocks);
    plan.rows.push_back({name + ": inputs and outputs", memory.step_bytes + memory.readback_bytes});
  }
  plan.rows.push_back({"temporaries", std::accumulate(workspace.begin(), workspace.end(), int64_t{0})});
  if (settings.checkpoint_activations) {
    TrainSettings keeping = settings;
    keeping.checkpoint_activations = false;
    plan.saved_bytes = plan_training(model, keeping, shape, backend).total_bytes() - plan.total_bytes();
  }
  return plan;
}

Trainer::Trainer(Backend& backend, const Model& model, const TrainSettings& settings, const BatchShape& shape)
    : model_(model), settings_(settings), plan_(plan_training(model_, settings, shape, backend)) {
  store_ = backend.make_store(plan_.layout);
  write_constants(*store_, model_);
  const auto workspace = backend.make_workspace();
  std::vector<std::unique_ptr<Program>> programs;
  for (const auto& [name, graph] : plan_.programs) programs.push_back(backend.compile(graph, store_, {}, workspace));
  step_ = std::move(programs[0]);
  if (settings_.accumulate > 1) update_ = std::move(programs[1]);
  evaluation_ = std::move(programs.back());
  if (settings_.products == DType::f16) scale_ = settings_.loss_scale;
}

double Trainer::step(int64_t iteration, const Feed& feed) {
  const bool scaled = settings_.products == DType::f16;
  const double t = static_cast<double>(iteration);
  std::vector<float> schedule = {static_cast<float>(learning_rate_at(settings_, iteration)),
                                 static_cast<float>(1 - std::pow(settings_.beta1, t)),
                                 static_cast<float>(std::sqrt(1 - std::pow(settings_.beta2, t)))};
  if (scaled) schedule.push_back(0);
  Program& updating = update_ ? *update_ : *step_;
  for (;;) {
    if (scaled) schedule[3] = static_cast<float>(1 / scale_);
    updating.write("schedule", schedule);
    const double loss = run_batches(iteration, feed);
    if (settings_.clip > 0 || scaled) norm_ = static_cast<double>(updating.read("norm")[0]) / scale_;
    // Overflows of 16-bit floats change nothing, and the iteration begins again. Below a scale of 1 it is no overflow.
    if (!scaled || std::isfinite(norm_) || !std::isfinite(loss) || scale_ < 1) {
      if (scaled && iteration % 2000 == 0) scale_ *= 2;
      return loss;
    }
    scale_ /= 2;
  }
}

double Trainer::run_batches(int64_t iteration, const Feed& feed) {
  step_->write("loss_gradient",
               std::vector<float>{static_cast<float>(scale_ / static_cast<double>(settings_.accumulate))});
  double loss = 0;
  for (int64_t micro = 0; micro < settings_.accumulate; ++micro) {
    for (const auto& [name, values] : feed) {
      const size_t share = values.size() / static_cast<size_t>(settings_.accumulate);
      step_->write(std::string(name), values.subspan(static_cast<size_t>(micro) * share, share));
    }
    const int64_t draw = (iteration - 1) * settings_.accumulate + micro;
    step_->write("seed", std::vector<int32_t>{static_cast<int32_t>(settings_.seed), static_cast<int32_t>(draw)});
    if (update_) step_->write("first", std::vector<int32_t>{micro == 0});
    step_->run();
    loss += static_cast<double>(step_->read("loss")[0]);
  }
  if (update_) update_->run();
  return loss / static_cast<double>(settings_.accumulate);
}

double Trainer::evaluate(const Feed& feed) {
  write_feed(*evaluation_, feed);
  evaluation_->run();
  return static_cast<double>(evaluation_->read("loss")[0]);
}

std::vector<std::pair<std::string, const Program*>> Trainer::programs() const {
  if (!update_) return {{"step", step_.get()}};
  return {{"micro-batch", step_.get()}, {"update", update_.get()}};
}

void Trainer::save(const std::filesystem::path& folder) const {
  save_parameters(*store_, model_.parameters, folder / "model.safetensors");
  save_parameters(*store_, moment_specs(plan_.blocks), folder / "optimizer.safetensors");
}

void Trainer::load(const std::filesystem::path& folder) {
  load_parameters(*store_, model_.parameters, folder);
  load_parameters(*store_, moment_specs(plan_.blocks), folder / "optimizer.safetensors");
}

}  // namespace vkformer
