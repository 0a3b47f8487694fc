// Steps of training as PyTorch makes them, on batches by length and on packed rows, of whole models and of adapters by
// PEFT's formula: the losses that tests/huggingface/train_cases.py recorded in tests/trainings. Batches and adapters
// are made here; `vkformer_tests "[.record]"` writes them for it.

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "models/adapters/adapter_files.h"
#include "models/data/packed_texts.h"
#include "models/data/pairs.h"
#include "models/data/preference_data.h"
#include "models/data/similar_data.h"
#include "models/data/text_data.h"
#include "models/embedding/embedder.h"
#include "models/training/log_likelihoods.h"
#include "models/training/trainer.h"
#include "models/weights.h"
#include "runtime/files/safetensors.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

/// A recorded model, the data it is trained on here, and how.
struct Training {
  std::string name;
  std::string base;  ///< of the fixtures
  TrainSettings settings;
  double label_smoothing = 0;
  std::optional<Preference> preference = {};
  std::optional<Similarity> similarity = {};
  bool several = false;  ///< labels of a text may hold
  std::unique_ptr<TrainingData> data;

  std::filesystem::path folder() const { return fixtures.parent_path() / "trainings"; }
  std::filesystem::path adapter() const { return folder() / (name + ".adapter"); }
  Model model() const {
    nlohmann::json changes = nlohmann::json::object();
    if (several) changes["problem_type"] = "multi_label_classification";
    Model model = load_model(fixtures / base, changes);
    model.label_smoothing = label_smoothing;
    model.preference = preference;
    return similarity ? that_learns_similarity(without_head(std::move(model)), *similarity) : model;
  }
};

/// Ids 5 .. 90 that follow from `seed`, some `length` of them, and the end id 2.
std::vector<int32_t> sentence(int64_t seed, int64_t length) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < length; ++i) ids.push_back(static_cast<int32_t>(5 + (seed * 31 + i * (7 + seed % 5)) % 86));
  ids.push_back(2);
  return ids;
}

/// Iterations of two micro-batches.
TrainSettings short_settings(int64_t iterations, double rate) {
  return {.accumulate = 2,
          .iterations = iterations,
          .learning_rate = rate,
          .min_learning_rate = 0,
          .schedule = Schedule::linear,
          .warmup = 2,
          .beta2 = 0.999,
          .weight_decay = 0.01};
}

/// BERT is fine-tuned to tell texts by their first token's remainder.
Training fine_tuning() {
  TextData::Split rows;
  for (int64_t i = 0; i < 96; ++i) {
    std::vector<int32_t> ids = sentence(i, 1 + i * 5 % 19);
    rows.targets.push_back({ids.front() % 3});
    rows.texts.segments.emplace_back(ids.size(), 0);
    rows.texts.ids.push_back(std::move(ids));
  }
  return {.name = "bert_cls",
          .base = "bert_cls",
          .settings = {.iterations = 50,
                       .learning_rate = 5e-4,
                       .min_learning_rate = 0,
                       .schedule = Schedule::linear,
                       .warmup = 5,
                       .beta2 = 0.999,
                       .weight_decay = 0.01},
          .label_smoothing = 0,
          .data = std::make_unique<TextData>(
              std::move(rows), TextData::Split(),
              TextData::Settings{.batches = {.positions = 96, .most_rows = 12, .most_shapes = 4, .seed = 3},
                                 .inputs = {}})};
}

/// Marian learns to copy sentences without their first tokens. An iteration has two micro-batches of unlike shapes.
Training translation() {
  TokenPairs pairs;
  for (int64_t i = 0; i < 96; ++i) {
    pairs.sources.push_back(sentence(i, 2 + i * 7 % 17));
    pairs.targets.emplace_back(pairs.sources.back().begin() + 1, pairs.sources.back().end());
  }
  return {.name = "marian",
          .base = "marian",
          .settings = {.accumulate = 2,
                       .iterations = 50,
                       .learning_rate = 1e-3,
                       .schedule = Schedule::inverse_sqrt,
                       .warmup = 8,
                       .beta2 = 0.98},
          .label_smoothing = 0.1,
          .data = std::make_unique<PairData>(
              std::move(pairs), TokenPairs(),
              PairData::Settings{
                  .batches = {.positions = 80, .most_shapes = 4, .seed = 4}, .padding = 96, .decoder_start = 96})};
}

