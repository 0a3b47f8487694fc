// Prompts on matrix cores: products with weights of 16 bits or blocks, and attention over the cache.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/generation/generation.h"
#include "models/parameters.h"
#include "models/stored_weights.h"
#include "runtime/plan.h"
#include "shaders/attention/attention.h"
#include "shaders/matmul/gpu/matrix_layout.h"
#include "shaders/matmul/matmul.h"
#include "tests/matrix_helpers.h"
#include "tests/model_helpers.h"
#include "tests/program_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

nlohmann::json one_layer(const char* family) {
  return {{"model_type", family},     {"hidden_size", 64},
          {"num_attention_heads", 4}, {"num_key_value_heads", 4},
          {"num_hidden_layers", 1},   {"intermediate_size", 96},
          {"vocab_size", 23},         {"max_position_embeddings", 4096}};
}

Model stored_as(DType weights, const nlohmann::json& config) {
  Model model = testing::model_of(config);
  store_weights_as(model, weights);
  return model;
}

/// Behind two prompts of 128 tokens each, of graphs for the device of these facts; of two rows the second is padded.
std::vector<float> logits_of_prompts(Backend& backend, const Model& model, const DeviceFacts* device, int64_t rows = 1,
                                     DType cache = DType::f32) {
  const GeneratorShape shape{.rows = rows, .capacity = 256, .left_padded = rows > 1, .cache_type = cache};
  const GenerationPlan plan = plan_generation(model, shape, parameter_blocks(model.parameters, 1u << 30));
  const std::shared_ptr<Store> store = backend.make_store(plan.layout);
  write_constants(*store, model);
  initialize(*store, model.parameters, 7);
  std::vector<int32_t> last, first(static_cast<size_t>(rows)), mask(static_cast<size_t>(rows) * 256, 1);
  for (int32_t r = 0; r < static_cast<int32_t>(rows); ++r) last.push_back(128 * r + 127);
  std::vector<float> logits;
  for (const int32_t position : {0, 128}) {
    const RunShape run = prompt_run(model, plan.shape, 128, position);
    const auto program = backend.compile(build_generation(model, plan.shape, run, device), store);
    program->write("last", last);
    program->write("ids", testing::some_ids(128 * rows, 23, 5 + position));
    program->write("position", std::vector<int32_t>{position});
    if (rows > 1) {
      std::fill_n(mask.begin() + 256, 9, 0);
      first = {position, position - 9};
      program->write("mask", mask);
      program->write("first_positions", first);
    }
    program->run();
    for (const float logit : program->read("logits")) logits.push_back(logit);
  }
  return logits;
}

}  // namespace

TEST_CASE("prompts run on matrix cores with weights of 16 bits or blocks, tokens one by one as they are",
          "[matrix_cores][long]") {
  const DeviceFacts facts = device_with_matrix_cores();
  const auto reference = make_backend("reference");
  for (const DType weights : {DType::f16, DType::q8_0, DType::q4_0}) {
    const Model model = stored_as(weights, one_layer("llama"));
    const double difference =
        largest_difference(logits_of_prompts(*reference, model, nullptr), logits_of_prompts(*reference, model, &facts));
    CHECK(difference > 0);
    CHECK(difference < 2e-3);

    const auto casts = [&](int64_t positions, const DeviceFacts& device, DType cache = DType::f32) {
      const Graph graph = build_generation(model, {.capacity = 64, .cache_type = cache}, positions, &device);
      int64_t count = 0;
      for (const Node& node : graph.nodes()) {
        count += node.op->name == "cast";
        if (is_matmul(node) && is_half(node.input_types[0].dtype)) CHECK(offered(node.op->candidates(node, device)));
      }
      return count;
    };
    // Of the attention's queries and cache, and of weights where these are blocks: all other rows are written rounded.
    const int64_t blocks = is_blocks(weights) ? 4 : 0;
    CHECK(casts(64, facts) == blocks + 2);
    CHECK(casts(64, facts, DType::f16) == blocks);  // their product gives queries, keys and values as they are kept
    CHECK(casts(1, facts) == 0);
    CHECK(casts(1, facts, DType::f16) == 0);
    CHECK(casts(64, device_with_matrix_cores(DeviceKind::cpu)) == 0);
  }
}

