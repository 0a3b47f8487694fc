// Adapters of models that tell classes and answers apart: the head is trained whole beside them, and goes into their
// files.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "models/adapters/adapter_head.h"
#include "models/classification/batch_logits.h"
#include "models/embedding/embedder.h"
#include "models/stored_weights.h"
#include "models/training/trainer.h"
#include "models/weights.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

using ModuleNames = std::vector<std::string>;

const std::pair<const char*, ModuleNames> model_heads[] = {{"bert_cls", {"classifier"}},
                                                           {"roberta_cls", {"classifier"}},
                                                           {"distilbert_cls", {"pre_classifier", "classifier"}},
                                                           {"mpnet_cls", {"classifier"}},
                                                           {"electra_cls", {"classifier"}},
                                                           {"albert_cls", {"classifier"}},
                                                           {"deberta_cls", {"pooler", "classifier"}},
                                                           {"nomic_cls", {"classifier"}},
                                                           {"modernbert_cls", {"head", "classifier"}},
                                                           {"xlnet_cls", {"sequence_summary", "logits_proj"}},
                                                           {"bart_cls", {"classification_head"}},
                                                           {"gpt2_cls", {"score"}},
                                                           {"llama_cls", {"score"}},
                                                           {"bert_tokens", {"classifier"}},
                                                           {"bert_qa", {"qa_outputs"}},
                                                           {"bert_mlm", {}},
                                                           {"xlnet", {}},
                                                           {"gpt2", {}}};

const TrainSettings head_settings{.learning_rate = 1e-2, .schedule = Schedule::constant, .warmup = 0, .clip = 0};

void give_usual_adapter(Model& model, const ModuleNames& anew = {}) {
  adapt(model, {.rank = 4, .alpha = 8}, modules_of_targets(model, {}), "base", whole_modules(model, anew));
}

BatchShape head_batch(const Model& model) {
  return {.rows = 2, .positions = 7, .source_positions = model.has_encoder() ? 7 : 0};
}

/// Ids, and targets of its task.
DataBatch batch_of_head(const Model& model) {
  DataBatch batch{.shape = head_batch(model), .tokens = 14};
  batch.inputs.emplace_back("ids", some_ids(14, model.vocabulary, 5));
  if (model.has_encoder()) batch.inputs.emplace_back("source", some_ids(14, model.vocabulary, 5));
  const int64_t count = model.task == Task::classify ? 2 : model.task == Task::answer ? 4 : 14;
  batch.inputs.emplace_back("targets", some_ids(count, 2, 1));
  return batch;
}

double head_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return a.size() == b.size() ? largest : INFINITY;
}

/// A trainer that has taken some steps.
std::unique_ptr<Trainer> trained_steps(Backend& backend, const Model& model, const std::filesystem::path& base,
                                       int64_t steps) {
  auto trainer = std::make_unique<Trainer>(backend, model, head_settings, head_batch(model));
  load_parameters(trainer->store(), model.parameters, base);
  for (const ParameterSpec& parameter : model.parameters)
    if (parameter.adapter) trainer->store().write(parameter.name, start_values(parameter, 3));
  const DataBatch batch = batch_of_head(model);
  for (int64_t i = 1; i <= steps; ++i) trainer->step(i, batch.view().feed);
  return trainer;
}

std::vector<float> head_logits(Backend& backend, const Model& model, std::shared_ptr<Store> store) {
  return BatchLogits(backend, model, std::move(store), backend.make_workspace()).of(batch_of_head(model));
}

/// A base for masked words with an adapter that tells three classes apart, and its files.
struct BesideMasked {
  std::filesystem::path base = fixtures / "bert_mlm";
  TemporaryFolder folder;
  std::vector<float> logits;

  explicit BesideMasked(Backend& backend) {
    Model model = model_of(fixture_config("bert_mlm", {{"architectures", {"BertForSequenceClassification"}}}));
    ModuleNames anew;
    for (ParameterSpec& parameter : model.parameters) {
      parameter.anew = parameter.name.starts_with("classifier.") || parameter.name.starts_with("bert.pooler.");
      if (parameter.anew) anew.push_back(parameter.name);
    }
    give_usual_adapter(model, anew);
    const auto trainer = trained_steps(backend, model, base, 3);
    trainer->save(folder.path());
    logits = head_logits(backend, model, trainer->shared_store());
  }
};

}  // namespace

