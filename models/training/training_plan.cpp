#include "models/training/training_plan.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "runtime/check.h"

namespace vkformer {

namespace {

bool train_the_same(const std::vector<ParameterBlock>& a, const std::vector<ParameterBlock>& b) {
  return std::ranges::equal(a, b, [](const ParameterBlock& x, const ParameterBlock& y) {
    return x.trained == y.trained && x.parameters == y.parameters;
  });
}

/// Elements of each trained block.
std::vector<int64_t> trained_elements(const TrainingPlan& plan) {
  std::vector<int64_t> elements;
  for (size_t i = 0; i < plan.blocks.size(); ++i)
    if (plan.blocks[i].trained) elements.push_back(plan.layout.find(block_name("parameters", i))->type.elements());
  return elements;
}

StoreLayout store_layout(const TrainingPlan& plan) {
  StoreLayout layout;
  add_model(layout, *plan.model, plan.blocks);
  const BlockMemory states = plan.settings.offload_optimizer ? BlockMemory::host : BlockMemory::device;
  for (std::string_view state : state_names(plan.settings)) add_parameter_blocks(layout, state, plan.blocks, states);
  return layout;
}

void add_gradient_sums(TrainingPlan& plan) {
  const std::vector<int64_t> elements = trained_elements(plan);
  for (size_t i = 0; i < elements.size(); ++i) {
    const std::string name = block_name("gradient", i);
    plan.layout.add_block(name, std::vector<StoreLayout::Part>{{name + ".sum", {{elements[i]}, DType::f32}}});
  }
}

void add_program(TrainingPlan& plan, const std::string& name, Graph graph, const Backend& backend) {
  MemoryPlan memory = backend.plan(graph, plan.layout);
  plan.programs.push_back({name, std::move(graph), std::move(memory)});
}

std::string suffix_of(const BatchShape& shape) { return fmt::format(" {} x {}", shape.rows, shape.positions); }

}  // namespace

void TrainingPlan::add_batch(const BatchShape& shape, const Backend& backend) {
  const bool first = batches.empty(), accumulates = settings.accumulate > 1;
  const MixedPrecision precision = settings.precision(backend.facts());
  TrainingGraph training = build_loss_and_gradients(*model, shape, settings.checkpoint_activations, precision);
  std::vector<ParameterBlock> trained = training_blocks(*model, training.gradients, backend.facts().max_allocation);
  if (first) {
    blocks = std::move(trained);
    layout = store_layout(*this);
    if (accumulates) add_gradient_sums(*this);
  } else {
    check(train_the_same(blocks, trained), "batches of {} x {} train other parameters than those of {} x {}",
          shape.rows, shape.positions, batches[0].shape.rows, batches[0].shape.positions);
  }
  const Values joined = join_gradients(training, *model, blocks);
  if (accumulates)
    append_accumulation(training.graph, joined);
  else
    append_update(training.graph, blocks, joined, settings);

  PlannedBatch batch{.shape = shape, .classes = training.classes, .gradients = programs.size()};
  const std::string suffix = first ? "" : suffix_of(shape);
  add_program(*this, (accumulates ? "micro-batch" : "step") + suffix, std::move(training.graph), backend);
  if (accumulates && first)
    add_program(*this, "update", build_update(blocks, trained_elements(*this), settings), backend);
  batch.evaluation = programs.size();
  add_program(*this, "evaluation" + suffix, build_evaluation(*model, shape, precision), backend);
  batches.push_back(batch);
}

void TrainingPlan::add_evaluation(const BatchShape& shape, const Backend& backend) {
  PlannedBatch batch{.shape = shape, .evaluation = programs.size()};
  Graph graph = build_evaluation(*model, shape, settings.precision(backend.facts()), &batch.classes);
  add_program(*this, "evaluation" + suffix_of(shape), std::move(graph), backend);
  batches.push_back(batch);
}

std::vector<TrainingPlan::Row> TrainingPlan::rows() const {
  // Moments and sums have the layout of the trained parameters.
  const std::vector<int64_t> elements = trained_elements(*this);
  const int64_t trained = size_of(DType::f32) * std::accumulate(elements.begin(), elements.end(), int64_t{0});
  const int64_t states = trained * std::ssize(state_names(settings)), sums = settings.accumulate > 1 ? trained : 0;
  const int64_t host_states = settings.offload_optimizer ? states : 0, host_weights = layout.host_bytes() - host_states;
  std::vector<Row> rows = {{"parameters and constants", layout.total_bytes() - states - sums - host_weights}};
  if (host_weights > 0) rows.push_back({"frozen parameters in host memory", host_weights});
  rows.push_back({fmt::format("AdamW moments{}{}", settings.moving_average > 0 ? ", moving average" : "",
                              settings.offload_optimizer ? ", in host memory" : ""),
                  states});
  if (settings.accumulate > 1) rows.push_back({"gradient sums", sums});
  std::vector<int64_t> workspace;
  Row others{fmt::format("{} further shapes: inputs and outputs", batches.size() - 1), 0};
  for (size_t i = 0; i < programs.size(); ++i) {
    const MemoryPlan& memory = programs[i].memory;
    widen_blocks(workspace, memory.arena_blocks);
    if (i < programs_of_first_shape())
      rows.push_back({programs[i].name + ": inputs and outputs", memory.step_bytes + memory.readback_bytes});
    else
      others.bytes += memory.step_bytes + memory.readback_bytes;
  }
  if (others.bytes > 0) rows.push_back(others);
  rows.push_back({"temporaries", std::accumulate(workspace.begin(), workspace.end(), int64_t{0})});
  return rows;
}

std::vector<TrainingPlan::Row> TrainingPlan::temporaries() const {
  std::vector<Row> rows;
  for (size_t i = 0; i < programs_of_first_shape(); ++i)
    rows.push_back({programs[i].name, programs[i].memory.arena_bytes()});
  return rows;
}

size_t TrainingPlan::trained_blocks() const {
  return static_cast<size_t>(std::ranges::count_if(blocks, &ParameterBlock::trained));
}

int64_t TrainingPlan::total_bytes() const {
  int64_t bytes = 0;
  for (const Row& row : rows()) bytes += row.bytes;
  return bytes;
}

int64_t TrainingPlan::device_bytes() const { return total_bytes() - layout.host_bytes(); }

TrainingPlan plan_training(const Model& model, const TrainSettings& settings, const std::vector<BatchShape>& shapes,
                           const Backend& backend, const std::vector<BatchShape>& evaluated) {
  check(settings.accumulate >= 1, "an accumulation of {} micro-batches was asked for; at least 1 is needed",
        settings.accumulate);
  check(std::has_single_bit(static_cast<uint64_t>(settings.gradient_parts)),
        "a gradient in {} parts was asked for; they are added in a tree of pairs: 1, 2, 4, 8, ..",
        settings.gradient_parts);
  check(settings.gradient_parts <= settings.accumulate,
        "the gradient of {} micro-batches can't be added up in {} parts; accumulate as many at least",
        settings.accumulate, settings.gradient_parts);
  backend.check_one_device("training (where several processes train one model, each has its own)");
  check(!shapes.empty(), "training was asked for without the shape of a batch");
  TrainingPlan plan{.model = &model, .settings = settings};
  for (const BatchShape& shape : shapes) plan.add_batch(shape, backend);
  for (const BatchShape& shape : evaluated) plan.add_evaluation(shape, backend);
  return plan;
}

TrainingPlan plan_evaluation(const Model& model, const TrainSettings& settings, const std::vector<BatchShape>& shapes,
                             const Backend& backend) {
  check(!shapes.empty(), "an evaluation was asked for without the shape of a batch");
  TrainingPlan plan{.model = &model, .settings = settings};
  plan.blocks = training_blocks(model, Values(model.parameters.size()), backend.facts().max_allocation);
  plan.layout = store_layout(plan);
  for (const BatchShape& shape : shapes) plan.add_evaluation(shape, backend);
  return plan;
}

int64_t bytes_saved_by_recomputing(const TrainingPlan& plan, const Backend& backend) {
  TrainSettings keeping = plan.settings;
  keeping.checkpoint_activations = false;
  std::vector<BatchShape> shapes, evaluated;
  for (const TrainingPlan::PlannedBatch& batch : plan.batches)
    (batch.gradients ? shapes : evaluated).push_back(batch.shape);
  return plan_training(*plan.model, keeping, shapes, backend, evaluated).total_bytes() - plan.total_bytes();
}

}  // namespace vkformer
