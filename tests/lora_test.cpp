// Adapters: what is trained beside frozen weights, and in which files it goes out and in.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <set>

#include "models/adapters/adapter_files.h"
#include "models/generation/generation.h"
#include "models/stored_weights.h"
#include "models/training/trainer.h"
#include "models/weights.h"
#include "runtime/plan.h"
#include "shaders/matmul/matmul.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

// Conv1D and activations behind products; joint tensors, with heads that share keys; encoders beside decoders.
const char* const families[] = {"gpt2", "llama", "gpt_neox", "opt_after", "phi", "t5", "bart"};

Model adapted_model(const std::string& name, const LoraConfig& config, const std::vector<std::string>& targets,
                    DType weights = DType::f32) {
  Model model = load_model(fixtures / name);
  if (weights != DType::f32) store_weights_as(model, weights);
  adapt(model, config, modules_of_targets(model, targets), "base");
  return model;
}

BatchShape small_batch(const Model& model) {
  return {.rows = 2, .positions = 7, .source_positions = model.has_encoder() ? 5 : 0};
}

/// Integers for every input of a batch.
struct Integers {
  std::vector<int32_t> ids, source, targets;
  Feed feed;

  explicit Integers(const Model& model)
      : ids(some_ids(14, model.vocabulary, 5)),
        source(some_ids(10, model.vocabulary, 7)),
        targets(some_ids(14, model.vocabulary, 11)) {
    feed = {{"ids", ids}, {"targets", targets}};
    if (model.has_encoder()) feed.emplace_back("source", source);
  }
};

/// Base weights from their fixture, the adapter's drawn; B too, so that nothing is zero by chance.
void fill(Store& store, const Model& model, const std::string& name, bool draw_b = true) {
  load_parameters(store, model.parameters, fixtures / name);
  for (ParameterSpec parameter : model.parameters)
    if (parameter.adapter) store.write(parameter.name, start_values(parameter, 3));
  if (!draw_b) return;
  for (const LowRankProduct& product : model.adapter->products) {
    std::vector<float> b = store.read(product.b);
    const size_t columns = b.size() / static_cast<size_t>(product.out);
    const auto rank = static_cast<size_t>(model.adapter->config.rank);
    for (size_t m = 0; m < product.modules.size(); ++m)
      for (int64_t row = 0; row < product.modules[m].out; ++row)
        for (size_t r = 0; r < rank; ++r)
          b[static_cast<size_t>(product.modules[m].first + row) * columns + m * rank + r] =
              static_cast<float>(0.05 * std::sin(static_cast<double>(row * 7) + static_cast<double>(r + 3 * m)));
    store.write(product.b, b);
  }
}

struct Written {
  std::vector<int32_t> ids;
  std::vector<float> logits;  ///< of the first one
};

/// As a share of the largest value.
double share_of_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference = std::max(difference, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    largest = std::max(largest, std::abs(static_cast<double>(a[i])));
  }
  return difference / largest;
}

const TrainSettings brisk{.learning_rate = 1e-2, .schedule = Schedule::constant, .warmup = 0};

}  // namespace

TEST_CASE("modules are found by the ends of their paths", "[lora]") {
  const Model llama = load_model(fixtures / "llama");
  const auto usual = modules_of_targets(llama, {});
  REQUIRE(usual.size() == static_cast<size_t>(2 * llama.layers));
  CHECK(usual[0] == "model.layers.0.self_attn.q_proj");
  CHECK(usual[1] == "model.layers.0.self_attn.v_proj");
  CHECK(modules_of_targets(llama, {"layers.1.mlp.up_proj"}) == std::vector<std::string>{"model.layers.1.mlp.up_proj"});
  CHECK(modules_of_targets(llama, {"all-linear"}).size() == static_cast<size_t>(7 * llama.layers));
  CHECK_THAT(error_of([&] { modules_of_targets(llama, {"c_attn"}); }),
             ContainsSubstring("no linear module 'c_attn'; it has down_proj"));
  const Model gpt2 = load_model(fixtures / "gpt2");
  CHECK(modules_of_targets(gpt2, {})[0] == "transformer.h.0.attn.c_attn");
  CHECK_THAT(error_of([&] { modules_of_targets(gpt2, {"wte"}); }), ContainsSubstring("no linear module 'wte'"));
  CHECK(modules_of_targets(load_model(fixtures / "opt"), {})[1] == "model.decoder.layers.0.self_attn.v_proj");
  CHECK(modules_of_targets(load_model(fixtures / "phi"), {})[3] == "model.layers.0.mlp.fc2");
  CHECK(modules_of_targets(load_model(fixtures / "t5"), {})[0] == "encoder.block.0.layer.0.SelfAttention.q");
}

