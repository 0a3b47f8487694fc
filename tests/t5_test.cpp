// T5 and T5 v1.1: relative positions beyond the tables, generating, configs, start values.

#include "models/families/t5/t5.h"
#include "models/families/registry.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/generation/generation.h"
#include "models/parameters.h"
#include "models/training/trainer.h"
#include "models/weights.h"
#include "runtime/check.h"
#include "runtime/files/safetensors.h"
#include "shaders/relative_bias/t5_buckets.h"
#include "tests/config_messages.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

/// Sizes without common factors; the heads together are wider than the model, sequences longer than max_distance.
T5Config odd_config(bool gated, double dropout) {
  return {.vocabulary = 37,
          .width = 19,
          .head_width = 7,
          .inner = 23,
          .encoder_layers = 2,
          .decoder_layers = 3,
          .heads = 3,
          .buckets = 6,
          .max_distance = 8,
          .activation = gated ? Activation::gelu_tanh : Activation::relu,
          .gated = gated,
          .dropout = dropout,
          .tied = !gated,
          .scaled_head = !gated};
}

const ParameterSpec& parameter_of(const Model& model, const std::string& name) {
  for (const ParameterSpec& parameter : model.parameters)
    if (parameter.name == name) return parameter;
  FAIL("no parameter " << name);
  return model.parameters[0];
}

nlohmann::json t5_config(const nlohmann::json& changes) {
  nlohmann::json config = {{"model_type", "t5"}, {"vocab_size", 37}, {"d_model", 19},  {"d_kv", 7},
                           {"num_heads", 3},     {"d_ff", 23},       {"num_layers", 2}};
  config.update(changes);
  return config;
}

Model read_model(const nlohmann::json& changes) {
  return make_model(JsonObject::parse(t5_config(changes).dump(), "config.json"));
}

}  // namespace

TEST_CASE("positions beyond max_distance are in the buckets at the table's ends", "[t5]") {
  for (const int64_t max_distance : {9, 20, 100, 127, 128, 1000})
    for (const int64_t buckets : {4, 5, 16}) {
      const Model model =
          read_model({{"relative_attention_num_buckets", buckets}, {"relative_attention_max_distance", max_distance}});
      REQUIRE(model.constants.size() == 2);
      for (const bool encoder : {true, false}) {
        const ConstantSpec& constant = model.constants[encoder ? 0 : 1];
        CHECK(constant.name == (encoder ? "encoder.buckets" : "decoder.buckets"));
        const std::vector<float> table = constant.values();
        REQUIRE(static_cast<int64_t>(table.size()) == constant.type.elements());
        const int64_t reach = 3 * max_distance, last = static_cast<int64_t>(table.size()) - 1;
        const auto all = t5_buckets(-reach, reach, encoder, buckets, max_distance);
        int64_t wrong = 0;
        for (int64_t relative = -reach; relative <= reach; ++relative) {
          const auto clamped = static_cast<size_t>(std::clamp<int64_t>(relative + max_distance, 0, last));
          wrong += table[clamped] != static_cast<float>(all[static_cast<size_t>(relative + reach)]);
        }
        CHECK(wrong == 0);
      }
    }
}

TEST_CASE("decoding token by token gives the logits of the whole target", "[t5][device]") {
  constexpr int64_t source_length = 21, length = 17;
  for (const bool gated : {false, true}) {
    const Model model = make_t5(odd_config(gated, 0.1));
    auto backend = make_backend("");
    Generator generator(*backend, model, {.capacity = length + 2, .source_positions = source_length + 4});
    initialize(generator.store(), model.parameters, 5);
    const auto ids = some_ids(length, model.vocabulary, 11), source = some_ids(source_length, model.vocabulary, 3);
    generator.encode(source);

    Graph graph;
    graph.mark_output(
        add_logits(graph, model, add_inputs(graph, model, {.positions = length, .source_positions = source_length})),
        "logits");
    StoreLayout layout;
    const auto blocks = parameter_blocks(model.parameters, backend->facts().max_allocation);
    add_model(layout, model, blocks);
    const std::shared_ptr<Store> store = backend->make_store(layout);
    write_constants(*store, model);
    initialize(*store, model.parameters, 5);
    auto program = backend->compile(std::move(graph), store);
    write_feed(*program, {{"ids", ids}, {"source", source}});
    program->run();
    const std::vector<float> all = program->read("logits");

    const auto agrees = [&](const std::vector<float>& logits, size_t position) {
      double worst = 0;
      for (size_t v = 0; v < logits.size(); ++v) {
        const float expected = all[position * logits.size() + v];
        worst = std::max(worst, static_cast<double>(std::abs(logits[v] - expected) / (1 + std::abs(expected))));
      }
      return worst < 1e-4;
    };
    std::vector<float> stepwise = generator.prefill(std::span(ids).first(1));
    CHECK(agrees(stepwise, 0));
    for (size_t i = 1; i < ids.size(); ++i) CHECK(agrees(generator.decode(ids[i]), i));
    CHECK(agrees(generator.prefill(std::span(ids).first(13)), 12));
  }
}