/// A decoder's adapter learns the ends of texts, several of which share a row.
Training adapter_training(const std::string& base) {
  std::vector<LearnedText> texts;
  for (int64_t i = 0; i < 40; ++i) {
    LearnedText text{.ids = sentence(i, 3 + i * 5 % 17), .learned = {}};
    text.learned.resize(text.ids.size(), 1);
    std::fill_n(text.learned.begin(), 1 + i % 3, uint8_t{0});
    texts.push_back(std::move(text));
  }
  return {.name = base + "_lora",
          .base = base,
          .settings = {.iterations = 20,
                       .learning_rate = 4e-3,
                       .min_learning_rate = 0,
                       .schedule = Schedule::linear,
                       .warmup = 2,
                       .beta2 = 0.999,
                       .weight_decay = 0.01},
          .label_smoothing = 0,
          .data = std::make_unique<PackedTexts>(std::move(texts), std::vector<LearnedText>(),
                                                PackedTexts::Settings{.rows = 4, .positions = 31, .seed = 5})};
}

/// A decoder learns to prefer texts that end with smaller ids, by DPO with smoothed labels.
Training preferences(const std::string& name, const Preference& preference, int64_t steps, double rate) {
  std::vector<TextPair> pairs;
  for (int64_t i = 0; i < 40; ++i) {
    const std::vector<int32_t> begin = sentence(i, 2 + i % 3);
    pairs.emplace_back();
    for (int64_t side = 0; side < 2; ++side) {
      LearnedText& text = pairs.back()[static_cast<size_t>(side)];
      text.ids = begin;
      for (int64_t n = 0; n < 2 + (i + 2 * side) % 5; ++n)
        text.ids.push_back(static_cast<int32_t>(5 + 40 * side + (i * 7 + n * 3) % 40));
      text.learned.assign(text.ids.size(), 1);
      std::fill_n(text.learned.begin(), begin.size(), uint8_t{0});
    }
  }
  return {.name = name,
          .base = "llama",
          .settings = short_settings(steps, rate),
          .label_smoothing = preference.loss == Preference::Loss::ipo ? 0 : 0.1,
          .preference = preference,
          .data = std::make_unique<PreferenceData>(
              std::move(pairs), std::vector<TextPair>(),
              PreferenceData::Settings{.positions = 48, .pairs = 4, .seed = 6, .preference = preference})};
}

/// BERT learns to find sentences by the same ids in another order, beside others with most of them. Every row is there
/// twice, with another that is not similar.
Training similarity() {
  SimilarTexts rows{.texts = {}, .each = 3};
  for (int64_t i = 0; i < 80; ++i) {
    std::vector<int32_t> query = sentence(i % 40, 2 + i % 40 % 7), similar = query, other = query;
    std::reverse(similar.begin(), similar.end() - 1);
    other.front() = static_cast<int32_t>(5 + (i * 7 + 3) % 86);
    for (std::vector<int32_t>* text : {&query, &similar, &other}) {
      rows.texts.segments.emplace_back(text->size(), 0);
      rows.texts.ids.push_back(std::move(*text));
    }
  }
  return {.name = "bert_similar",
          .base = "bert_cls",
          .settings = short_settings(10, 5e-4),
          .similarity = Similarity{.texts = 3, .scale = 10},
          .data = std::make_unique<SimilarData>(
              std::move(rows), SimilarTexts{.texts = {}, .each = 3},
              SimilarData::Settings{.batches = {.positions = 240, .most_rows = 12, .most_shapes = 2, .seed = 8},
                                    .inputs = {}})};
}