TEST_CASE("an adapter begins as nothing, and it alone is trained", "[lora][device][one_driver]") {
  const auto backend = make_backend("");
  for (const char* name : families)
    for (const DType weights : {DType::f32, DType::f16, DType::q8_0}) {
      if (weights == DType::f16 && name != std::string("llama")) continue;
      if (weights == DType::q8_0 && name != std::string("llama") && name != std::string("gpt2")) continue;
      INFO(name << ' ' << name_of(weights));
      const Model model = adapted_model(name, {.rank = 4, .alpha = 8, .dropout = 0.1}, {"all-linear"}, weights);
      const Integers integers(model);
      Trainer trainer(*backend, model, brisk, small_batch(model));
      fill(trainer.store(), model, name, false);
      const double before = trainer.evaluate(integers.feed);
      if (weights == DType::f32) {
        const Model plain = load_model(fixtures / name);
        Trainer whole(*backend, plain, brisk, small_batch(plain));
        load_parameters(whole.store(), plain.parameters, fixtures / name);
        CHECK(before == whole.evaluate(integers.feed));
      }
      std::map<std::string, std::vector<float>> values;
      for (const ParameterSpec& parameter : model.parameters)
        values[parameter.name] = trainer.store().read(parameter.name);
      for (int64_t i = 1; i <= 3; ++i) trainer.step(i, integers.feed);
      for (const ParameterSpec& parameter : model.parameters) {
        INFO(parameter.name);
        CHECK((trainer.store().read(parameter.name) == values[parameter.name]) == !parameter.adapter);
      }
      CHECK(trainer.evaluate(integers.feed) < before);
      // Zeros between the blocks of modules that share a tensor stay zeros.
      for (const LowRankProduct& product : model.adapter->products) {
        const std::vector<float> b = trainer.store().read(product.b);
        int64_t inside = 0;
        for (const LinearModule& module : product.modules) inside += module.out * model.adapter->config.rank;
        CHECK(std::ssize(b) - std::count(b.begin(), b.end(), 0.0f) <= inside);
      }
    }
}

TEST_CASE("nothing is computed for the gradients of frozen weights", "[lora]") {
  for (const char* name : families) {
    INFO(name);
    const Model model = adapted_model(name, {.rank = 4}, {});
    TrainingGraph training = build_loss_and_gradients(model, small_batch(model));
    const auto blocks = training_blocks(model, training.gradients, uint64_t{1} << 30);
    append_update(training.graph, blocks, join_gradients(training, model, blocks), brisk);
    size_t products = 0;
    for (const int n : live_nodes(training.graph)) {
      const Node& node = training.graph.nodes()[static_cast<size_t>(n)];
      products += is_matmul(node) && node.flag("join_rows");
      CHECK(node.op->name != "embedding_backward");
      CHECK(node.op->name != "position_backward");
      CHECK(node.op->name != "column_sum");
    }
    CHECK(products == 2 * model.adapter->products.size());
    int64_t trained = 0;
    for (const ParameterBlock& block : blocks)
      if (block.trained)
        for (const ParameterSpec* parameter : block.parameters) trained += parameter->adapter ? 1 : 1000;
    CHECK(trained == std::ssize(model.adapter->products) * 2);
    // With 16-bit values between ops, too: frozen weights are then read as they are stored.
    const Model halves = adapted_model(name, {.rank = 4}, {"all-linear"}, DType::bf16);
    const TrainingGraph mixed = build_loss_and_gradients(halves, small_batch(halves), true, {DType::bf16, true});
    for (const Node& node : mixed.graph.nodes())
      if (node.op->name == "cast" && mixed.graph.info(node.inputs[0]).storage == Storage::persistent)
        CHECK(mixed.graph.info(node.inputs[0]).name.find("lora_") != std::string::npos);
    // Blocks are decoded to 16 bits, once for each product.
    const Model blocks_of_8 = adapted_model(name, {.rank = 4}, {"all-linear"}, DType::q8_0);
    CHECK_NOTHROW(build_loss_and_gradients(blocks_of_8, small_batch(blocks_of_8), true, {DType::bf16, true}));
  }
}