TEST_CASE("beside an adapter a head is trained whole, and nothing else", "[lora]") {
  for (const auto& [name, whole] : model_heads)
    for (const DType weights : {DType::f32, DType::bf16}) {
      INFO(name << ' ' << name_of(weights));
      Model model = load_model(fixtures / name);
      CHECK(whole_modules(model) == whole);
      if (weights != DType::f32) store_weights_as(model, weights);
      give_usual_adapter(model);
      const TrainingGraph training = build_loss_and_gradients(model, head_batch(model), weights == DType::bf16);
      for (size_t i = 0; i < model.parameters.size(); ++i) {
        const ParameterSpec& parameter = model.parameters[i];
        INFO(parameter.name);
        const bool trains = parameter.adapter || is_within(parameter.name, whole);
        CHECK(static_cast<bool>(training.gradients[i]) == trains);
        CHECK((!trains || parameter.dtype == DType::f32));
      }
    }
  const Model bert = load_model(fixtures / "bert_cls");
  CHECK(whole_modules(bert, {"bert.pooler.dense.weight", "bert.pooler.dense.bias"}) ==
        ModuleNames{"bert.pooler", "classifier"});
  CHECK_THAT(
      error_of([] { whole_modules(load_model(fixtures / "bert_mlm"), {"cls.predictions.transform.dense.weight"}); }),
      ContainsSubstring("the base has no cls.predictions.transform.dense.weight"));
  Model roberta = load_model(fixtures / "roberta_cls");
  adapt(roberta, {}, modules_of_targets(roberta, {"dense"}), "", whole_modules(roberta));
  for (const LowRankProduct& product : roberta.adapter->products) CHECK(product.weight.starts_with("roberta."));
}

TEST_CASE("a head beside an adapter has the gradient that it has in the whole model", "[lora][device][one_driver]") {
  const auto backend = make_backend("");
  for (const char* name : {"bert_cls", "distilbert_cls", "xlnet_cls", "llama_cls", "bert_qa"}) {
    INFO(name);
    const Model plain = load_model(fixtures / name);
    Model model = plain;
    give_usual_adapter(model);
    const auto whole = trained_steps(*backend, plain, fixtures / name, 1);
    const uint64_t before = backend->allocated_bytes();
    const auto adapted = trained_steps(*backend, model, fixtures / name, 1);
    CHECK(backend->allocated_bytes() - before == static_cast<uint64_t>(adapted->plan().total_bytes()));
    for (const ParameterSpec& parameter : plain.parameters) {
      INFO(parameter.name);
      if (is_within(parameter.name, model.adapter->whole)) {
        const std::string moment = "exp_avg/" + parameter.name;
        CHECK(head_difference(adapted->store().read(moment), whole->store().read(moment)) < 1e-6);
        CHECK(adapted->store().read(parameter.name) != Weights(plain.parameters, fixtures / name).read(parameter.name));
      } else {
        CHECK(adapted->store().read(parameter.name) == Weights(plain.parameters, fixtures / name).read(parameter.name));
      }
    }
  }
}

TEST_CASE("an adapter brings its head to a base that has another", "[lora][device][one_driver]") {
  const auto backend = make_backend("");
  const BesideMasked made(*backend);
  const auto config = JsonObject::load(made.folder / "adapter_config.json").value();
  CHECK(config.at("task_type") == "SEQ_CLS");
  CHECK(config.at("modules_to_save") == nlohmann::json{"bert.pooler", "classifier"});
  const SafetensorsFile tensors(made.folder / "adapter_model.safetensors");
  CHECK(tensors.require("base_model.model.classifier.weight").shape == std::vector<int64_t>{3, 64});
  CHECK(tensors.require("base_model.model.bert.pooler.dense.bias").shape == std::vector<int64_t>{64});

  const AdapterFiles files(made.folder.path());
  Model model = load_model(made.base, &files);
  REQUIRE(model.task == Task::classify);
  Model adapted = model;
  files.adapt(adapted);
  const auto store = make_model_store(*backend, adapted);
  load_parameters(*store, adapted.parameters, made.base);
  files.load(*store, adapted);
  CHECK(head_logits(*backend, adapted, store) == made.logits);

  const TemporaryFolder merged;
  for (size_t i = 0; i < model.parameters.size(); ++i) model.parameters[i].adapter = adapted.parameters[i].adapter;
  Weights(model.parameters, made.base)
      .save(merged / "model.safetensors", {},
            [&](const ParameterSpec& parameter, std::span<float> values) { files.merge(adapted, parameter, values); });
  const Model plain = model_of(*model.config);
  const auto one = make_model_store(*backend, plain);
  load_parameters(*one, plain.parameters, merged.path());
  CHECK(head_difference(head_logits(*backend, plain, one), made.logits) < 1e-5);

  // Without its head, as for vectors.
  const Model states = without_head(adapted), same = without_head(plain);
  const auto of_states = make_model_store(*backend, states), of_same = make_model_store(*backend, same);
  load_parameters(*of_states, states.parameters, made.base);
  files.load(*of_states, states);
  load_parameters(*of_same, same.parameters, merged.path());
  CHECK(head_difference(head_logits(*backend, states, of_states), head_logits(*backend, same, of_same)) < 1e-4);
}

