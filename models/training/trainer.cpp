#include "models/training/trainer.h"

#include <algorithm>
#include <cmath>

#include "models/training/trained_files.h"
#include "models/weights.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

std::string state_name(std::string_view state, const ParameterSpec& parameter) {
  return fmt::format("{}/{}", state, parameter.name);
}

/// What the update keeps of the trained blocks, so that it is saved and loaded like parameters.
std::vector<ParameterSpec> state_specs(const TrainingPlan& plan) {
  std::vector<ParameterSpec> specs;
  for (std::string_view state : state_names(plan.settings))
    for (const ParameterBlock& block : plan.blocks)
      for (const ParameterSpec* parameter : block.parameters)
        if (block.trained) specs.push_back({state_name(state, *parameter), parameter->shape});
  return specs;
}

}  // namespace

Trainer::Trainer(Backend& backend, TrainingPlan plan, ProcessGroup& group)
    : backend_(backend), plan_(std::move(plan)), group_(group) {
  check(group.size() <= settings().gradient_parts,
        "{} processes share {} parts of a gradient; more parts than processes are needed, or as many", group.size(),
        settings().gradient_parts);
  for (size_t i = 0; settings().gradient_parts > 1 && i < plan_.trained_blocks(); ++i)
    gradients_.emplace_back(static_cast<size_t>(plan_.layout.find(block_name("gradient", i))->type.elements()));
  store_ = backend.make_store(plan_.layout);
  write_constants(*store_, *plan_.model);
  workspace_ = backend.make_workspace();
  compile_planned();
  if (settings().scales_loss()) scale_ = settings().loss_scale;
}

void Trainer::compile_planned() {
  for (size_t i = programs_.size(); i < plan_.programs.size(); ++i)
    programs_.push_back(backend_.compile(plan_.programs[i].graph, store_, {}, workspace_));
}

const TrainingPlan::PlannedBatch& Trainer::planned(const BatchShape& shape) {
  const auto known = std::ranges::find(plan_.batches, shape, &TrainingPlan::PlannedBatch::shape);
  if (known != plan_.batches.end()) return *known;
  plan_.add_batch(shape, backend_);
  compile_planned();
  return plan_.batches.back();
}

Program& Trainer::gradients_of(const BatchShape& shape) {
  const TrainingPlan::PlannedBatch& batch = planned(shape);
  check(batch.gradients.has_value(), "batches of {} x {} were planned for evaluations alone", shape.rows,
        shape.positions);
  return *programs_[*batch.gradients];
}

double Trainer::step(int64_t iteration, const Feed& feed) {
  const auto count = static_cast<size_t>(settings().accumulate);
  std::vector<TrainingBatch> batches(count, {plan_.batches[0].shape, {}});
  for (const auto& [name, values] : feed)
    std::visit(
        [&](const auto& all) {
          const size_t share = all.size() / count;
          for (size_t i = 0; i < count; ++i) batches[i].feed.emplace_back(name, all.subspan(i * share, share));
        },
        values);
  return step(iteration, batches);
}

double Trainer::step(int64_t iteration, std::span<const TrainingBatch> batches) {
  check(std::ssize(batches) == settings().accumulate, "{} micro-batches were given for an iteration of {}",
        batches.size(), settings().accumulate);
  return step(iteration, [&](int64_t micro) { return batches[static_cast<size_t>(micro)]; });
}

double Trainer::step(int64_t iteration, const BatchSource& batches) {
  const bool scaled = settings().scales_loss();
  const double before = scale_;
  for (;;) {
    const double loss = run_batches(iteration, batches);
    // Overflows of 16-bit floats change nothing, and the iteration begins again. Below a scale of 1 it is no overflow.
    if (!scaled || std::isfinite(norm_) || !std::isfinite(loss) || scale_ < 1) {
      // The first iteration finds the scale. Later a batch that needs far less is an outlier, and costs one halving.
      if (scaled && iteration > 1) scale_ = std::max(scale_, before / 2);
      if (scaled && iteration % 2000 == 0) scale_ *= 2;
      overflowed_ = scaled && !(std::isfinite(loss) && std::isfinite(norm_));
      return loss;
    }
    scale_ /= 2;
  }
}

int64_t Trainer::count_all_targets(const BatchSource& batches) {
  int64_t targets = 0;
  for (int64_t micro = 0; micro < settings().accumulate; ++micro) targets += targets_of(batches(micro));
  return targets;
}

