#include "python/bindings/python_trainer.h"

#include "models/families/registry.h"
#include "models/model_files.h"
#include "models/model_folder.h"
#include "models/stored_weights.h"
#include "models/weights.h"
#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"

namespace vkformer::python {

namespace {

constexpr const char* state_file = "python_trainer.json";
/// What texts need beside a tokenizer.json, as it is.
constexpr const char* text_files[] = {target_tokenizer_file, generation_file, "tokenizer_config.json",
                                      "special_tokens_map.json", "chat_template.jinja"};

constexpr SettingBounds counted{.least = 1}, plain;

/// Calls visit(name, value, bounds) for each setting.
template <class Lora, class Visit>
void visit_lora(Lora& lora, const Visit& visit) {
  visit("r", lora.config.rank, counted);
  visit("alpha", lora.config.alpha, plain);
  visit("dropout", lora.config.dropout, SettingBounds{.most = 0.99});
  visit("rslora", lora.config.rslora, plain);
  visit("targets", lora.targets, plain);
}

template <class Options, class Visit>
void visit_options(Options& options, const Visit& visit) {
  visit("batch_size", options.batch_size, counted);
  visit("context", options.context, plain);
  visit("profile", options.profile, plain);
  visit("token_type_ids", options.token_types, plain);
  visit("label_smoothing", options.label_smoothing, SettingBounds{-1, 0.99});
  visit("schedule", options.settings.schedule, plain);
  visit("precision", options.settings.products, plain);
  visit_train_settings(options.settings, visit);
}

void take_value(const std::string& name, const nlohmann::json& given, auto& value, const SettingBounds& bounds) {
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
  } else {
    constexpr bool whole = std::is_integral_v<T>;
    check((whole ? given.is_number_integer() : given.is_number()) && given >= bounds.least && given <= bounds.most,
          "{} must be a {} from {} to {}", name, whole ? "whole number" : "number", bounds.least, bounds.most);
    value = given.get<T>();
  }
}

/// Takes the settings that visit_each(visit) names. `of`: whose they are.
void take_settings(nlohmann::json given, const char* of, const auto& visit_each) {
  visit_each([&](const char* name, auto& value, const SettingBounds& bounds) {
    if (given.contains(name)) take_value(name, given[name], value, bounds);
    given.erase(name);
  });
  if (!given.empty()) fail("{} has no setting {}", of, in_quotes(given.begin().key()));
}

std::map<std::string, std::string> read_text_files(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  if (folder.empty() || !has_model_json(folder, tokenizer_file)) return files;
  files[tokenizer_file] = load_model_json(folder, tokenizer_file).value().dump();
  for (const char* file : text_files)
    if (std::filesystem::exists(folder / file)) files[file] = std::string(MappedFile(folder / file).text());
  return files;
}

/// `tokenizer`: a folder whose ids it will read; empty: nobody knows.
Model new_model(nlohmann::json config, const std::filesystem::path& tokenizer, const TrainerOptions& options) {
  check(!options.lora, "an adapter is trained beside a folder's weights, and a config has none");
  const int64_t tokens = tokenizer.empty() ? 0 : PromptText(tokenizer).size();
  if (tokens > 0 && !config.contains("vocab_size")) config["vocab_size"] = tokens;
  Model model = make_model(JsonObject::make(std::move(config), "config"));
  check(model.input_vocabulary() >= tokens, "the tokenizer has {} tokens, the config only {}", tokens,
        model.input_vocabulary());
  return model;
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
  adapt(model, options.lora->config, modules_of_targets(model, options.lora->targets), folder.generic_string(),
        whole_modules(model));
  return model;
}

}  // namespace

void LoraOptions::take(const nlohmann::json& given) {
  check(given.is_object(), "lora must be a dict, like {{\"r\": 8, \"alpha\": 16}}");
  take_settings(given, "lora", [&](const auto& visit) { visit_lora(*this, visit); });
}

nlohmann::json LoraOptions::json() const {
  nlohmann::json json;
  visit_lora(*this, [&](const char* name, const auto& value, const SettingBounds&) { json[name] = value; });
  return json;
}

void TrainerOptions::take(const nlohmann::json& given) {
  nlohmann::json others = given;
  if (others.contains("lora")) lora.emplace().take(others["lora"]);
  if (others.contains("weights")) {
    check(lora.has_value(), "weights is for frozen ones, with lora");
    check(others["weights"].is_string(), "weights must be the name of a type, like \"bf16\"");
    lora->weights = others["weights"].get<std::string>();
  }
  others.erase("lora");
  others.erase("weights");
  const bool ends_at_a_tenth = settings.min_learning_rate == settings.learning_rate / 10;
  take_settings(std::move(others), "a trainer", [&](const auto& visit) { visit_options(*this, visit); });
  if (ends_at_a_tenth && !given.contains("min_learning_rate")) settings.min_learning_rate = settings.learning_rate / 10;
}