TEST_CASE("a prompt's attention goes to matrix cores, by whatever rules keys are seen", "[matrix_cores][long]") {
  DeviceFacts facts = device_with_matrix_cores();
  facts.matrix_shapes.push_back({16, 16, 16, DType::bf16});
  const auto reference = make_backend("reference");
  nlohmann::json shared_keys = one_layer("llama"), window = one_layer("mistral"), caps = one_layer("gemma2");
  shared_keys["num_key_value_heads"] = 2;
  window["sliding_window"] = 120;
  caps["head_dim"] = 16;
  caps["sliding_window"] = 120;
  caps["attn_logit_softcapping"] = 0.5;
  const nlohmann::json gpt2{{"model_type", "gpt2"}, {"n_embd", 64}, {"n_head", 4},       {"n_layer", 1},
                            {"vocab_size", 23},     {"n_ctx", 256}, {"n_positions", 256}};
  nlohmann::json norms = one_layer("qwen3");
  norms["head_dim"] = 16;
  struct Setting {
    nlohmann::json config;
    DType type = DType::f16;
    int64_t rows = 2;
  };
  const Setting settings[] = {{one_layer("llama")}, {shared_keys},         {window}, {caps}, {norms}, {gpt2},
                              {gpt2, DType::bf16},  {norms, DType::f16, 1}};
  for (const auto& [config, type, rows] : settings) {
    CAPTURE(config.dump(), name_of(type), rows);
    const Model model = stored_as(type, config);
    const GeneratorShape shape{.rows = rows, .capacity = 256, .left_padded = rows > 1};
    for (const Graph graph = build_generation(model, shape, 128, &facts); const Node& node : graph.nodes())
      if (is_attention(node)) CHECK(node.op->candidates(node, facts).front() == "matrix");
    GeneratorShape halves = shape;
    halves.cache_type = type;
    for (const Graph graph = build_generation(model, halves, 128, &facts); const Node& node : graph.nodes())
      CHECK(node.op->name != "cast");
    const std::vector<float> right = logits_of_prompts(*reference, model, nullptr, rows);
    const double bound = type == DType::f16 ? 2e-3 : 2e-2;
    const double difference = largest_difference(right, logits_of_prompts(*reference, model, &facts, rows));
    CHECK(difference > 0);
    CHECK(difference < bound);
    CHECK(largest_difference(right, logits_of_prompts(*reference, model, &facts, rows, type)) < bound);
  }
}

TEST_CASE("a prompt's attention stays as it is where rounding the cache would cost more than it saves",
          "[matrix_cores]") {
  const DeviceFacts facts = device_with_matrix_cores();
  const auto type = [&](const char* key, const nlohmann::json& value, int64_t positions, int64_t capacity,
                        DType cache = DType::f32) {
    nlohmann::json config = one_layer("llama");
    if (*key) config[key] = value;
    const GeneratorShape shape{.capacity = capacity, .cache_type = cache};
    const Graph graph = build_generation(stored_as(DType::f16, config), shape, positions, &facts);
    for (const Node& node : graph.nodes())
      if (is_attention(node)) return node.input_types[0].dtype;
    return DType::i32;
  };
  CHECK(type("", {}, 64, 64) == DType::f16);
  CHECK(type("", {}, 64, 256) == DType::f32);
  CHECK(type("num_key_value_heads", 1, 64, 256) == DType::f16);  // four heads have each key
  CHECK(type("", {}, 512, 4096) == DType::f16);
  CHECK(type("head_dim", 12, 64, 64) == DType::f32);
  CHECK(type("", {}, 64, 4096, DType::f16) == DType::f16);  // only queries are rounded
  CHECK(type("", {}, 64, 64, DType::bf16) == DType::f32);   // products are of f16
}