TEST_CASE("training with dropout on the device follows the reference", "[t5][device][one_driver]") {
  const Model model = make_t5(odd_config(true, 0.2));
  const TrainSettings settings{.iterations = 3, .warmup = 0};
  const BatchShape shape{.rows = 2, .positions = 11, .source_positions = 13, .mask = true};
  const auto train = [&](Backend& backend) {
    Trainer trainer(backend, model, settings, shape);
    initialize(trainer.store(), model.parameters, 5);
    std::vector<int32_t> mask(26, 1);
    std::fill(mask.end() - 4, mask.end(), 0);
    std::vector<double> losses;
    for (int64_t i = 1; i <= settings.iterations; ++i) {
      const auto ids = some_ids(22, 37, 5 + i), targets = some_ids(22, 37, 6 + i), source = some_ids(26, 37, 3 + i);
      losses.push_back(
          trainer.step(i, {{"ids", ids}, {"source", source}, {"source_mask", mask}, {"targets", targets}}));
    }
    return losses;
  };
  auto reference = make_reference_backend(), device = make_backend("");
  const std::vector<double> expected = train(*reference), got = train(*device);
  for (size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(expected[i] - got[i]) < 1e-4 * expected[i]);
}

TEST_CASE("start values follow initializer_factor", "[t5]") {
  T5Config config = odd_config(true, 0);
  config.factor = 0.5;
  const Model model = make_t5(config);
  auto backend = make_reference_backend();
  StoreLayout layout;
  add_model(layout, model, parameter_blocks(model.parameters, backend->facts().max_allocation));
  const auto store = backend->make_store(layout);
  initialize(*store, model.parameters, 3);
  CHECK(store->read("decoder.final_layer_norm.weight") == std::vector<float>(19, 0.5f));
  const auto deviation = [&](const std::string& name) { return parameter_of(model, name).deviation; };
  const auto near = [](double a, double b) { return std::abs(a - b) < 1e-12; };
  CHECK(near(deviation("shared.weight"), 0.5));
  CHECK(near(deviation("lm_head.weight"), 0.5 / std::sqrt(19.0)));
  CHECK(near(deviation("encoder.block.1.layer.0.SelfAttention.q.weight"), 0.5 / std::sqrt(19.0 * 7)));
  CHECK(near(deviation("decoder.block.2.layer.1.EncDecAttention.k.weight"), 0.5 / std::sqrt(19.0)));
  CHECK(near(deviation("decoder.block.2.layer.1.EncDecAttention.o.weight"), 0.5 / std::sqrt(21.0)));
  CHECK(near(deviation("decoder.block.0.layer.2.DenseReluDense.wi_1.weight"), 0.5 / std::sqrt(19.0)));
  CHECK(near(deviation("decoder.block.0.layer.2.DenseReluDense.wo.weight"), 0.5 / std::sqrt(23.0)));
}