TEST_CASE("an adapter goes out and in by PEFT's names, bit for bit", "[lora]") {
  const auto backend = make_backend("reference");
  for (const char* name : {"llama", "gpt2", "t5"}) {
    INFO(name);
    const LoraConfig config{.rank = 3, .alpha = 6, .dropout = 0.25, .rslora = true};
    const Model model = adapted_model(name, config, {});
    const TemporaryFolder folder;
    Trainer trainer(*backend, model, brisk, small_batch(model));
    fill(trainer.store(), model, name);
    trainer.save(folder.path());
    const SafetensorsFile tensors(folder / "adapter_model.safetensors");
    const std::string first = name == std::string("gpt2") ? "transformer.h.0.attn.c_attn"
                              : name == std::string("t5") ? "encoder.block.0.layer.0.SelfAttention.q"
                                                          : "model.layers.0.self_attn.q_proj";
    const TensorEntry& a = tensors.require("base_model.model." + first + ".lora_A.weight");
    const TensorEntry& b = tensors.require("base_model.model." + first + ".lora_B.weight");
    CHECK(a.shape[0] == 3);
    CHECK(b.shape[1] == 3);
    const nlohmann::json json = JsonObject::load(folder / "adapter_config.json").value();
    CHECK(json.at("peft_type") == "LORA");
    CHECK(json.at("r") == 3);
    CHECK(json.at("lora_alpha") == 6);
    CHECK(json.at("fan_in_fan_out") == (name == std::string("gpt2")));
    CHECK(json.at("task_type") == (name == std::string("t5") ? "SEQ_2_SEQ_LM" : "CAUSAL_LM"));
    CHECK(json.at("target_modules") == (name == std::string("gpt2") ? nlohmann::json{"c_attn"}
                                        : name == std::string("t5") ? nlohmann::json{"q", "v"}
                                                                    : nlohmann::json{"q_proj", "v_proj"}));

    Model other = load_model(fixtures / name);
    const AdapterFiles files(folder.path());
    CHECK(files.config() == config);
    CHECK(files.base() == "base");
    files.adapt(other);
    Trainer again(*backend, other, brisk, small_batch(other));
    again.load(folder.path());
    for (const LowRankProduct& product : model.adapter->products)
      for (const std::string& factor : {product.a, product.b})
        CHECK(again.store().read(factor) == trainer.store().read(factor));
  }
}

