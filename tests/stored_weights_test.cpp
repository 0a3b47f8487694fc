// Weights that a store keeps in encoded blocks, from the layout of their rows to whole models.

#include "models/stored_weights.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "models/families/registry.h"
#include "models/generation/generation.h"
#include "models/parameters.h"
#include "runtime/check.h"
#include "runtime/encoding/encoding.h"
#include "runtime/encoding/planes.h"
#include "runtime/op.h"

using namespace vkformer;

namespace {

const nlohmann::json gpt2_of_blocks = {{"model_type", "gpt2"}, {"n_embd", 64}, {"n_head", 2},      {"n_layer", 2},
                                       {"vocab_size", 23},     {"n_ctx", 16},  {"n_positions", 16}};
const nlohmann::json llama_of_blocks = {
    {"model_type", "llama"},  {"hidden_size", 64},       {"num_attention_heads", 4}, {"num_key_value_heads", 2},
    {"num_hidden_layers", 2}, {"intermediate_size", 96}, {"vocab_size", 23},         {"max_position_embeddings", 16}};
const nlohmann::json qwen2_of_blocks = {
    {"model_type", "qwen2"},  {"hidden_size", 64},       {"num_attention_heads", 4}, {"num_key_value_heads", 2},
    {"num_hidden_layers", 2}, {"intermediate_size", 96}, {"vocab_size", 23},         {"max_position_embeddings", 16}};

std::vector<float> random_floats(size_t count) {
  std::mt19937 draw(3);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(draw() % 2001) / 1000 - 1;
  return values;
}

/// Of a prompt and two tokens more; `rounded`: a store that has the weights in other types.
std::vector<float> logits_of_stored(Backend& backend, const Model& model, const Model* stored, const Store* rounded) {
  Generator generator(backend, model, {.capacity = 12, .cache_type = DType::f32});
  initialize(generator.store(), model.parameters, 7);
  for (size_t i = 0; rounded && i < model.parameters.size(); ++i) {
    const ParameterSpec& parameter = stored->parameters[i];
    const std::vector<float> values = rounded->read(parameter.name);
    generator.store().write(parameter.name, parameter.turned ? turned(values, parameter.shape[1]) : values);
  }
  std::vector<float> all = generator.prefill(std::vector<int32_t>{3, 1, 4, 1, 5, 9, 2, 6});
  for (int32_t token : {7, 11}) {
    const auto next = generator.decode(token);
    all.insert(all.end(), next.begin(), next.end());
  }
  return all;
}

/// The model computes with its weights what it would in f32 with the same values.
void check_stored(Backend& backend, const Model& model, const Model& stored) {
  Generator generator(backend, stored, {.capacity = 12, .cache_type = DType::f32});
  initialize(generator.store(), stored.parameters, 7);
  const auto got = logits_of_stored(backend, stored, nullptr, nullptr);
  const auto same = logits_of_stored(backend, model, &stored, &generator.store());
  REQUIRE(got.size() == same.size());
  float largest = 0, worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, std::abs(same[i]));
    worst = std::max(worst, std::abs(got[i] - same[i]));
  }
  CHECK(largest > 0);
  CHECK(worst < 1e-5f * largest);
}

}  // namespace

TEST_CASE("rows of blocks go to planes and back", "[encoding]") {
  for (size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!is_blocks(dtype)) continue;
    const int64_t columns = 3 * format_of(dtype).values, rows = 5;
    std::vector<std::byte> blocks(static_cast<size_t>(encoded_bytes(dtype, rows * columns)));
    std::mt19937 draw(5);
    for (std::byte& byte : blocks) byte = static_cast<std::byte>(draw() & 0xFF);
    std::vector<std::byte> planes(static_cast<size_t>(rows * row_bytes(dtype, columns))), back(blocks.size());
    CHECK(row_bytes(dtype, columns) % 16 == 0);
    to_planes(dtype, columns, blocks, planes);
    from_planes(dtype, columns, planes, back);
    CHECK(back == blocks);
    CHECK_THROWS_AS(to_planes(dtype, columns, std::span(blocks).first(blocks.size() - 1), planes), Error);
  }
}

