#include "python/bindings/python_trainer.h"

#include "models/families/registry.h"
#include "models/model_files.h"
#include "models/model_folder.h"
#include "models/stored_weights.h"
#include "models/weights.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer::python {

namespace {

constexpr const char* state_file = "python_trainer.json";
/// What texts need beside a config, as it is.
constexpr const char* text_files[] = {target_tokenizer_file, generation_file, "tokenizer_config.json",
                                      "special_tokens_map.json", "chat_template.jinja"};

/// Calls visit(name, value) for each setting.
template <class Lora, class Visit>
void visit_lora(Lora& lora, const Visit& visit) {
  visit("r", lora.config.rank);
  visit("alpha", lora.config.alpha);
  visit("dropout", lora.config.dropout);
  visit("rslora", lora.config.rslora);
  visit("targets", lora.targets);
}

template <class Options, class Visit>
void visit_options(Options& options, const Visit& visit) {
  auto& s = options.settings;
  visit("batch_size", options.batch_size);
  visit("context", options.context);
  visit("profile", options.profile);
  visit("label_smoothing", options.label_smoothing);
  visit("accumulate", s.accumulate);
  visit("iterations", s.iterations);
  visit("learning_rate", s.learning_rate);
  visit("min_learning_rate", s.min_learning_rate);
  visit("schedule", s.schedule);
  visit("warmup", s.warmup);
  visit("beta1", s.beta1);
  visit("beta2", s.beta2);
  visit("epsilon", s.epsilon);
  visit("weight_decay", s.weight_decay);
  visit("moving_average", s.moving_average);
  visit("clip", s.clip);
  visit("seed", s.seed);
  visit("checkpoint_activations", s.checkpoint_activations);
  visit("precision", s.products);
  visit("loss_scale", s.loss_scale);
}

void take_value(const std::string& name, const nlohmann::json& given, auto& value) {
  using T = std::decay_t<decltype(value)>;
  if constexpr (std::is_same_v<T, bool>) {
    check(given.is_boolean(), "{} must be True or False", name);
    value = given.get<bool>();
  } else if constexpr (std::is_same_v<T, Schedule>) {
    check(given.is_string(), "{} must be the name of one, like \"cosine\"", name);
    value = schedule_named(given.get<std::string>());
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    check(given.is_array() && std::ranges::all_of(given, &nlohmann::json::is_string), "{} must be a list of str", name);
    value = given.get<T>();
  } else if constexpr (std::is_same_v<T, DType>) {
    check(given.is_string(), "{} must be \"f32\", \"f16\" or \"bf16\"", name);
    value = float_type(given.get<std::string>());
  } else if constexpr (std::is_floating_point_v<T>) {
    check(given.is_number(), "{} must be a number", name);
    value = given.get<double>();
  } else {
    check(given.is_number_integer() && given >= 0 && given <= std::numeric_limits<uint32_t>::max(),
          "{} must be a whole number from 0 to 4294967295", name);
    value = given.get<T>();
  }
}

/// Takes the settings that visit_each(visit) names. `of`: whose they are.
void take_settings(nlohmann::json given, const char* of, const auto& visit_each) {
  visit_each([&](const char* name, auto& value) {
    if (given.contains(name)) take_value(name, given[name], value);
    given.erase(name);
  });
  if (!given.empty()) fail("{} has no setting {}", of, in_quotes(given.begin().key()));
}

Model new_model(const nlohmann::json& config, const TrainerOptions& options) {
  check(!options.lora, "an adapter is trained beside a folder's weights, and a config has none");
  return make_model(JsonObject::make(config, "config"));
}

Model with_options(Model model, const TrainerOptions& options) {
  if (options.label_smoothing >= 0) model.label_smoothing = options.label_smoothing;
  return model;
}

/// Frozen, with the adapter.
Model with_adapter(Model model, const TrainerOptions& options, const std::filesystem::path& folder) {
  if (!options.lora) return model;
  const DType products = options.settings.products;
  const DType kept = options.lora->weights.empty() ? products : weight_type(options.lora->weights);
  check(!is_half(products) || kept == DType::f32 || kept == products,
        "weights are {} and products {}: these take operands of one type", name_of(kept), name_of(products));
  if (kept != DType::f32) store_weights_as(model, kept);
  adapt(model, options.lora->config, modules_of_targets(model, options.lora->targets), folder.string());
  return model;
}

}  // namespace

void LoraOptions::take(const nlohmann::json& given) {
  check(given.is_object(), "lora must be a dict, like {{\"r\": 8, \"alpha\": 16}}");
  take_settings(given, "lora", [&](const auto& visit) { visit_lora(*this, visit); });
  check(config.rank > 0, "lora's r must be at least 1");
  check(config.dropout >= 0 && config.dropout < 1, "lora's dropout must lie from 0 to below 1");
}

nlohmann::json LoraOptions::json() const {
  nlohmann::json json;
  visit_lora(*this, [&](const char* name, const auto& value) { json[name] = value; });
  return json;
}

void TrainerOptions::take(const nlohmann::json& given) {
  nlohmann::json settings = given;
  if (settings.contains("lora")) lora.emplace().take(settings["lora"]);
  if (settings.contains("weights")) {
    check(lora.has_value(), "weights is for frozen ones, with lora");
    check(settings["weights"].is_string(), "weights must be the name of a type, like \"bf16\"");
    lora->weights = settings["weights"].get<std::string>();
  }
  settings.erase("lora");
  settings.erase("weights");
  take_settings(std::move(settings), "a trainer", [&](const auto& visit) { visit_options(*this, visit); });
  check(batch_size > 0, "batch_size must be at least 1");
}