TEST_CASE("what an adapter's files may not have is named", "[lora]") {
  const auto backend = make_backend("reference");
  const Model model = adapted_model("llama", {.rank = 2}, {});
  const TemporaryFolder folder;
  Trainer trainer(*backend, model, brisk, small_batch(model));
  fill(trainer.store(), model, "llama");
  trainer.save(folder.path());
  const nlohmann::json good = JsonObject::load(folder / "adapter_config.json").value();
  const auto message = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json bad = good;
    bad[key] = value;
    write_json(folder / "adapter_config.json", bad);
    Model llama = load_model(fixtures / "llama");
    return error_of([&] { AdapterFiles(folder.path()).adapt(llama); });
  };
  CHECK(message("use_dora", false).empty());
  CHECK(message("alpha_pattern", nlohmann::json::object()).empty());
  for (const auto& [key, value] :
       std::initializer_list<std::pair<const char*, nlohmann::json>>{{"use_dora", true},
                                                                     {"rank_pattern", {{"q_proj", 4}}},
                                                                     {"alpha_pattern", {{"q_proj", 4}}},
                                                                     {"modules_to_save", {"lm_head"}},
                                                                     {"bias", "all"},
                                                                     {"lora_bias", true},
                                                                     {"layer_replication", {{0, 1}}},
                                                                     {"trainable_token_indices", {1}},
                                                                     {"init_lora_weights", "pissa"},
                                                                     {"something_new", "x"}})
    CHECK_THAT(message(key, value), ContainsSubstring(fmt::format("\"{}\"", key)));
  CHECK_THAT(message("peft_type", "IA3"), ContainsSubstring("'IA3'"));
  CHECK_THAT(message("r", 0), ContainsSubstring("r"));
  write_json(folder / "adapter_config.json", good);
  Model gpt2 = load_model(fixtures / "gpt2");
  CHECK_THAT(error_of([&] { AdapterFiles(folder.path()).adapt(gpt2); }),
             ContainsSubstring("belongs to no linear layer of this gpt2 model"));
  nlohmann::json wide = good;
  wide["r"] = 4;
  write_json(folder / "adapter_config.json", wide);
  Model llama = load_model(fixtures / "llama");
  CHECK_THAT(error_of([&] { AdapterFiles(folder.path()).adapt(llama); }),
             ContainsSubstring("model and rank make it [4,"));
}

TEST_CASE("a model with its adapter writes what the merged one writes", "[lora][device][one_driver]") {
  const auto backend = make_backend("");
  for (const char* name : {"llama", "gpt2", "t5"}) {
    INFO(name);
    const TemporaryFolder adapter, merged;
    const Model model = adapted_model(name, {.rank = 4, .alpha = 16}, {"all-linear"});
    {
      Trainer trainer(*backend, model, brisk, small_batch(model));
      fill(trainer.store(), model, name);
      trainer.save(adapter.path());
    }
    const AdapterFiles files(adapter.path());
    const Model plain = load_model(fixtures / name);
    Weights(plain.parameters, fixtures / name)
        .save(merged / "model.safetensors", {},
              [&](const ParameterSpec& parameter, std::span<float> values) { files.merge(model, parameter, values); });
    const auto written = [&](const Model& writer, const std::filesystem::path& weights, bool with_adapter) {
      Generator generator(*backend, writer, {.capacity = 24, .source_positions = writer.has_encoder() ? 6 : 0});
      load_parameters(generator.store(), writer.parameters, weights);
      if (with_adapter) files.load(generator.store(), writer);
      if (writer.has_encoder()) generator.encode(some_ids(6, writer.vocabulary, 7));
      Written text{.ids = {}, .logits = generator.prefill(std::vector<int32_t>{1, 2, 3})};
      std::vector<float> logits = text.logits;
      for (int i = 0; i < 16; ++i) {
        text.ids.push_back(static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin()));
        logits = generator.decode(text.ids.back());
      }
      return text;
    };
    const Written with = written(model, fixtures / name, true), same = written(plain, merged.path(), false),
                  without = written(plain, fixtures / name, false);
    CHECK(with.ids == same.ids);
    CHECK(share_of_difference(with.logits, same.logits) < 1e-5);
    CHECK(share_of_difference(with.logits, without.logits) > 1e-2);
  }
}

TEST_CASE("an adapter's training goes on from its files to the same bits", "[lora][device][one_driver]") {
  const auto backend = make_backend("");
  const Model model = adapted_model("llama", {.rank = 4, .alpha = 8, .dropout = 0.2}, {}, DType::bf16);
  const Integers integers(model);
  const TemporaryFolder folder;
  Trainer whole(*backend, model, brisk, small_batch(model));
  fill(whole.store(), model, "llama");
  for (int64_t i = 1; i <= 3; ++i) whole.step(i, integers.feed);
  whole.save(folder.path());
  CHECK_FALSE(std::filesystem::exists(folder / "model.safetensors"));
  Trainer later(*backend, model, brisk, small_batch(model));
  load_parameters(later.store(), model.parameters, fixtures / "llama");
  later.load(folder.path());
  for (int64_t i = 4; i <= 6; ++i) CHECK(whole.step(i, integers.feed) == later.step(i, integers.feed));
}
