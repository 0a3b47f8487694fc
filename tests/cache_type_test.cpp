// Keys and values of 16 bits.

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "models/generation/generation.h"
#include "models/parameters.h"
#include "models/stored_weights.h"
#include "tests/model_helpers.h"
#include "tests/program_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

const nlohmann::json gpt2 = {{"model_type", "gpt2"}, {"n_embd", 24}, {"n_head", 3},      {"n_layer", 2},
                             {"vocab_size", 23},     {"n_ctx", 96},  {"n_positions", 96}};
/// Heads of 6: no whole vectors.
const nlohmann::json llama = {
    {"model_type", "llama"},  {"hidden_size", 24},       {"num_attention_heads", 4}, {"num_key_value_heads", 2},
    {"num_hidden_layers", 2}, {"intermediate_size", 37}, {"vocab_size", 23},         {"max_position_embeddings", 96}};
const nlohmann::json t5 = {{"model_type", "t5"}, {"vocab_size", 23}, {"d_model", 19},  {"d_kv", 6},
                           {"num_heads", 3},     {"d_ff", 22},       {"num_layers", 2}};

DeviceFacts gpu() {
  DeviceFacts facts;
  facts.kind = DeviceKind::discrete;
  return facts;
}

/// Behind a prompt and three tokens, of two rows that change places in between.
std::vector<float> logits(Backend& backend, const Model& model, DType cache_type) {
  Generator generator(
      backend, model,
      {.rows = 2, .capacity = 90, .cache_type = cache_type, .source_positions = model.has_encoder() ? 9 : 0});
  initialize(generator.store(), model.parameters, 3);
  if (model.has_encoder()) generator.encode(some_ids(9, 23, 1));
  std::vector<float> all = generator.prefill(some_ids(2 * 70, 23, 5));
  generator.reorder(std::vector<int32_t>{1, 0});
  for (int32_t token : {3, 1, 4})
    for (const float logit : generator.decode(std::vector<int32_t>{token, token + 1})) all.push_back(logit);
  return all;
}

}  // namespace

TEST_CASE("keys and values of 16 bits differ by their rounding, and devices agree on it",
          "[cache_type][device][one_driver]") {
  const auto reference = make_backend("reference");
  const auto device = make_backend("", {.as_gpu = true});
  for (const nlohmann::json& config : {gpt2, llama, t5}) {
    const Model model = model_of(config);
    INFO(model.family);
    const std::vector<float> exact = logits(*reference, model, DType::f32);
    for (const auto& [type, most] : {std::pair{DType::f16, 2e-3}, {DType::bf16, 2e-2}}) {
      INFO(name_of(type));
      const std::vector<float> rounded = logits(*reference, model, type);
      const double rounding = largest_difference(rounded, exact);
      CHECK(rounding > 0);
      CHECK(rounding < most);
      if (type == DType::f16) CHECK(largest_difference(logits(*device, model, type), rounded) < rounding / 4);
    }
  }
}

TEST_CASE("a GPU keeps keys and values in the type of the weights", "[cache_type]") {
  const auto usual = [](nlohmann::json config, DType weights, const DeviceFacts& facts) {
    Model model = model_of(config);
    if (weights != DType::f32) store_weights_as(model, weights);
    return usual_cache_type(model, facts);
  };
  CHECK(usual(gpt2, DType::f32, gpu()) == DType::f32);
  CHECK(usual(gpt2, DType::f16, gpu()) == DType::f16);
  CHECK(usual(gpt2, DType::bf16, gpu()) == DType::bf16);
  CHECK(usual(gpt2, DType::q8_0, gpu()) == DType::f16);
  CHECK(usual(llama, DType::f16, gpu()) == DType::f32);  // heads of 6
  CHECK(usual(gpt2, DType::f16, DeviceFacts{.kind = DeviceKind::cpu}) == DType::f32);
}

TEST_CASE("caches of 16 bits take half the memory", "[cache_type]") {
  const Model model = model_of(gpt2);
  const auto bytes = [&](DType type) {
    return plan_generation(model, {.cache_type = type}, parameter_blocks(model.parameters, 1u << 30)).cache_bytes;
  };
  CHECK(bytes(DType::f32) == 2 * 96 * 48 * 4);
  CHECK(bytes(DType::f16) == 2 * 96 * 48 * 2);
}
