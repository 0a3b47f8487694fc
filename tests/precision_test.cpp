// 16-bit floats: rounding, weights stored in them, products of them in training.

#include "models/families/registry.h"
#include "models/parameters.h"
#include "models/stored_weights.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/generation/generation.h"
#include "models/training/trainer.h"
#include "runtime/autodiff.h"
#include "runtime/check.h"
#include "runtime/half.h"
#include "shaders/add_bias/add_bias.h"
#include "shaders/cast/cast.h"
#include "shaders/column_sum/column_sum.h"
#include "shaders/cross_entropy/cross_entropy.h"
#include "shaders/dropout/dropout.h"
#include "shaders/gated_unit/gated_unit.h"
#include "shaders/layer_norm/layer_norm.h"
#include "shaders/matmul/matmul.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rms_norm/rms_norm.h"
#include "shaders/rope/rope.h"
#include "shaders/slice/slice.h"
#include "shaders/softmax/softmax.h"
#include "shaders/swap_axes/swap_axes.h"
#include "tests/model_helpers.h"
#include "tests/program_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

const nlohmann::json gpt2 = {{"model_type", "gpt2"}, {"n_embd", 24}, {"n_head", 3},      {"n_layer", 2},
                             {"vocab_size", 23},     {"n_ctx", 16},  {"n_positions", 16}};
const nlohmann::json llama = {
    {"model_type", "llama"},  {"hidden_size", 24},       {"num_attention_heads", 4}, {"num_key_value_heads", 2},
    {"num_hidden_layers", 2}, {"intermediate_size", 37}, {"vocab_size", 23},         {"max_position_embeddings", 16}};
const nlohmann::json mixture = {{"model_type", "qwen2_moe"},
                                {"hidden_size", 24},
                                {"head_dim", 6},
                                {"num_attention_heads", 4},
                                {"num_key_value_heads", 2},
                                {"num_hidden_layers", 2},
                                {"num_experts", 5},
                                {"num_experts_per_tok", 2},
                                {"vocab_size", 23},
                                {"max_position_embeddings", 16},
                                {"intermediate_size", 37},
                                {"moe_intermediate_size", 13},
                                {"shared_expert_intermediate_size", 10}};
const nlohmann::json t5 = {{"model_type", "t5"}, {"vocab_size", 23}, {"d_model", 19},  {"d_kv", 7},
                           {"num_heads", 3},     {"d_ff", 22},       {"num_layers", 2}};

const std::vector<int32_t> ids{3, 1, 4, 1, 5, 9, 2, 6};

/// `stored`: the values of another store, whose parameters may be kept transposed.
struct StoredValues {
  const Store& store;
  const Model& model;
};
std::vector<float> logits_of(Backend& backend, const Model& model, const std::optional<StoredValues>& stored) {
  const int64_t sources = model.has_encoder() ? 12 : 0;
  Generator generator(backend, model, {.capacity = 12, .cache_type = DType::f32, .source_positions = sources});
  initialize(generator.store(), model.parameters, 7);
  if (stored)
    for (const ParameterSpec& parameter : stored->model.parameters) {
      const std::vector<float> values = stored->store.read(parameter.name);
      generator.store().write(parameter.name, parameter.turned ? turned(values, parameter.shape[1]) : values);
    }
  if (model.has_encoder()) generator.encode(ids);
  std::vector<float> all = generator.prefill(ids);
  for (int32_t token : {7, 11}) {
    const auto next = generator.decode(token);
    all.insert(all.end(), next.begin(), next.end());
  }
  return all;
}

/// Of 12 iterations, and of an evaluation after them.
std::vector<float> losses_of(Backend& backend, const Model& model, DType products) {
  Trainer trainer(backend, model, {.learning_rate = 3e-3, .warmup = 0, .products = products},
                  {.rows = 2, .positions = 4});
  initialize(trainer.store(), model.parameters, 7);
  std::vector<float> all;
  for (int64_t i = 1; i <= 12; ++i) all.push_back(static_cast<float>(trainer.step(i, ids, ids)));
  all.push_back(static_cast<float>(trainer.evaluate(ids, ids)));
  return all;
}

}  // namespace

