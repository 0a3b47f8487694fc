// Which neighbours become one node, and which don't.

#include "runtime/passes/fusion.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder.h"
#include "models/families/gpt2/gpt2.h"
#include "models/generation/generation.h"
#include "models/parameters.h"
#include "runtime/plan.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/gated_unit/gated_unit.h"
#include "shaders/layer_norm/layer_norm.h"
#include "shaders/matmul/matmul.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rms_norm/rms_norm.h"
#include "tests/model_helpers.h"
#include "tests/program_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

/// lavapipe of Mesa 25, as far as kernels ask.
DeviceFacts lavapipe() {
  DeviceFacts facts;
  facts.kind = DeviceKind::cpu;
  facts.driver_id = 13;
  facts.api_version = 1u << 22 | 4u << 12;
  facts.subgroup_size = facts.min_subgroup_size = facts.max_subgroup_size = 8;
  facts.subgroup_shuffle = facts.full_subgroups = facts.int64 = facts.int16 = true;
  facts.max_workgroup_size = 1024;
  std::fill_n(facts.max_workgroups, 3, 65535u);
  facts.shared_memory = 32768;
  return facts;
}

DeviceFacts gpu() {
  DeviceFacts facts;
  facts.kind = DeviceKind::discrete;
  facts.subgroup_size = facts.min_subgroup_size = facts.max_subgroup_size = 32;
  facts.subgroup_shuffle = facts.full_subgroups = true;
  facts.max_workgroup_size = 1024;
  std::fill_n(facts.max_workgroups, 3, 65535u);
  facts.shared_memory = 49152;
  facts.cores = 132;
  return facts;
}

/// Names of the nodes that run, in order; reshapes don't.
std::vector<std::string> running(const Graph& graph) {
  std::vector<std::string> names;
  for (int i : live_nodes(graph))
    if (const Op& op = *graph.nodes()[static_cast<size_t>(i)].op; op.record) names.emplace_back(op.name);
  return names;
}

struct Parts {
  int64_t rows = 1;
  int64_t columns = 64;  ///< of what the product reads: vectors of 8
  bool centred = false;  ///< layer_norm
  bool transpose_b = true;
  bool residual = false;
  Activation activation = Activation::none;
  bool gate = true;
  Gate act = Gate::silu;
  bool keeps_product = false;  ///< as an output
  bool keeps_pre_activation = false;
};

std::vector<std::string> fused_parts(const Parts& parts, const DeviceFacts& facts = lavapipe()) {
  Graph graph;
  const Value x = graph.input("x", {parts.rows, parts.columns}), gain = graph.input("gain", {parts.columns});
  const Value w = graph.input("w", parts.transpose_b ? Shape{32, parts.columns} : Shape{parts.columns, 32});
  const Value residual = parts.residual ? graph.input("residual", {parts.rows, 32}) : Value{};
  const Value normed = parts.centred ? layer_norm(graph, x, gain, {}, 1e-5f) : rms_norm(graph, x, gain, 1e-5f);
  Value y = matmul(graph, normed, w,
                   {.transpose_b = parts.transpose_b, .activation = parts.activation, .residual = residual});
  if (parts.keeps_product) graph.mark_output(y, "product");
  if (parts.keeps_pre_activation) graph.mark_output(graph.nodes().back().outputs[1], "pre_activation");
  if (parts.gate) y = gated_unit(graph, parts.act, y);
  graph.mark_output(y, "y");
  return running(fused(graph, facts));
}

using Names = std::vector<std::string>;

/// Behind each of three tokens of every row, of which the last one has padding in front.
std::vector<float> logits_of_tokens(Backend& backend, const Model& model, const GeneratorShape& shape,
                                    const DeviceFacts* device) {
  const GenerationPlan plan = plan_generation(model, shape, parameter_blocks(model.parameters, 1u << 30));
  const std::shared_ptr<Store> store = backend.make_store(plan.layout);
  write_constants(*store, model);
  initialize(*store, model.parameters, 7);
  const auto program = backend.compile(build_generation(model, plan.shape, 1, device), store);
  const auto rows = static_cast<size_t>(shape.rows);
  std::vector<float> logits;
  for (const int32_t position : {0, 1, 2}) {
    program->write("ids", some_ids(shape.rows, 23, 5 + position));
    program->write("position", std::vector<int32_t>{position});
    if (shape.left_padded) {
      std::vector<int32_t> mask(rows * static_cast<size_t>(shape.capacity), 1), first(rows, position);
      mask[(rows - 1) * static_cast<size_t>(shape.capacity)] = 0;
      first.back() = position - 1;
      program->write("mask", mask);
      program->write("first_positions", first);
    }
    program->run();
    for (const float logit : program->read("logits")) logits.push_back(logit);
  }
  return logits;
}

}  // namespace