/// BERT learns which of three ids a text has, and one of the labels in part.
Training several_labels() {
  TextData::Split rows;
  for (int64_t i = 0; i < 96; ++i) {
    std::vector<int32_t> ids = sentence(i, 1 + i * 5 % 19);
    std::vector<float> wanted(3, 0);
    for (const int32_t id : ids) wanted[static_cast<size_t>(id % 3)] += 0.25F;
    for (float& one : wanted) one = std::min(one, 1.0F);
    rows.wanted.push_back(wanted);
    rows.targets.push_back({0, 0, 0});
    rows.texts.segments.emplace_back(ids.size(), 0);
    rows.texts.ids.push_back(std::move(ids));
  }
  return {
      .name = "bert_several",
      .base = "bert_cls",
      .settings = short_settings(10, 1e-3),
      .several = true,
      .data = std::make_unique<TextData>(
          std::move(rows), TextData::Split(),
          TextData::Settings{
              .batches = {.positions = 96, .most_rows = 12, .most_shapes = 4, .seed = 3}, .inputs = {}, .targets = 3})};
}

std::vector<Training> all_trainings() {
  std::vector<Training> trainings;
  trainings.push_back(fine_tuning());
  trainings.push_back(translation());
  trainings.push_back(adapter_training("llama"));
  trainings.push_back(adapter_training("gpt2"));
  using enum Preference::Loss;
  trainings.push_back(preferences("llama_preferences", {.beta = 0.2}, 20, 1e-3));
  trainings.push_back(preferences("llama_ipo", {.loss = ipo, .beta = 0.5}, 6, 3e-4));
  trainings.push_back(preferences("llama_simpo", {.loss = simpo, .beta = 2, .margin = 0.7}, 8, 5e-4));
  trainings.push_back(similarity());
  trainings.push_back(several_labels());
  return trainings;
}

/// An adapter whose both factors are drawn.
void write_adapter(const Training& training, const LoraConfig& config, const std::vector<std::string>& targets) {
  Model model = training.model();
  adapt(model, config, modules_of_targets(model, targets), "tests/fixtures/" + training.base);
  StoreLayout layout;
  add_parameter_blocks(layout, "parameters", parameter_blocks(model.parameters, uint64_t{1} << 30));
  const auto store = make_backend("reference")->make_store(layout);
  const auto rank = static_cast<size_t>(config.rank);
  for (const LowRankProduct& product : model.adapter->products) {
    const size_t columns = rank * product.modules.size();
    std::vector<float> a, b(static_cast<size_t>(product.out) * columns, 0);
    for (size_t m = 0; m < product.modules.size(); ++m) {
      const LinearModule& module = product.modules[m];
      const auto drawn = [&](const char* factor, Shape shape) {
        return start_values({.name = module.path + factor, .shape = shape, .deviation = 0.1}, 11);
      };
      const std::vector<float> rows = drawn("a", {config.rank, module.in}),
                               block = drawn("b", {module.out, config.rank});
      a.insert(a.end(), rows.begin(), rows.end());
      for (size_t i = 0; i < block.size(); ++i)
        b[(static_cast<size_t>(module.first) + i / rank) * columns + m * rank + i % rank] = block[i];
    }
    store->write(product.a, a);
    store->write(product.b, b);
  }
  std::filesystem::create_directories(training.adapter());
  save_adapter(*store, model, training.adapter());
}

/// It follows from the positions.
bool is_text_number(const DataBatch& batch, std::string_view input) { return batch.shape.packed && input == "texts"; }

/// "7.1.ids": of iteration 7's second micro-batch.
std::string tensor_name(int64_t number, int64_t accumulate, std::string_view input) {
  return fmt::format("{}.{}.{}", number / accumulate + 1, number % accumulate, input);
}

}  // namespace

