#include "models/tuning/model_tuner.h"
#include "models/parameters.h"

namespace vkformer {

namespace {

/// Values that kernels take as long for as for real ones: tokens all over the vocabulary, no padding.
void fill_inputs(Program& program, const Model& model, int64_t position) {
  for (Value input : program.graph().inputs()) {
    const ValueInfo& info = program.graph().info(input);
    const auto count = static_cast<size_t>(info.type.elements());
    if (info.type.dtype == DType::f32) {  // loss scale and schedule: small, so that the weights stay finite
      program.write(info.name, std::vector<float>(count, 1e-3f));
      continue;
    }
    std::vector<int32_t> values(count, 0);
    const auto fill = [&](auto&& value) {
      for (size_t i = 0; i < count; ++i) values[i] = static_cast<int32_t>(value(static_cast<int64_t>(i)));
    };
    if (info.name == "ids") fill([&](int64_t i) { return i * 7919 % model.vocabulary; });
    if (info.name == "source") fill([&](int64_t i) { return i * 7919 % model.input_vocabulary(); });
    if (info.name.ends_with("mask") || info.name == "texts") fill([](int64_t) { return 1; });
    if (info.name == "position" || info.name == "first_positions") fill([&](int64_t) { return position; });
    if (info.name == "last") {  // the last position of each row
      const int64_t positions = program.graph().shape(program.graph().find("ids"))[1];
      fill([&](int64_t row) { return (row + 1) * positions - 1; });
    }
    program.write(info.name, values);
  }
}

void tune_one(Backend& backend, const Model& model, const std::string& name, const Graph& graph,
              const std::shared_ptr<Store>& store, int64_t position, Tuning& tuning, const TuneObserver& observer) {
  const auto fill = [&](Program& program) { fill_inputs(program, model, position); };
  const TunedProgram tuned = tune_program(backend, graph, store, fill, tuning, [&](int done, int total) {
    if (observer.progress) observer.progress(name, done, total);
  });
  if (observer.report) observer.report(name, tuned);
}

std::shared_ptr<Store> random_store(Backend& backend, const Model& model, const StoreLayout& layout) {
  auto store = backend.make_store(layout);
  write_constants(*store, model);
  initialize(*store, model.parameters, 1);
  return store;
}

}  // namespace

void tune_training(Backend& backend, const TrainingPlan& plan, Tuning& tuning, const TuneObserver& observer) {
  const auto store = random_store(backend, *plan.model, plan.layout);
  for (const TrainingPlan::PlannedProgram& program : plan.programs)
    tune_one(backend, *plan.model, program.name, program.graph, store, 0, tuning, observer);
}

void tune_generation(Backend& backend, const Model& model, const GeneratorShape& asked,
                     std::span<const int64_t> prompts, Tuning& tuning, const TuneObserver& observer, int64_t guesses) {
  const auto blocks = parameter_blocks(model.parameters, backend.facts().max_allocation);
  const GenerationPlan plan = plan_generation(model, asked, blocks, &backend.facts());
  const auto store = random_store(backend, model, plan.layout);
  for (const GenerationProgram& program : generation_programs(model, plan, prompts, backend.facts(), guesses))
    tune_one(backend, model, program.name, program.graph, store, program.position, tuning, observer);
}

}  // namespace vkformer
