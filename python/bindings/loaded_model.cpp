#include "python/bindings/loaded_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/adapters/adapter_head.h"
#include "models/embedding/recipe.h"
#include "models/families/config_keys.h"
#include "models/families/registry.h"
#include "models/generation/search_by_length.h"
#include "models/generation/text_likelihood.h"
#include "models/model_files.h"
#include "models/model_folder.h"
#include "models/parameters.h"
#include "models/stored_weights.h"
#include "models/weights.h"
#include "runtime/check.h"

namespace vkformer::python {

namespace {

constexpr size_t most_programs = 4;
/// Caches of like lengths are one generator's.
constexpr int64_t capacity_step = 256;

/// Sources are padded to multiples of it, so that few generators do.
constexpr int64_t source_step = 32;

int64_t stepped(int64_t length, int64_t step, const Model& model) {
  const int64_t whole = (length + step - 1) / step * step;
  return model.context > 0 ? std::min(whole, model.context) : whole;
}

/// Whether a text's positions depend on how long it may become (Phi-3's longrope).
bool depends_on_length(const Model& model) {
  const auto scaling = model.config->find("rope_scaling");
  return scaling != model.config->end() && scaling->is_object() && scaling->contains("long_factor");
}

/// Without what is in front of what was written, and without its end.
void leave_written(std::vector<Hypothesis>& hypotheses, size_t given, const GenerationConfig& config) {
  for (Hypothesis& hypothesis : hypotheses) {
    auto& ids = hypothesis.ids;
    ids.erase(ids.begin(), ids.begin() + static_cast<int64_t>(std::min(given, ids.size())));
    if (!ids.empty() && config.ends(ids.back())) ids.pop_back();
  }
}

}  // namespace

std::shared_ptr<LoadedModel> LoadedModel::load(const std::filesystem::path& path, const std::string& device,
                                               const std::string& dtype, const std::filesystem::path& adapter,
                                               bool profile) {
  const auto folder = resolve_model_folder(path);
  std::optional<AdapterFiles> files;
  if (!adapter.empty()) files.emplace(resolve_adapter_folder(adapter));
  auto model = std::make_shared<Model>(load_model(folder, files ? &*files : nullptr));
  store_weights_as(*model, folder, dtype);
  if (files) files->adapt(*model);
  const Weights weights(model->parameters, folder);
  auto session = Session::open(device, profile);
  auto store = make_model_store(*session->backend, *model);
  weights.load(*store);
  if (files) files->load(*store, *model);
  auto workspace = session->backend->make_workspace();
  auto texts = std::make_shared<FolderTexts>(folder, *model->config);
  return std::make_shared<LoadedModel>(
      LoadedWeights{std::move(session), std::move(model), std::move(store), std::move(workspace)}, std::move(texts));
}

LoadedModel::~LoadedModel() {
  const auto session = weights_.session;
  free_on(*session, [this] {
    programs_.clear();
    generator_.reset();
    embedder_.reset();
    classifier_.reset();
    masked_words_.reset();
    tagger_.reset();
    answerer_.reset();
    ear_.reset();
    weights_ = {};
  });
}

std::vector<std::string> LoadedModel::labels() const {
  if (!classifies(model()) && model().task != Task::tag) return {};
  return classes_of(JsonObject::make(*model().config, "config.json"), 1);
}

const ParameterSpec& LoadedModel::parameter(const std::string& name) const {
  const auto found = std::ranges::find(model().parameters, name, &ParameterSpec::name);
  check(found != model().parameters.end(), "the model has no parameter '{}'", name);
  return *found;
}

Program& LoadedModel::program(const BatchShape& shape, Result result) {
  const auto found = std::ranges::find_if(
      programs_, [&](const Recorded& recorded) { return recorded.shape == shape && recorded.result == result; });
  if (found != programs_.end()) {
    programs_.splice(programs_.begin(), programs_, found);
    return *programs_.front().program;
  }
  Graph graph;
  Pass pass = add_inputs(graph, model(), shape);
  if (result == Result::logits) {
    graph.mark_output(add_logits(graph, model(), pass), "result");
  } else {
    if (model().has_encoder()) pass.memory = model().encode(graph, pass);
    graph.mark_output(model().hidden(graph, pass), "result");
  }
  graph = as_stored(std::move(graph), model(), session().backend->facts());
  if (programs_.size() == most_programs) programs_.pop_back();
  programs_.push_front(
      {shape, result, session().backend->compile(std::move(graph), weights_.store, {}, weights_.workspace)});
  return *programs_.front().program;
}

Floats LoadedModel::run(const IdBatch& batch, Result result) {
  const Running running(session());
  Program& running_program = program(batch.shape, result);
  write_feed(running_program, batch.feed());
  running_program.run();
  const Graph& graph = running_program.graph();
  const auto shape = graph.shape(graph.find("result")).dimensions();
  Floats floats{{shape.begin(), shape.end()}, running_program.read("result")};
  check_results(floats.values, static_cast<size_t>(floats.shape.back()));
  timings_ = {{result == Result::logits ? "logits" : "hidden_states", running_program.timings()}};
  return floats;
}

std::vector<ProgramTimings> LoadedModel::timings() {
  const Running running(session());
  return timings_;
}

std::vector<AttentionMap> LoadedModel::attention(const InspectedText& text) {
  const Running running(session());
  return attention_maps(*session().backend, model(), weights_.store, text);
}

void LoadedModel::keep_timings(const Generator& generator) {
  timings_.clear();
  for (const auto& [name, program] : {std::pair{"encode", generator.encoder_program()},
                                      {"prefill", generator.prefill_program()},
                                      {"decode", generator.decode_program()}})
    if (program) timings_.push_back({name, program->timings()});
}

Generator& LoadedModel::generator(GeneratorShape shape) {
  if (!depends_on_length(model())) shape.capacity = stepped(shape.capacity, capacity_step, model());
  if (!generator_ || !(generator_shape_ == shape)) {
    generator_.reset();
    generator_ = std::make_unique<Generator>(*session().backend, model(), weights_.store, shape, weights_.workspace);
    generator_shape_ = shape;
  }
  return *generator_;
}

std::vector<std::vector<float>> LoadedModel::log_probabilities(const std::vector<std::vector<int32_t>>& rows) {
  check(model().generates() && !model().has_encoder(), "this {} model is no decoder; logits() gives what it computes",
        model().family);
  const Running running(session());
  std::vector<std::vector<float>> results;
  Interrupts interrupts;
  for (const auto& ids : rows) {
    const int64_t positions = std::max<int64_t>(2, std::min(most_positions(), std::ssize(ids) - 1));
    const auto windows = text_windows(ids.size(), {.positions = positions, .shared = positions / 2});
    Generator& scorer = generator({.capacity = positions});
    const auto scores = text_log_probabilities(scorer, ids, windows, {}, [&](size_t) { interrupts.check(); });
    results.emplace_back(scores.begin(), scores.end());
    keep_timings(scorer);
  }
  return results;
}

std::vector<std::vector<Hypothesis>> LoadedModel::write_batch(std::span<const std::vector<int32_t>> prompts,
                                                              size_t first, const Writing& asked) {
  int64_t longest = 0;
  for (const auto& ids : prompts) longest = std::max(longest, std::ssize(ids));
  PreparedSearch prepared =
      prepare_search(model(), asked.config, {prompts.begin(), prompts.end()}, stepped(longest, source_step, model()));
  for (size_t i = 0; i < prompts.size(); ++i) prepared.search->set_number(static_cast<int64_t>(i), first + i);
  Generator& writer = generator(prepared.shape);
  writer.prepare(prepared.prompt);
  const size_t given = model().has_encoder() ? 1 : prompts.front().size();
  Interrupts interrupts;
  run_search(writer, prepared, {}, [&] {
    interrupts.check();
    return !asked.goes_on || asked.goes_on(prepared.search->ids(0).subspan(given));
  });
  keep_timings(writer);
  if (prepared.search->done()) return prepared.search->results();
  const auto ids = prepared.search->ids(0);
  return {{Hypothesis{.ids = {ids.begin(), ids.end()}}}};
}

std::vector<std::vector<Hypothesis>> LoadedModel::write(const std::vector<std::vector<int32_t>>& prompts,
                                                        const Writing& asked) {
  check(model().generates(), "this {} model does not write text", model().family);
  check(asked.batch > 0, "batch_size must be at least 1");
  const Running running(session());
  std::vector<std::vector<Hypothesis>> results;
  while (results.size() < prompts.size()) {
    const auto most = static_cast<size_t>(depends_on_length(model()) ? 1 : asked.batch);
    const size_t first = results.size(), count = std::min(prompts.size() - first, most);
    for (auto& best : write_batch(std::span(prompts).subspan(first, count), first, asked)) {
      leave_written(best, model().has_encoder() ? 1 : prompts[results.size()].size(), asked.config);
      results.push_back(std::move(best));
    }
  }
  return results;
}

std::vector<std::vector<Hypothesis>> LoadedModel::write_by_length(const std::vector<std::vector<int32_t>>& sources,
                                                                  const GenerationConfig& config, int64_t positions) {
  check(positions > 0, "batch_tokens must be at least 1");
  const Running running(session());
  std::vector<std::vector<Hypothesis>> results(sources.size());
  Interrupts interrupts;
  const SearchByLength search{.config = config,
                              .positions = positions,
                              .on_step = [&] { interrupts.check(); },
                              .ran = [this](const Generator& generator, int64_t, int64_t) { keep_timings(generator); }};
  search.run(*session().backend, model(), weights_.store, sources, [&](size_t source, std::vector<Hypothesis> best) {
    leave_written(best, 1, config);
    results[source] = std::move(best);
  });
  return results;
}

}  // namespace vkformer::python