/// Adds up the gradients of one part of an iteration's micro-batches; a single one updates at once.
MeanLoss Trainer::run_part(int64_t iteration, int64_t part, const BatchSource& batches, int64_t all_targets) {
  const int64_t count = settings().accumulate, parts = settings().gradient_parts;
  const int64_t begin = count * part / parts, end = count * (part + 1) / parts;
  MeanLoss loss;
  for (int64_t micro = begin; micro < end; ++micro) {
    const TrainingBatch batch = batches(micro);
    Program& program = gradients_of(batch.shape);
    write_feed(program, batch.feed);
    const int64_t targets = targets_of(batch);
    if (count == 1) all_targets = targets;
    // A batch's mean counts by its targets.
    const double weight =
        scale_ * static_cast<double>(targets) / static_cast<double>(std::max<int64_t>(all_targets, 1));
    program.write("loss_gradient", std::vector<float>{static_cast<float>(weight)});
    const int64_t draw = (iteration - 1) * count + micro;
    program.write("seed", std::vector<int32_t>{static_cast<int32_t>(settings().seed), static_cast<int32_t>(draw)});
    if (count > 1)
      program.write("first", std::vector<int32_t>{micro == begin});
    else
      write_update(program, iteration);
    program.run();
    if (count == 1) read_norm(program);
    loss.add(static_cast<double>(program.read("loss")[0]), targets);
  }
  return loss;
}

double Trainer::run_batches(int64_t iteration, const BatchSource& batches) {
  const bool accumulates = settings().accumulate > 1;
  const int64_t parts = settings().gradient_parts, share = parts / group_.size(), first = group_.rank() * share;
  std::vector<double> losses(static_cast<size_t>(parts));  // over the targets of each part; of other processes 0
  for (TreeSum& gradient : gradients_) gradient.begin();
  MeanLoss loss;
  group_.together([&] {
    // Each batch is made twice rather than all of them kept: how many there are says nothing of the host's memory.
    if (accumulates) loss.targets = count_all_targets(batches);
    for (int64_t part = first; part < first + share; ++part) {
      const MeanLoss of_part = run_part(iteration, part, batches, loss.targets);
      losses[static_cast<size_t>(part)] = of_part.sum;
      if (!accumulates) loss.targets = of_part.targets;
      for (size_t i = 0; i < gradients_.size(); ++i) {
        store_->read(block_name("gradient", i), gradients_[i].next());
        gradients_[i].add();
      }
    }
  });
  std::vector<std::span<const float>> sums;
  for (TreeSum& gradient : gradients_) {
    const std::span<float> sum = gradient.sum();
    group_.add(sum);
    sums.push_back(sum);
  }
  group_.together([&] {
    for (size_t i = 0; i < sums.size(); ++i) store_->write(block_name("gradient", i), sums[i]);
    if (accumulates) update(iteration);
  });
  group_.add(losses);
  if (!group_.leads()) norm_ = 0;
  group_.add(std::span(&norm_, 1));  // one process's: different devices must not disagree about what overflowed
  for (const double part : losses) loss.sum += part;
  return loss.value();
}

void Trainer::update(int64_t iteration) {
  Program& program = *programs_[TrainingPlan::update];
  write_update(program, iteration);
  program.run();
  read_norm(program);
}

void Trainer::read_norm(Program& updated) {
  if (settings().clip > 0 || settings().scales_loss()) norm_ = static_cast<double>(updated.read("norm")[0]) / scale_;
}

void Trainer::write_update(Program& program, int64_t iteration) const {
  program.write("schedule", adamw_schedule(settings(), iteration, scale_));
  if (settings().moving_average > 0)
    program.write("average_rate", std::vector<float>{static_cast<float>(average_rate_at(settings(), iteration))});
}

MeanLoss Trainer::evaluate(const TrainingBatch& batch) {
  const TrainingPlan::PlannedBatch& known = planned(batch.shape);
  Program& program = *programs_[known.evaluation];
  MeanLoss loss;
  const int64_t targets = count_targets(batch, known.classes);
  write_feed(program, batch.feed);
  program.run();
  loss.add(static_cast<double>(program.read("loss")[0]), targets);
  return loss;
}

void Trainer::use_moving_average() {
  check(settings().moving_average > 0, "no moving average is kept");
  for (const ParameterBlock& block : plan_.blocks)
    for (const ParameterSpec* parameter : block.parameters)
      if (block.trained) store_->write(parameter->name, store_->read(state_name(average_name, *parameter)));
}

std::vector<std::pair<std::string, const Program*>> Trainer::programs() const {
  std::vector<std::pair<std::string, const Program*>> list;
  for (size_t i = 0; i < programs_.size(); ++i)
    if (std::ranges::none_of(plan_.batches, [&](const auto& batch) { return batch.evaluation == i; }))
      list.emplace_back(plan_.programs[i].name, programs_[i].get());
  return list;
}

void Trainer::save(const std::filesystem::path& folder) const {
  save_trained(*store_, *plan_.model, folder);
  save_parameters(*store_, state_specs(plan_), folder / "optimizer.safetensors");
}

void Trainer::load(const std::filesystem::path& folder) {
  load_trained(*store_, *plan_.model, folder);
  load_parameters(*store_, state_specs(plan_), folder / "optimizer.safetensors");
}

}  // namespace vkformer