TEST_CASE("heads as PEFT's versions name them are read, and what they lack is named", "[lora]") {
  const auto backend = make_backend("reference");
  const BesideMasked made(*backend);
  const std::string prefix = "base_model.model.";
  const SafetensorsFile good(made.folder / "adapter_model.safetensors");
  const auto config = JsonObject::load(made.folder / "adapter_config.json").value();
  // Writes it with other names; none: left out.
  const auto renamed = [&](const std::function<std::string(std::string)>& rename, const nlohmann::json& changes) {
    std::vector<TensorSource> tensors;
    for (const TensorEntry& entry : good.tensors())
      if (const std::string name = rename(entry.name); !name.empty())
        tensors.push_back({name, entry.dtype, entry.shape, [&entry] { return entry.bytes; }});
    auto folder = std::make_unique<TemporaryFolder>();
    write_safetensors(*folder / "adapter_model.safetensors", std::move(tensors));
    nlohmann::json changed = config;
    changed.update(changes);
    write_json(*folder / "adapter_config.json", changed);
    return folder;
  };
  const auto with = [](const char* module, const char* middle) {
    return [module, middle](std::string name) {
      if (const size_t at = name.find(module); at != name.npos) name.insert(at + std::string(module).size(), middle);
      return name;
    };
  };
  const auto none = nlohmann::json::object();
  const auto as_it_is = [](std::string name) { return name; };
  const auto adapts = [&](const TemporaryFolder& folder, const std::filesystem::path& base) {
    const AdapterFiles files(folder.path());
    Model model = load_model(base, &files);
    files.adapt(model);
    return model;
  };
  for (const char* middle : {"", ".modules_to_save", ".modules_to_save.default"}) {
    const Model model = adapts(*renamed(with("classifier", middle), none), made.base);
    CHECK(model.adapter->whole == ModuleNames{"bert.pooler", "classifier"});
  }
  // Some write no modules_to_save, which the task implies; PEFT trains no pooler by itself.
  const auto no_pooler = [](std::string name) { return name.find("pooler") == name.npos ? name : ""; };
  const auto bare = renamed(no_pooler, {{"modules_to_save", nullptr}});
  CHECK(adapts(*bare, made.base).adapter->whole == ModuleNames{"classifier"});
  // The base may call more classes, or others.
  const TemporaryFolder base;
  write_json(base / "config.json", fixture_config("bert_mlm", {{"id2label", {{"0", "no"}, {"1", "yes"}}}}));
  CHECK(adapts(*bare, base.path()).config->at("id2label").at("2") == "LABEL_2");
  write_json(base / "config.json", fixture_config("bert_mlm", {{"id2label", {{"0", "a"}, {"1", "b"}, {"2", "c"}}}}));
  CHECK(adapts(*bare, base.path()).config->at("id2label").at("2") == "c");

  const auto message = [&](const TemporaryFolder& folder, const std::filesystem::path& of) {
    return error_of([&] { adapts(folder, of); });
  };
  const auto no_bias = [](std::string name) { return name.ends_with("classifier.bias") ? "" : name; };
  CHECK_THAT(message(*renamed(no_bias, none), made.base),
             ContainsSubstring("lacks \"base_model.model.classifier.bias\""));
  CHECK_THAT(message(*renamed(as_it_is, {{"modules_to_save", {"classifier"}}}), made.base),
             ContainsSubstring(
                 "\"base_model.model.bert.pooler.dense.weight\" belongs to no linear layer, nor to modules_to_save"));
  const auto inside = renamed(as_it_is, {{"modules_to_save", {"classifier", "pooler", "query"}}});
  CHECK_THAT(message(*inside, made.base), ContainsSubstring("query.weight\" is not supported among modules_to_save"));
  write_json(base / "config.json", fixture_config("bert_cls", {{"hidden_size", 32}}));
  CHECK_THAT(message(*bare, base.path()), ContainsSubstring("[3, 64], model and rank make it [3, 32]"));
  Model text = load_model(fixtures / "llama");
  CHECK_THAT(error_of([&] { AdapterFiles(bare->path()).adapt(text); }),
             ContainsSubstring("\"modules_to_save\" is not supported for a model that writes text"));
}