TEST_CASE("floats round to the nearest 16-bit float, ties to even", "[precision]") {
  CHECK(to_half(DType::f16, 1.0f) == 0x3C00);
  CHECK(to_half(DType::f16, -2.0f) == 0xC000);
  CHECK(to_half(DType::f16, 1.0f + 0x1p-11f) == 0x3C00);      // a tie: down to even
  CHECK(to_half(DType::f16, 1.0f + 3 * 0x1p-11f) == 0x3C02);  // a tie: up to even
  CHECK(to_half(DType::f16, 1.0f + 0x1.01p-11f) == 0x3C01);   // past the tie
  CHECK(to_half(DType::f16, 65504.0f) == 0x7BFF);
  CHECK(to_half(DType::f16, 65519.0f) == 0x7BFF);
  CHECK(to_half(DType::f16, 65520.0f) == 0x7C00);  // infinity
  CHECK(to_half(DType::f16, 0x1p-24f) == 1);       // the smallest
  CHECK(to_half(DType::f16, 0x1p-25f) == 0);       // a tie with zero
  CHECK(to_half(DType::f16, 0x1.8p-25f) == 1);
  CHECK(to_half(DType::f16, 0x1.ffcp-15f) == 0x3FF + 1);  // rounds up to the smallest normal one
  CHECK(to_half(DType::bf16, 1.0f) == 0x3F80);
  CHECK(to_half(DType::bf16, 1.0f + 0x1p-8f) == 0x3F80);
  CHECK(to_half(DType::bf16, 1.0f + 3 * 0x1p-8f) == 0x3F82);
  CHECK(to_half(DType::bf16, 3.4e38f) == 0x7F80);
  CHECK(std::isnan(from_half(DType::f16, to_half(DType::f16, NAN))));
  CHECK(std::isnan(from_half(DType::bf16, to_half(DType::bf16, NAN))));
  for (DType dtype : {DType::f16, DType::bf16})  // every one that is a number survives
    for (uint32_t bits = 0; bits < 0x10000; ++bits)
      if (const float value = from_half(dtype, static_cast<uint16_t>(bits)); !std::isnan(value))
        CHECK(to_half(dtype, value) == bits);
}

TEST_CASE("what was f32 before a cast has an f32 gradient", "[precision]") {
  Graph graph;
  const Value x = graph.input("x", {5}), upstream = graph.input("upstream", {5});
  const Value y = cast(graph, cast(graph, x, DType::bf16), DType::f32);
  CHECK(graph.info(differentiate(graph, scale(graph, y, 3), upstream, Values{x})[0]).type.dtype == DType::f32);
  const Value rounded = cast(graph, x, DType::bf16), given = graph.input("given", {5}, DType::bf16);
  CHECK(graph.info(differentiate(graph, rounded, given, Values{x})[0]).type.dtype == DType::f32);
  CHECK(cast(graph, x, DType::f32) == x);
  CHECK_THROWS_AS(cast(graph, cast(graph, x, DType::bf16), DType::f16), Error);
}

TEST_CASE("ops that do not take 16-bit floats say so", "[precision]") {
  Graph graph;
  const Value half = graph.input("x", {4, 4}, DType::f16), other = graph.input("y", {4, 4}, DType::bf16);
  CHECK_THROWS_AS(softmax(graph, half), Error);
  CHECK_THROWS_AS(matmul(graph, half, other), Error);
  CHECK_THROWS_AS(matmul(graph, half, graph.input("z", {4, 4})), Error);
  CHECK_THROWS_AS(add(graph, half, other), Error);
  CHECK_THROWS_AS(add(graph, half, graph.input("z2", {4, 4})), Error);
}