TEST_CASE("a norm, its product and a gate are one node where the product is dot's", "[fusion]") {
  CHECK(fused_parts({}) == Names{"normed_product"});
  CHECK(fused_parts({.rows = 2, .gate = false}) == Names{"normed_product"});
  CHECK(fused_parts({.activation = Activation::relu, .gate = false}) == Names{"normed_product"});
  CHECK(fused_parts({.activation = Activation::relu}) == Names{"normed_product", "gated_unit"});
  CHECK(fused_parts({.residual = true}) == Names{"normed_product", "gated_unit"});
}

TEST_CASE("what is normed by groups of columns is no norm of the product's rows", "[fusion]") {
  Graph graph;
  const Value x = graph.input("x", {1, 2, 32}), gain = graph.input("gain", {2, 32}), w = graph.input("w", {32, 64});
  const Value normed = reshape(graph, rms_norm(graph, x, gain, 1e-5f), {1, 64});
  graph.mark_output(matmul(graph, normed, w, {.transpose_b = true}), "y");
  for (const DeviceFacts& facts : {lavapipe(), gpu()}) {
    const Names names = running(fused(graph, facts));
    CHECK(std::ranges::count(names, "normed_product") == 0);
    CHECK(std::ranges::count(names, "rms_norm") == 1);
  }
}

TEST_CASE("GPUs take in layer_norm as well, for eight rows, whichever way the weights lie", "[fusion]") {
  CHECK(fused_parts({}, gpu()) == Names{"normed_product"});
  CHECK(fused_parts({.rows = 8, .columns = 60, .centred = true}, gpu()) == Names{"normed_product"});
  CHECK(fused_parts({.centred = true, .transpose_b = false, .residual = true, .gate = false}, gpu()) ==
        Names{"normed_product"});
  CHECK(fused_parts({.transpose_b = false}, gpu()) == Names{"normed_product", "gated_unit"});
  const Names apart{"rms_norm", "matmul", "gated_unit"};
  CHECK(fused_parts({.rows = 9}, gpu()) == apart);
  CHECK(fused_parts({.columns = 10000}, gpu()) == apart);  // more than shared memory has
}

TEST_CASE("what is read elsewhere or can't be taken in stays as it is", "[fusion]") {
  const Names apart{"rms_norm", "matmul", "gated_unit"};
  CHECK(fused_parts({.keeps_product = true}) == Names{"normed_product", "gated_unit"});
  CHECK(fused_parts({.centred = true}) == Names{"layer_norm", "matmul", "gated_unit"});
  CHECK(fused_parts({.activation = Activation::relu, .keeps_pre_activation = true}) == apart);
  CHECK(fused_parts({.rows = 3}) == apart);
  CHECK(fused_parts({.columns = 60}) == apart);
  for (const Gate act : {Gate::clamped, Gate::sigmoid})
    CHECK(fused_parts({.act = act}) == Names{"normed_product", "gated_unit"});
}

TEST_CASE("a token of LLaMA takes seven nodes a layer", "[fusion]") {
  const Model model = make_decoder({.vocabulary = 31,
                                    .context = 23,
                                    .width = 32,
                                    .inner = 48,
                                    .heads = 4,
                                    .kv_heads = 2,
                                    .head_width = 8,
                                    .layers = std::vector<Decoder::Layer>(2)},
                                   {});
  const DeviceFacts facts = lavapipe();
  const Graph graph = build_generation(model, {.capacity = 16}, 1, &facts);
  const Names layer{"normed_product", "rope", "cache_write", "attention", "matmul", "normed_product", "matmul"};
  Names expected{"embedding"};
  for (int i = 0; i < 2; ++i) expected.insert(expected.end(), layer.begin(), layer.end());
  expected.push_back("normed_product");
  CHECK(running(graph) == expected);
}