nlohmann::json TrainerOptions::json() const {
  nlohmann::json json;
  visit_options(*this, [&](const char* name, const auto& value, const SettingBounds&) {
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

PythonTrainer::PythonTrainer(Model model, const std::filesystem::path& folder, const std::string& device,
                             const TrainerOptions& options)
    : options_(options),
      model_(std::make_shared<const Model>(with_options(std::move(model), options))),
      text_files_(read_text_files(folder)),
      session_(Session::open(device, options.profile)) {
  options_.settings.width = width_of(*model_);
  Backend& backend = *session_->backend;
  BatchShape shape = usual_batch(*model_, options_.batch_size, options_.context);
  shape.segments = options_.token_types;
  trainer_ = std::make_unique<Trainer>(backend, *model_, options_.settings, shape);
  view_ =
      std::make_shared<LoadedModel>(LoadedWeights{session_, model_, trainer_->shared_store(), trainer_->workspace()},
                                    std::make_shared<FolderTexts>(folder, *model_->config));
}

PythonTrainer::PythonTrainer(const nlohmann::json& config, const std::filesystem::path& tokenizer,
                             const std::string& device, const TrainerOptions& options)
    : PythonTrainer(new_model(config, tokenizer, options), tokenizer, device, options) {
  initialize(trainer_->store(), model_->parameters, options.settings.seed);
}

PythonTrainer::PythonTrainer(const std::filesystem::path& folder, const std::string& device,
                             const TrainerOptions& options)
    : PythonTrainer(with_adapter(load_model(folder), options, folder), folder, device, options) {
  if (options.lora) base_ = folder.generic_string();
  Weights(model_->parameters, folder).load(trainer_->store());
  for (const ParameterSpec& parameter : model_->parameters)
    if (parameter.adapter) trainer_->store().write(parameter.name, start_values(parameter, options.settings.seed));
}

std::unique_ptr<PythonTrainer> PythonTrainer::resume(const std::filesystem::path& run, const std::string& device,
                                                     const nlohmann::json& changes) {
  const auto checkpoint = latest_checkpoint(run);
  check(checkpoint.has_value(), "'{}' has no checkpoint to go on from", run.generic_string());
  check(std::filesystem::exists(*checkpoint / state_file),
        "'{}' was not written by a Python program; go on with `vkformer train --resume`", run.generic_string());
  const JsonObject state = JsonObject::load(*checkpoint / state_file);
  TrainerOptions options;
  options.take(require_object(state, "settings").value());
  options.profile = false;
  options.take(changes);
  const std::filesystem::path folder = options.lora ? require_string(state, "base") : checkpoint->generic_string();
  auto trainer = std::make_unique<PythonTrainer>(folder, device, options);
  trainer->trainer_->load(*checkpoint);
  trainer->run_ = std::filesystem::canonical(run);
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

std::vector<ProgramTimings> PythonTrainer::timings() {
  const Running running(*session_);
  std::vector<ProgramTimings> timings;
  for (const auto& [name, program] : trainer_->programs()) timings.push_back({name, program->timings()});
  return timings;
}

double PythonTrainer::gradient_norm() {
  const Running running(*session_);
  return trainer_->gradient_norm();
}

void PythonTrainer::save(const std::filesystem::path& run) {
  const Running running(*session_);
  const auto place = std::filesystem::absolute(run);
  const bool ours = !run_.empty() && std::filesystem::exists(place) && std::filesystem::equivalent(place, run_);
  check(ours || !latest_checkpoint(place),
        "'{}' already holds a run; go on with it (Trainer.resume), or name another folder", run.generic_string());
  if (options_.settings.scales_loss()) options_.settings.loss_scale = trainer_->loss_scale();
  CheckpointWriter(place).commit(iteration_, [&](const std::filesystem::path& folder) {
    nlohmann::json state = {{"iteration", iteration()}, {"settings", options_.json()}};
    if (base_.empty())
      write_json(folder / "config.json", *model_->config);
    else
      state["base"] = base_;
    for (const auto& [name, content] : text_files_) write_file_atomically(folder / name, content);
    trainer_->save(folder);
    write_json(folder / state_file, state);
  });
  run_ = std::filesystem::canonical(place);
}

}  // namespace vkformer::python