TEST_CASE("kernels that write 16-bit floats by rows want whole words", "[precision]") {
  Graph graph;
  const Value gain = graph.input("gain", {5});
  const Value half = graph.input("half", {2, 3, 10}, DType::f16), table = graph.input("table", {3, 6});
  const Value odd = graph.input("odd", {3, 5}, DType::f16), narrow = graph.input("narrow", {3, 5});
  CHECK_THROWS_MATCHES(
      layer_norm(graph, narrow, gain, {}, 1e-5f, DType::f16), Error,
      Catch::Matchers::Message("[layer_norm] y is f16 [3, 5]; rows of 16-bit floats are written as words "
                               "of two and need an even number of columns"));
  CHECK_THROWS_AS(rms_norm(graph, narrow, gain, 1e-5f, DType::bf16), Error);
  CHECK_THROWS_AS(rms_norm(graph, narrow, gain, 1e-5f, DType::i32), Error);
  CHECK_THROWS_AS(gated_unit(graph, Gate::silu, half), Error);  // 5 columns each
  CHECK_THROWS_AS(add_bias(graph, odd, gain), Error);
  CHECK_THROWS_AS(slice(graph, half, 1, 2), Error);
  CHECK_THROWS_AS(slice(graph, half, 2, 3), Error);
  CHECK_THROWS_AS(swap_axes(graph, half, 1), Error);
  CHECK_THROWS_AS(rope(graph, half, table, {.heads = 1, .head_width = 8, .rotary_width = 6}), Error);
  // In order of memory, or only read.
  CHECK_NOTHROW(activate(graph, Activation::gelu, odd));
  CHECK_NOTHROW(cross_entropy(graph, odd, graph.input("targets", {3}, DType::i32)));
  CHECK_NOTHROW(column_sum(graph, odd));
}

TEST_CASE("values of 16 bits have gradients of 16 bits, and f32 ones f32", "[precision][device][one_driver]") {
  for (const DType half : {DType::f16, DType::bf16}) {
    std::vector<std::vector<float>> results;
    for (const char* device : {"reference", ""}) {
      Graph graph;
      const Value x = graph.input("x", {2, 3, 8}), gain = graph.input("gain", {8});
      const Value seed = graph.input("seed", {2}, DType::i32), table = graph.input("table", {3, 4});
      const Value scales = graph.input("scales", {4}), upstream = graph.input("upstream", {1});
      const Value normed = layer_norm(graph, rms_norm(graph, x, gain, 1e-5f), gain, {}, 1e-5f, half);
      Value y = swap_axes(graph, rope(graph, normed, table, {.heads = 2, .head_width = 4, .rotary_width = 4}), 0);
      y = dropout(graph, gated_unit(graph, Gate::silu, y), 0.1, seed, 3, slice(graph, y, 2, 4));
      y = add_bias(graph, activate(graph, Activation::gelu_tanh, add(graph, y, scale(graph, y, 2))), scales);
      const Value logits = reshape(graph, y, {8, 3});  // odd rows
      const Value loss = cross_entropy(graph, logits, graph.input("targets", {8}, DType::i32));
      const Values wanted{x, gain, scales, normed, logits};
      const Values gradients = differentiate(graph, loss, upstream, wanted);
      for (size_t i = 0; i < wanted.size(); ++i) CHECK(graph.info(gradients[i]).type == graph.info(wanted[i]).type);
      graph.mark_output(loss, "loss");
      for (size_t i = 0; i < 3; ++i) graph.mark_output(gradients[i], fmt::format("gradient{}", i));

      auto backend = make_backend(device);
      const auto program = backend->compile(graph, backend->make_store({}));
      fill_with_ramps(*program, {{"x", 48}, {"gain", 8}, {"table", 12}, {"scales", 4}});
      program->write("upstream", std::vector<float>{1});
      program->write("seed", std::vector<int32_t>{7, 1});
      program->write("targets", std::vector<int32_t>{0, 2, 1, 1, 0, 2, 2, 1});
      program->run();
      for (const char* name : {"loss", "gradient0", "gradient1", "gradient2"}) results.push_back(program->read(name));
    }
    for (size_t i = 0; i < 4; ++i) {
      double largest = 0;
      for (float value : results[i]) largest = std::max(largest, static_cast<double>(std::abs(value)));
      CHECK(largest > 0);
      CHECK(largest_difference(results[i], results[i + 4]) <= (half == DType::f16 ? 0x1p-9 : 0x1p-6) * largest);
    }
  }
}