TEST_CASE("a token takes five nodes a layer on a GPU", "[fusion]") {
  const DeviceFacts facts = gpu();
  const auto check_layers = [&](const Model& model, const Names& layer, int64_t capacity) {
    const Graph graph = build_generation(model, {.rows = 3, .capacity = capacity, .left_padded = true}, 1, &facts);
    Names expected{"embedding"};
    for (int i = 0; i < 2; ++i) expected.insert(expected.end(), layer.begin(), layer.end());
    expected.push_back("normed_product");
    CHECK(running(graph) == expected);
  };
  const Names five{"normed_product", "cached_attention", "matmul", "normed_product", "matmul"};
  check_layers(make_gpt2({.vocabulary = 31, .context = 23, .width = 32, .layers = 2, .heads = 4, .inner = 128}), five,
               16);
  Decoder llama{.vocabulary = 31,
                .context = 4096,
                .width = 32,
                .inner = 48,
                .heads = 4,
                .kv_heads = 2,
                .head_width = 8,
                .layers = std::vector<Decoder::Layer>(2)};
  check_layers(make_decoder(llama, {}), five, 4096);
  Decoder qwen3 = llama;
  qwen3.query_norms = Decoder::QueryNorms::head;
  check_layers(make_decoder(qwen3, {}),
               {"normed_product", "head_norm", "cached_attention", "matmul", "normed_product", "matmul"}, 16);
  Decoder without_positions = llama;
  for (Decoder::Layer& layer : without_positions.layers) layer.rotary = -1;
  check_layers(make_decoder(without_positions, {}), five, 16);
  const Names apart{"normed_product", "rope", "cache_write", "attention", "matmul", "normed_product", "matmul"};
  llama.head_width = 10;  // no whole quads
  check_layers(make_decoder(llama, {}), apart, 16);
}

TEST_CASE("a mixture takes five nodes of a token on a GPU, latent attention eight", "[fusion]") {
  const DeviceFacts facts = gpu();
  const auto layer_of = [&](const nlohmann::json& config) {
    const Model model = testing::model_of(config);
    const Graph graph = build_generation(model, {.capacity = 16}, 1, &facts);
    Names names;
    for (int i : live_nodes(graph))
      if (const Node& node = graph.nodes()[static_cast<size_t>(i)];
          node.op->record && node.scope.starts_with("layers.1"))
        names.emplace_back(node.op->name);
    return names;
  };
  CHECK(layer_of(fixture_config("qwen3_moe")) == Names{"normed_product", "head_norm", "cached_attention", "matmul",
                                                       "rms_norm", "normed_product", "router", "expert_product",
                                                       "expert_product"});
  // A factor of the routing's weights becomes the sum's; a shared expert follows.
  const Names glm = layer_of(latent_config());
  CHECK(glm == Names{"normed_product", "normed_product", "normed_product", "cached_row", "latent_query", "attention",
                     "matmul", "matmul", "rms_norm", "normed_product", "router", "expert_product", "expert_product",
                     "normed_product", "matmul"});
  // Experts' rows of 7 values are no whole loads: their sum stays apart.
  const Names oss = layer_of(fixture_config("gpt_oss"));
  CHECK(std::ranges::count(oss, "expert_product") == 1);
  CHECK(std::ranges::count(oss, "expert_sum") == 1);
}

TEST_CASE("fused nodes give what they were", "[fusion][long]") {
  const DeviceFacts facts = gpu();
  const auto backend = make_reference_backend();
  std::vector<nlohmann::json> configs{latent_config()};
  for (const char* name : {"gpt2", "llama", "qwen3_moe", "gpt_oss", "glm4_moe_lite", "granitemoe", "qwen2_moe"})
    configs.push_back(fixture_config(name));
  for (const nlohmann::json& config : configs) {
    INFO(config.dump());
    const Model model = testing::model_of(config);
    for (const auto& [rows, cache] : {std::pair{int64_t{1}, DType::f32}, {1, DType::f16}, {3, DType::f32}}) {
      const GeneratorShape shape{.rows = rows, .capacity = 16, .left_padded = rows > 1, .cache_type = cache};
      const auto logits = [&](const DeviceFacts* device) { return logits_of_tokens(*backend, model, shape, device); };
      CHECK(largest_difference(logits(nullptr), logits(&facts)) < 1e-6);
    }
  }
}
