#include "tools/cli/host_weights.h"

#include <algorithm>
#include <numeric>

#include "models/parameters.h"
#include "models/stored_weights.h"
#include "models/training/training_batch.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

constexpr int64_t usual_batch_positions = 4096;

/// What programs take that never run at the same time.
class ProgramBytes {
 public:
  ProgramBytes(const Backend& backend, const StoreLayout& layout) : backend_(backend), layout_(layout) {}
  void add(const Graph& graph) {
    const MemoryPlan plan = backend_.plan(graph, layout_);
    widen_blocks(workspace_, plan.arena_blocks);
    others_ += plan.step_bytes + plan.readback_bytes;
  }
  int64_t sum() const { return std::accumulate(workspace_.begin(), workspace_.end(), others_); }

 private:
  const Backend& backend_;
  const StoreLayout& layout_;
  std::vector<int64_t> workspace_;
  int64_t others_ = 0;
};

StoreLayout layout_of(const Model& model, const DeviceFacts& facts) {
  StoreLayout layout;
  add_model(layout, model, parameter_blocks(model.parameters, facts.max_allocation));
  return layout;
}

/// Of a usual batch.
Graph batch_graph(const Model& model) {
  const int64_t context = model.context > 0 ? std::min(model.context, usual_positions) : usual_positions,
                positions = model.reads_ids() ? context : model.picture.positions();
  const BatchShape shape = usual_batch(model, std::max<int64_t>(1, usual_batch_positions / positions), positions);
  Graph graph;
  graph.mark_output(add_logits(graph, model, add_inputs(graph, model, shape)), "logits");
  return graph;
}

/// Planning programs takes its time, and temporaries are less than weights and caches wherever memory is scarce.
bool has_plenty(const StoreLayout& layout, const DeviceFacts& facts) {
  return std::cmp_less(layout.total_bytes(), facts.memory_free / 4);
}

void tell(const HostWeights& placed, const Model& model, const Backend& backend) {
  if (placed.bytes > 0) say("{}", host_weights_text(placed, model, backend.facts()));
}

}  // namespace

int64_t device_bytes(const Model& model, const GeneratorShape& shape, const Backend& backend) {
  const DeviceFacts& facts = backend.facts();
  const GenerationPlan plan = plan_generation(model, shape, layout_of(model, facts), &facts);
  ProgramBytes programs(backend, plan.layout);
  if (model.has_encoder()) programs.add(build_encoder(model, plan.shape, &facts));
  for (const RunShape& run : prompt_runs(model, plan.shape, std::span(&plan.shape.capacity, 1)))
    programs.add(build_generation(model, plan.shape, run, &facts));
  programs.add(build_generation(model, plan.shape, 1, &facts));
  return plan.layout.device_bytes() + programs.sum();
}

HostWeights fit_device(Model& model, const Backend& backend, const std::function<int64_t(const Model&)>& needed,
                       bool frozen) {
  const DeviceFacts& facts = backend.facts();
  const auto free = static_cast<int64_t>(facts.memory_free);
  if (facts.host_memory_free == 0 || needed(model) <= free) return {};
  // What the driver takes for itself, and what others take meanwhile.
  const HostWeights placed = fit_weights(model, free - free / 32, needed, frozen);
  if (needed(model) <= free && std::cmp_less_equal(placed.bytes, facts.host_memory_free)) return placed;
  for (ParameterSpec& parameter : model.parameters) parameter.in_host = false;
  return {};
}

HostWeights place_generator(Model& model, const GeneratorShape& shape, const Backend& backend, int64_t beside) {
  const DeviceFacts& facts = backend.facts();
  if (facts.host_memory_free == 0 ||
      has_plenty(plan_generation(model, shape, layout_of(model, facts), &facts).layout, facts))
    return {};
  return fit_device(model, backend, [&](const Model& placed) { return beside + device_bytes(placed, shape, backend); });
}

void make_room(Model& model, const GeneratorShape& shape, const Backend& backend, int64_t beside) {
  tell(place_generator(model, shape, backend, beside), model, backend);
}

namespace {

HostWeights place_run(Model& model, const Graph& graph, const Backend& backend) {
  const auto needed = [&](const Model& placed) {
    const StoreLayout layout = layout_of(placed, backend.facts());
    ProgramBytes programs(backend, layout);
    programs.add(graph);
    return layout.device_bytes() + programs.sum();
  };
  return fit_device(model, backend, needed);
}

}  // namespace

void make_room(Model& model, const Graph& graph, const Backend& backend) {
  tell(place_run(model, graph, backend), model, backend);
}

HostWeights place_usual(Model& model, const Backend& backend) {
  const DeviceFacts& facts = backend.facts();
  if (facts.host_memory_free == 0 || has_plenty(layout_of(model, facts), facts)) return {};
  if (!model.generates()) return place_run(model, as_stored(batch_graph(model), model, backend.facts()), backend);
  constexpr int64_t rows = 32, length = 64;  // as translate's batches of 2048 positions
  return place_generator(model, {.rows = rows, .capacity = length, .sources = rows, .source_positions = length},
                         backend);
}

void make_room(Model& model, const Backend& backend) { tell(place_usual(model, backend), model, backend); }

std::string host_weights_text(const HostWeights& placed, const Model& model, const DeviceFacts& facts,
                              std::string_view reader) {
  if (reader.empty()) reader = model.generates() ? "token" : "batch";
  int64_t all = 0;
  for (const ParameterSpec& parameter : model.parameters) all += parameter.stored().bytes();
  return fmt::format(
      "{} of {} of weights lie in host memory: {} has {} free; a {} reads {} of them {}", size_text(placed.bytes),
      size_text(all), facts.name, size_text(static_cast<int64_t>(facts.memory_free)), reader,
      size_text(static_cast<int64_t>(placed.read)), facts.one_memory() ? "there, as fast as its own" : "over the bus");
}

}  // namespace vkformer