TEST_CASE("weights stored in 16 bits compute what the same numbers in f32 do", "[precision][device][one_driver]") {
  for (const char* device : {"reference", ""})
    for (const nlohmann::json& config : {gpt2, llama, mixture, t5})
      for (DType dtype : {DType::f16, DType::bf16}) {
        auto backend = make_backend(device);
        Model model = model_of(config), stored = model;
        store_weights_as(stored, dtype);
        Generator rounded(*backend, stored, {.capacity = 1, .source_positions = stored.has_encoder() ? 1 : 0});
        initialize(rounded.store(), stored.parameters, 7);
        int64_t halves = 0;
        for (const ParameterSpec& parameter : stored.parameters) halves += is_half(parameter.dtype);
        CHECK(halves > 4);
        CHECK(rounded.store().layout().total_bytes() < 0.8 * static_cast<double>(4 * model.parameter_count()));
        const auto got = logits_of(*backend, stored, {});
        const auto same = logits_of(*backend, model, StoredValues{rounded.store(), stored});
        CHECK(largest_difference(got, same) < 2e-6);
        CHECK(largest_difference(got, logits_of(*backend, model, {})) > 0);
      }
}

TEST_CASE("mixed precision trains f32 parameters through 16-bit products", "[precision][device][one_driver]") {
  for (const nlohmann::json& config : {gpt2, llama}) {
    const Model model = model_of(config);
    const auto losses = [&](const char* device, DType products) {
      return losses_of(*make_backend(device), model, products);
    };
    const auto full = losses("", DType::f32);
    for (DType products : {DType::f16, DType::bf16}) {
      const auto mixed = losses("", products);
      CHECK(mixed.back() < 0.9f * mixed.front());
      CHECK(largest_difference(full, mixed) > 0);
      CHECK(largest_difference(full, mixed) < (products == DType::f16 ? 0.01 : 0.05));
      CHECK(largest_difference(mixed, losses("reference", products)) < 2e-3);
    }
  }
}

TEST_CASE("on GPUs values between ops and their gradients have 16 bits, too, and models learn the same",
          "[precision][device][one_driver]") {
  nlohmann::json even = llama;  // rows of whole words everywhere
  even.update({{"hidden_size", 32}, {"intermediate_size", 36}, {"vocab_size", 24}});
  for (const nlohmann::json& config : {gpt2, even}) {
    const Model model = model_of(config);
    const auto losses = [&](DType products) { return losses_of(*make_backend("", {.as_gpu = true}), model, products); };
    const auto full = losses(DType::f32);
    for (DType products : {DType::f16, DType::bf16}) {
      const auto mixed = losses(products);
      CHECK(mixed.back() < 0.9f * mixed.front());
      CHECK(largest_difference(full, mixed) > 0);
      CHECK(largest_difference(full, mixed) < (products == DType::f16 ? 0.01 : 0.05));
      const Graph graph = build_loss_and_gradients(model, {.rows = 2, .positions = 4}, false, {products, true}).graph;
      // What has 16 bits is never made f32 again in between.
      CHECK(std::ranges::none_of(graph.nodes(), [](const Node& node) {
        return node.op->name == "cast" && is_half(node.input_types[0].dtype);
      }));
    }
  }
}

TEST_CASE("recurrent layers keep f32 between values of 16 bits", "[precision][device][one_driver]") {
  const Model model = model_of({{"model_type", "qwen3_5_text"},
                                {"vocab_size", 24},
                                {"hidden_size", 32},
                                {"intermediate_size", 36},
                                {"num_hidden_layers", 2},
                                {"layer_types", {"linear_attention", "full_attention"}},
                                {"num_attention_heads", 2},
                                {"num_key_value_heads", 1},
                                {"head_dim", 8},
                                {"partial_rotary_factor", 0.5},
                                {"linear_num_key_heads", 1},
                                {"linear_num_value_heads", 2},
                                {"linear_key_head_dim", 8},
                                {"linear_value_head_dim", 8}});
  const auto losses = [&](DType products) { return losses_of(*make_backend("", {.as_gpu = true}), model, products); };
  const auto full = losses(DType::f32), mixed = losses(DType::bf16);
  CHECK(mixed.back() < 0.9f * mixed.front());
  CHECK(largest_difference(full, mixed) > 0);
  CHECK(largest_difference(full, mixed) < 0.05);
}