nlohmann::json TrainerOptions::json() const {
  nlohmann::json json;
  visit_options(*this, [&](const char* name, const auto& value) {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, Schedule> || std::is_same_v<T, DType>)
      json[name] = name_of(value);
    else
      json[name] = value;
  });
  if (lora) json.update({{"lora", lora->json()}, {"weights", lora->weights}});
  return json;
}

TrainingBatch OwnedBatch::view() const {
  Feed feed = ids.feed();
  feed.emplace_back("targets", targets);
  return {ids.shape, std::move(feed)};
}

PythonTrainer::PythonTrainer(Model model, std::filesystem::path folder, const std::string& device,
                             const TrainerOptions& options)
    : options_(options),
      model_(std::make_shared<const Model>(with_options(std::move(model), options))),
      folder_(std::move(folder)),
      session_(Session::open(device, options.profile)) {
  options_.settings.width = width_of(*model_);
  Backend& backend = *session_->backend;
  const BatchShape shape = usual_batch(*model_, options_.batch_size, options_.context);
  trainer_ = std::make_unique<Trainer>(backend, *model_, options_.settings, shape);
  view_ = std::make_shared<LoadedModel>(
      LoadedWeights{session_, model_, trainer_->shared_store(), trainer_->workspace()}, folder_);
}

PythonTrainer::PythonTrainer(const nlohmann::json& config, const std::filesystem::path& tokenizer,
                             const std::string& device, const TrainerOptions& options)
    : PythonTrainer(new_model(config, options), tokenizer.empty() ? tokenizer : resolve_tokenizer_folder(tokenizer),
                    device, options) {
  initialize(trainer_->store(), model_->parameters, options.settings.seed);
}

PythonTrainer::PythonTrainer(const std::filesystem::path& folder, const std::string& device,
                             const TrainerOptions& options)
    : PythonTrainer(with_adapter(load_model(folder), options, folder), folder, device, options) {
  Weights(model_->parameters, folder).load(trainer_->store());
  for (const ParameterSpec& parameter : model_->parameters)
    if (parameter.adapter) trainer_->store().write(parameter.name, start_values(parameter, options.settings.seed));
}

std::unique_ptr<PythonTrainer> PythonTrainer::resume(const std::filesystem::path& run, const std::string& device,
                                                     const nlohmann::json& changes) {
  const auto checkpoint = latest_checkpoint(run);
  check(checkpoint.has_value(), "'{}' has no checkpoint to go on from", run.string());
  check(std::filesystem::exists(*checkpoint / state_file),
        "'{}' was not written by a Python program; go on with `vkformer train --resume`", run.string());
  const JsonObject state = JsonObject::load(*checkpoint / state_file);
  TrainerOptions options;
  options.take(require_object(state, "settings").value());
  options.profile = false;
  options.take(changes);
  const std::filesystem::path folder = options.lora ? require_string(state, "base") : checkpoint->string();
  auto trainer = std::make_unique<PythonTrainer>(folder, device, options);
  trainer->trainer_->load(*checkpoint);
  trainer->iteration_ = require_integer(state, "iteration", 0, int64_t{1} << 53);
  return trainer;
}

PythonTrainer::~PythonTrainer() {
  view_.reset();
  free_on(*session_, [this] { trainer_.reset(); });
}

double PythonTrainer::step(const std::vector<OwnedBatch>& batches) {
  const Running running(*session_);
  std::vector<TrainingBatch> views;
  for (const OwnedBatch& batch : batches) views.push_back(batch.view());
  const double loss = trainer_->step(iteration_ + 1, views);
  ++iteration_;
  return loss;
}

double PythonTrainer::evaluate(const OwnedBatch& batch) {
  const Running running(*session_);
  return trainer_->evaluate(batch.view()).value();
}

std::vector<ProgramTimings> PythonTrainer::timings() const {
  const Running running(*session_);
  std::vector<ProgramTimings> timings;
  for (const auto& [name, program] : trainer_->programs()) timings.push_back({name, program->timings()});
  return timings;
}

void PythonTrainer::save(const std::filesystem::path& run) {
  const Running running(*session_);
  if (options_.settings.scales_loss()) options_.settings.loss_scale = trainer_->loss_scale();
  const auto saved = CheckpointWriter(run).commit(iteration_, [&](const std::filesystem::path& folder) {
    if (!model_->adapter) write_json(folder / "config.json", *model_->config);
    if (!folder_.empty() && has_model_json(folder_, tokenizer_file)) {
      write_json(folder / tokenizer_file, load_model_json(folder_, tokenizer_file).value());
      for (const char* file : text_files)
        if (std::filesystem::exists(folder_ / file)) std::filesystem::copy_file(folder_ / file, folder / file);
    }
    trainer_->save(folder);
    nlohmann::json state = {{"iteration", iteration_}, {"settings", options_.json()}};
    if (model_->adapter) state["base"] = folder_.string();
    write_json(folder / state_file, state);
  });
  if (model_->adapter) return;
  folder_ = saved;  // the one before it, which may have been its folder, is gone
  view_->set_folder(saved);
}

}  // namespace vkformer::python