TEST_CASE("configs of old and new files are read", "[t5]") {
  const auto has = [](const Model& model, const std::string& name) {
    for (const ParameterSpec& parameter : model.parameters)
      if (parameter.name == name) return true;
    return false;
  };
  const std::string gate = "encoder.block.0.layer.1.DenseReluDense.wi_0.weight";
  const Model plain = read_model(nlohmann::json::object());
  CHECK(!has(plain, "lm_head.weight"));
  CHECK(!has(plain, gate));
  CHECK(has(plain, "decoder.block.1.layer.2.layer_norm.weight"));
  CHECK((*plain.config)["relative_attention_max_distance"] == 128);
  CHECK((*plain.config)["dense_act_fn"] == "relu");
  const Model v11 = read_model({{"feed_forward_proj", "gated-gelu"},
                                {"tie_word_embeddings", false},
                                {"num_decoder_layers", 3},
                                {"architectures", {"T5ForConditionalGeneration"}}});
  CHECK(has(v11, "lm_head.weight"));
  CHECK(has(v11, gate));
  CHECK(has(v11, "decoder.block.2.layer.2.layer_norm.weight"));
  CHECK(!has(v11, "encoder.block.2.layer.1.layer_norm.weight"));
  CHECK((*v11.config)["dense_act_fn"] == "gelu_new");
  CHECK((*v11.config)["scale_decoder_outputs"] == false);
  const Model v5 = read_model({{"tie_word_embeddings", true}, {"scale_decoder_outputs", false}});
  CHECK(!has(v5, "lm_head.weight"));
  CHECK((*v5.config)["tie_word_embeddings"] == true);
  CHECK((*v5.config)["scale_decoder_outputs"] == false);
  CHECK((*read_model({{"feed_forward_proj", "gated-silu"}}).config)["dense_act_fn"] == "silu");
  CHECK((*read_model({{"feed_forward_proj", "gelu"}}).config)["dense_act_fn"] == "gelu");
}

TEST_CASE("the files of a T5 v1.1 tell whether its head is a tensor of its own", "[t5]") {
  const testing::TemporaryFolder folder;
  const Model made = make_t5(odd_config(true, 0));
  for (const bool own_head : {true, false}) {
    std::vector<std::vector<float>> values;
    std::vector<TensorSource> tensors;
    for (const ParameterSpec& parameter : made.parameters) {
      if (parameter.name == "lm_head.weight" && !own_head) continue;
      values.push_back(start_values(parameter, 3));
      const auto dimensions = parameter.shape.dimensions();
      tensors.push_back(TensorSource::of(parameter.name, {dimensions.begin(), dimensions.end()},
                                         std::span<const float>(values.back())));
    }
    write_safetensors(folder / "model.safetensors", std::move(tensors));
    // As transformers 4 writes it, and 5.
    for (const bool tied : {false, true}) {
      nlohmann::json config = *made.config;
      config.update({{"tie_word_embeddings", tied}, {"scale_decoder_outputs", false}});
      testing::put(folder / "config.json", config.dump());
      const Model model = load_model(folder.path());
      CHECK((*model.config)["tie_word_embeddings"] == !own_head);
      CHECK((*model.config)["scale_decoder_outputs"] == false);
      CHECK(Weights(model.parameters, folder.path()).extra().empty());
      CHECK(model.parameters.size() == made.parameters.size() - (own_head ? 0 : 1));
    }
  }
}

TEST_CASE("wrong configs name the file and the key", "[t5]") {
  const auto says = [](const nlohmann::json& changes, const std::string& word) {
    check_refused(t5_config(changes), word);
  };
  says({{"d_kv", 257}}, "d_kv");
  says({{"d_model", 0}}, "d_model");
  says({{"d_model", 1e30}}, "d_model");
  says({{"num_heads", -3}}, "num_heads");
  says({{"num_decoder_layers", 0}}, "num_decoder_layers");
  says({{"vocab_size", int64_t{1} << 40}}, "vocab_size");
  says({{"relative_attention_num_buckets", 3}}, "relative_attention_num_buckets");
  says({{"relative_attention_max_distance", 16}}, "relative_attention_max_distance");
  says({{"feed_forward_proj", "swiglu"}}, "feed_forward_proj 'swiglu'");
  says({{"feed_forward_proj", "plain-gelu"}}, "plain-gelu");
  says({{"feed_forward_proj", "gated-gelu-x"}}, "gated-gelu-x");
  says({{"feed_forward_proj", "gated-tanh"}}, "tanh");
  says({{"dense_act_fn", "mish"}}, "dense_act_fn");
  says({{"dropout_rate", 1.5}}, "dropout_rate");
  says({{"layer_norm_epsilon", -1}}, "layer_norm_epsilon");
  says({{"initializer_factor", -1}}, "initializer_factor");
  says({{"architectures", {"T5ForTokenClassification"}}}, "T5ForTokenClassification");
  says({{"is_encoder_decoder", false}}, "is_encoder_decoder");
}

TEST_CASE("the config that is written describes the model that was read", "[t5]") {
  for (const bool gated : {false, true})
    for (const Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
      T5Config config = odd_config(gated, 0.25);
      config.activation = activation;
      const Model model = make_t5(config);
      const Model again = make_model(JsonObject::parse(model.config->dump(), "config.json"));
      CHECK(*again.config == *model.config);
      CHECK(again.parameter_count() == model.parameter_count());
    }
}