TEST_CASE("a gradient that overflows f16 is computed again with a smaller scale", "[precision][device][one_driver]") {
  const Model model = model_of(gpt2);
  for (const char* device : {"reference", ""})
    for (int64_t accumulate : {1, 2}) {
      auto backend = make_backend(device);
      const auto train = [&](double scale) {
        const TrainSettings settings{
            .accumulate = accumulate, .warmup = 0, .products = DType::f16, .loss_scale = scale};
        Trainer trainer(*backend, model, settings, {.rows = accumulate == 1 ? 2 : 1, .positions = 4});
        initialize(trainer.store(), model.parameters, 7);
        std::vector<float> losses;
        for (int64_t i = 1; i <= 3; ++i) losses.push_back(static_cast<float>(trainer.step(i, ids, ids)));
        losses.push_back(static_cast<float>(trainer.gradient_norm()));
        CHECK(trainer.loss_scale() < 0x1p24);
        CHECK(trainer.loss_scale() >= 0x1p10);
        return losses;
      };
      CHECK(largest_difference(train(0x1p40), train(0x1p12)) < 1e-3);
      // Not the first iteration: an outlier.
      Trainer trainer(*backend, model,
                      {.accumulate = accumulate, .warmup = 0, .products = DType::f16, .loss_scale = 0x1p40},
                      {.rows = accumulate == 1 ? 2 : 1, .positions = 4});
      initialize(trainer.store(), model.parameters, 7);
      trainer.step(2, ids, ids);
      CHECK(std::isfinite(trainer.gradient_norm()));
      CHECK(trainer.loss_scale() == 0x1p39);
    }
}

TEST_CASE("a batch beyond the range of f16 trains nothing, those after it do", "[precision][device][one_driver]") {
  const Model model = model_of(gpt2);
  const std::vector<int32_t> beyond(ids.size(), 3), within(ids.size(), 1);
  for (const char* device : {"reference", ""})
    for (int64_t accumulate : {1, 2}) {
      auto backend = make_backend(device);
      Trainer trainer(*backend, model,
                      {.accumulate = accumulate, .warmup = 0, .products = DType::f16, .loss_scale = 0x1p12},
                      {.rows = accumulate == 1 ? 2 : 1, .positions = 4});
      initialize(trainer.store(), model.parameters, 7);
      // Layer norms keep but the direction of a token: token 3's is the first axis, which the first layer makes large.
      std::vector<float> tokens = trainer.store().read("transformer.wte.weight"),
                         first_layer = trainer.store().read("transformer.h.0.mlp.c_fc.weight");
      tokens[3 * 24] = 1000;
      tokens[24] = 0;
      std::fill_n(first_layer.begin(), 4 * 24, 15000.0F);
      trainer.store().write("transformer.wte.weight", tokens);
      trainer.store().write("transformer.h.0.mlp.c_fc.weight", first_layer);
      CHECK(std::isfinite(trainer.step(1, within, within)));
      CHECK_FALSE(trainer.overflowed());
      const auto before = trainer.store().read("transformer.wte.weight");
      const double scale = trainer.loss_scale();
      CHECK_FALSE(std::isfinite(trainer.step(2, beyond, within)));
      CHECK(trainer.overflowed());
      CHECK(trainer.store().read("transformer.wte.weight") == before);
      CHECK(trainer.loss_scale() == scale);
      CHECK(std::isfinite(trainer.step(3, within, within)));
      CHECK_FALSE(trainer.overflowed());
      CHECK(trainer.store().read("transformer.wte.weight") != before);
    }
}