TEST_CASE("the batches of recorded trainings are written", "[.record]") {
  for (const Training& training : all_trainings()) {
    if (training.name == "llama_lora") write_adapter(training, {.rank = 4, .alpha = 16}, {"all-linear"});
    if (training.name == "gpt2_lora")
      write_adapter(training, {.rank = 3, .alpha = 4, .rslora = true}, {"c_attn", "c_fc"});
    std::filesystem::create_directories(training.folder());
    std::vector<DataBatch> batches;
    const int64_t steps = training.settings.iterations;
    for (int64_t i = 0; i < steps * training.settings.accumulate; ++i)
      batches.push_back(training.data->training_batch(i));
    std::vector<TensorSource> tensors;
    nlohmann::json rates = nlohmann::json::array();
    for (int64_t i = 1; i <= steps; ++i) rates.push_back(learning_rate_at(training.settings, i));
    for (size_t i = 0; i < batches.size(); ++i)
      for (const auto& [name, values] : batches[i].inputs) {
        if (is_text_number(batches[i], name)) continue;
        std::vector<int64_t> shape{std::min<int64_t>(batches[i].shape.rows, std::ssize(values))};  // of pairs half as many
        if (std::ssize(values) > shape[0]) shape.push_back(std::ssize(values) / shape[0]);
        tensors.push_back(
            TensorSource::of(tensor_name(static_cast<int64_t>(i), training.settings.accumulate, name), shape, values));
      }
    for (size_t i = 0; i < batches.size(); ++i)
      for (const auto& [name, values] : batches[i].floats)
        if (training.several && name == "wanted")
          tensors.push_back(TensorSource::of(tensor_name(static_cast<int64_t>(i), training.settings.accumulate, name),
                                             {batches[i].shape.rows, std::ssize(values) / batches[i].shape.rows},
                                             values));
    const TrainSettings& s = training.settings;
    write_safetensors(training.folder() / (training.name + ".batches.safetensors"), tensors);
    nlohmann::json settings = {{"base", training.base},
                               {"steps", steps},
                               {"accumulate", s.accumulate},
                               {"learning_rates", rates},
                               {"betas", {s.beta1, s.beta2}},
                               {"epsilon", s.epsilon},
                               {"weight_decay", s.weight_decay},
                               {"clip", s.clip},
                               {"label_smoothing", training.label_smoothing}};
    if (training.preference)
      settings.update({{"beta", training.preference->beta},
                       {"preference_loss", static_cast<int>(training.preference->loss)},
                       {"margin", training.preference->margin}});
    if (training.similarity) settings["similarity_scale"] = training.similarity->scale;
    write_json(training.folder() / (training.name + ".json"), settings);
  }
}

TEST_CASE("steps on batches by length and on packed rows have PyTorch's losses", "[training][device][one_driver]") {
  const auto backend = make_backend("");
  for (const Training& training : all_trainings()) {
    INFO(training.name);
    const SafetensorsFile recorded(training.folder() / (training.name + ".batches.safetensors"));
    const auto wanted = JsonObject::load(training.folder() / (training.name + ".json")).value().at("losses");
    Model model = training.model();
    const bool adapts = std::filesystem::exists(training.adapter());
    if (adapts) AdapterFiles(training.adapter()).adapt(model);
    Trainer trainer(*backend, plan_training(model, training.settings, training.data->shapes(), *backend));
    load_parameters(trainer.store(), model.parameters, fixtures / training.base);
    if (adapts) AdapterFiles(training.adapter()).load(trainer.store(), model);
    if (auto* pairs = dynamic_cast<PreferenceData*>(training.data.get()); pairs && training.preference->compares())
      measure_reference(*pairs, *backend, trainer, [](int64_t) {});
    std::set<int64_t> lengths;
    double worst = 0;
    for (int64_t i = 0; i < training.settings.iterations; ++i) {
      std::vector<DataBatch> batches;
      std::vector<TrainingBatch> views;
      for (int64_t micro = 0; micro < training.settings.accumulate; ++micro) {
        const int64_t number = i * training.settings.accumulate + micro;
        batches.push_back(training.data->training_batch(number));
        lengths.insert(batches.back().shape.positions);
        for (const auto& [name, values] : batches.back().inputs) {
          if (is_text_number(batches.back(), name)) continue;
          std::vector<int32_t> same(values.size());
          recorded.read_ints(recorded.require(tensor_name(number, training.settings.accumulate, name)), same);
          REQUIRE(values == same);
        }
      }
      for (const DataBatch& batch : batches) views.push_back(batch.view());
      const double loss = trainer.step(i + 1, views), want = wanted.at(static_cast<size_t>(i)).get<double>();
      worst = std::max(worst, std::abs(loss / want - 1));
    }
    INFO("largest relative difference " << worst);
    CHECK(worst < 1e-5);
    CHECK((adapts || lengths.size() > 1));
    CHECK(wanted.back().get<double>() < 0.9 * wanted.front().get<double>());
  }
}