TEST_CASE("stores take blocks as they lie in files, and floats", "[encoding][device]") {
  for (const char* device : {"reference", ""}) {
    auto backend = make_backend(device);
    StoreLayout layout;
    const Shape shape{5, 512};
    layout.add_block("all", std::vector<StoreLayout::Part>{{"w", {shape, DType::q6_k}}, {"x", {Shape{3}}}});
    CHECK(layout.total_bytes() == 5 * 432 + 16);  // two blocks of 210 bytes, in whole vectors
    auto store = backend->make_store(layout);
    const std::vector<float> values = random_floats(5 * 512);
    std::vector<std::byte> blocks(static_cast<size_t>(encoded_bytes(DType::q6_k, 5 * 512)));
    encode(DType::q6_k, values, blocks);
    std::vector<float> expected(values.size());
    decode(DType::q6_k, blocks, expected);
    const std::span<const std::byte> bytes(blocks);
    store->write("x", std::vector<float>{1, 2, 3});
    store->write_stored("w", 0, bytes.first(2 * 420));
    store->write_stored("w", 2 * 512, bytes.subspan(2 * 420));
    CHECK(store->read("w") == expected);
    store->write("w", std::vector<float>(values.size(), 0));
    store->write_part("w", 512, std::span(values).subspan(512, 512));
    const std::vector<float> changed = store->read("w");
    CHECK(std::equal(changed.begin() + 512, changed.begin() + 1024, expected.begin() + 512));
    CHECK(std::ranges::count(changed, 0.0f) >= 4 * 512);
    CHECK(store->read("x") == std::vector<float>{1, 2, 3});
    store->write_stored("x", 0, std::as_bytes(std::span(values).first(3)));
    CHECK(store->read("x") == std::vector<float>(values.begin(), values.begin() + 3));
    CHECK_THROWS_AS(store->write_part("w", 256, std::span(values).first(512)), Error);
    CHECK_THROWS_AS(store->write_stored("w", 4 * 512, bytes.first(2 * 420)), Error);
    CHECK_THROWS_AS(store->write_stored("x", 0, bytes.first(420)), Error);
  }
}

TEST_CASE("weights stored in blocks compute what the same values in f32 do", "[encoding][device][one_driver]") {
  for (const char* device : {"reference", ""})
    for (const nlohmann::json& config : {gpt2_of_blocks, llama_of_blocks})
      for (DType dtype : {DType::q8_0, DType::q4_k}) {
        auto backend = make_backend(device);
        const Model model = make_model(JsonObject::parse(config.dump(), "test"));
        Model stored = model;
        store_weights_as(stored, dtype);
        const DType fitting = dtype == DType::q8_0 ? DType::q8_0 : DType::q5_0;  // rows of 64 and 96
        CHECK(std::ranges::count(stored.parameters, fitting, &ParameterSpec::dtype) > 6);
        CHECK(std::ranges::count(stored.parameters, true, &ParameterSpec::turned) ==
              (config == gpt2_of_blocks ? 8 : 0));
        check_stored(*backend, model, stored);
      }
}

TEST_CASE("parts of a joint tensor may have unlike types", "[encoding][device][one_driver]") {
  for (const char* device : {"reference", ""})
    for (const nlohmann::json& config : {llama_of_blocks, qwen2_of_blocks}) {  // without and with biases
      auto backend = make_backend(device);
      const Model model = make_model(JsonObject::parse(config.dump(), "test"));
      Model stored = model;
      store_weights_as(stored, [](const ParameterSpec& parameter, bool) {
        return parameter.name.ends_with("v_proj.weight") ? DType::q8_0 : DType::q4_0;
      });
      CHECK(std::ranges::count(stored.parameters, true, &ParameterSpec::apart) == 6);
      const Graph graph = build_generation(stored, {.capacity = 12, .cache_type = DType::f32}, 1);
      CHECK(std::ranges::count_if(graph.nodes(), [](const Node& node) { return node.op->name == "join_columns"; }) ==
            2);
      check_stored(*backend, model, stored);
    }
}

TEST_CASE("experts whose weights have unlike types are stored in one that holds all", "[weights]") {
  const auto types_of = [](DType gates, DType ups) {
    Model model = make_model(JsonObject::parse(
        R"({"model_type": "mixtral", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4,
            "num_hidden_layers": 1, "intermediate_size": 64, "vocab_size": 23, "num_local_experts": 2})",
        "config.json"));
    store_weights_as(model, [&](const ParameterSpec& parameter, bool) {
      return parameter.name.find(".w3.") != std::string::npos ? ups : gates;
    });
    std::set<DType> types;
    for (const ParameterSpec& parameter : model.parameters) {
      if (parameter.joint.find("gate_up_proj") == std::string::npos) continue;
      CHECK(!parameter.apart);
      types.insert(parameter.dtype);
    }
    return types;
  };
  CHECK(types_of(DType::q8_0, DType::q8_0) == std::set{DType::q8_0});
  CHECK(types_of(DType::q8_0, DType::f16) == std::set{DType::f16});
  CHECK(types_of(DType::q8_0, DType::f32) == std::set{DType::f32});
}