TEST_CASE("a prompt's experts go to matrix cores, with blocks as they are", "[matrix_cores][long]") {
  const DeviceFacts facts = device_with_matrix_cores();
  const auto reference = make_backend("reference");
  nlohmann::json config = one_layer("gpt_oss");
  config.update({{"num_local_experts", 4}, {"num_experts_per_tok", 2}, {"head_dim", 16}});
  for (const DType weights : {DType::f32, DType::f16, DType::q8_0, DType::mxfp4}) {
    INFO(name_of(weights));
    const Model model = stored_as(weights, config);
    const auto rows_of_experts = [&](int64_t positions) {
      const Graph graph = build_generation(model, {.capacity = 64, .cache_type = DType::f16}, positions, &facts);
      std::string types;
      for (const Node& node : graph.nodes()) {
        if (node.op->name == "expert_matmul")
          types += fmt::format("{} {} ", name_of(node.input_types[0].dtype), node.op->candidates(node, facts).front());
        if (node.op->name == "cast" && node.in(0).rank() == 3) types += "cast ";
      }
      return types;
    };
    // The norm is read by the router, too, in f32: for the experts it is rounded apart. The gate writes what it is to
    // be.
    CHECK(rows_of_experts(64) ==
          (weights == DType::f32 ? "f32 tile32 f32 tile32 " : "cast f16 matrix64 f16 matrix64 "));
    CHECK(rows_of_experts(1) == "f32 vector f32 vector ");
    CHECK(rows_of_experts(32) == "f32 tile32 f32 tile32 ");
    if (weights == DType::f32) continue;
    const double difference =
        largest_difference(logits_of_prompts(*reference, model, nullptr), logits_of_prompts(*reference, model, &facts));
    CHECK(difference > 0);
    CHECK(difference < 2e-3);
  }
}

TEST_CASE("prompts on a device's matrix cores", "[matrix_cores][device]") {
  const auto backend = make_backend("", {.as_gpu = true, .note = [](const std::string&) {}});
  if (!backend->facts().has_matrix_cores(DType::f16)) return;
  nlohmann::json config = one_layer("mistral");
  config["sliding_window"] = 120;
  const Model model = stored_as(DType::q4_0, config);
  for (const DType cache : {DType::f32, DType::f16})
    for (const int64_t rows : {1, 2}) {
      const auto right = logits_of_prompts(*make_backend("reference"), model, &backend->facts(), rows, cache);
      CHECK(largest_difference(right, logits_of_prompts(*backend, model, &backend->facts(), rows, cache)) < 1e-3);
    }
}

TEST_CASE("formed keys and values go to matrix cores", "[matrix_cores][long]") {
  const DeviceFacts facts = device_with_matrix_cores();
  const auto reference = make_backend("reference");
  const Model model = stored_as(DType::f16, latent_config());
  for (const DType cache : {DType::f32, DType::f16})
    for (const RunShape& run : {RunShape(128, 128), RunShape(128, 512)}) {
      INFO(name_of(cache) << ", " << run.positions << " of " << run.seen);
      const Graph graph = build_generation(model, {.capacity = 512, .cache_type = cache}, run, &facts);
      int64_t casts = 0;
      for (const int i : live_nodes(graph)) {
        const Node& node = graph.nodes()[static_cast<size_t>(i)];
        if (is_attention(node)) CHECK(offered(node.op->candidates(node, facts)));
        casts += node.op->name == "cast" && node.scope == "layers.0";
      }
      // Of a cache in f32: what keys and values are made of, and the part of the keys that all heads share.
      CHECK(casts == (cache == DType::f32 ? 2 : 0));
    }
  for (const int64_t rows : {1, 2}) {
    const std::vector<float> right = logits_of_prompts(*reference, model, nullptr, rows);
    for (const DType cache : {DType::f32, DType::f16})
      CHECK(largest_difference(right, logits_of_prompts(*reference, model, &facts, rows, cache)) < 5e-3);
  }
}
