// When products go to matrix cores, and what makes them stay away.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/generation/generation.h"
#include "models/generation/stored_weights.h"
#include "models/parameters.h"
#include "runtime/autodiff.h"
#include "runtime/check.h"
#include "runtime/matrix_check.h"
#include "runtime/tuning.h"
#include "shaders/attention/attention.h"
#include "shaders/matmul/gpu/matrix_layout.h"
#include "shaders/matmul/matmul.h"
#include "shaders/matmul/matmul_kernel.h"
#include "tests/model_helpers.h"
#include "tests/program_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

DeviceFacts device_with_matrix_cores(DeviceKind kind = DeviceKind::discrete) {
  DeviceFacts facts;
  facts.kind = kind;
  facts.subgroup_size = facts.min_subgroup_size = facts.max_subgroup_size = 32;
  facts.subgroup_shuffle = facts.full_subgroups = facts.int64 = facts.float16 = true;
  facts.max_workgroup_size = 256;
  facts.max_workgroups[0] = facts.max_workgroups[1] = facts.max_workgroups[2] = 65535;
  facts.shared_memory = 49152;
  facts.max_allocation = uint64_t{1} << 30;
  facts.cooperative_matrix = true;
  facts.matrix_kernels = {DType::f16, DType::bf16};
  facts.matrix_shapes = {{16, 8, 8}, {16, 16, 16}};
  return facts;
}

std::vector<std::string_view> candidates(const DeviceFacts& facts, int64_t m, int64_t n, int64_t k,
                                         DType a = DType::f16, DType b = DType::f16, DType result = DType::f32) {
  Graph graph;
  matmul(graph, graph.input("a", {m, k}, a), graph.input("b", {k, n}, b), {.result = result});
  const Node& node = graph.nodes().front();
  return node.op->candidates(node, facts);
}

/// Of attention, or of its gradients, with heads of that width in a packed projection with a margin.
std::vector<std::string_view> attention_candidates_of(const DeviceFacts& facts, int64_t head_width,
                                                      bool backward = false, DType type = DType::f16,
                                                      int64_t margin = 0) {
  Graph graph;
  const int64_t width = 4 * head_width;
  const Value x = graph.input("x", {2, 128, margin + 3 * width}, type);
  const Value result = attention(graph, {x, margin}, {x, margin + width}, {x, margin + 2 * width},
                                 {.heads = 4, .head_width = head_width});
  const Value upstream = graph.input("upstream", {2, 128, width}, type);
  differentiate(graph, result, upstream, Values{x});
  for (const Node& node : graph.nodes())
    if (is_attention(node) != backward) return node.op->candidates(node, facts);
  return {};
}

bool offered(const std::vector<std::string_view>& names) {
  return std::any_of(names.begin(), names.end(), [](std::string_view name) { return name.starts_with("matrix"); });
}

/// The reference, except that products come out in another scale or not at all.
class WrongBackend : public Backend {
 public:
  explicit WrongBackend(double scale, bool rounded_alone = false)
      : facts_(device_with_matrix_cores()), scale_(scale), rounded_alone_(rounded_alone) {
    facts_.matrix_shapes.push_back({16, 16, 16, DType::bf16});
  }
  const DeviceFacts& facts() const override { return facts_; }
  std::string describe() const override { return "wrong"; }
  uint64_t allocated_bytes() const override { return 0; }
  std::shared_ptr<Store> make_store(const StoreLayout& layout) override { return reference_->make_store(layout); }
  std::shared_ptr<Workspace> make_workspace() override { return reference_->make_workspace(); }
  MemoryPlan plan(const Graph& graph, const StoreLayout& layout) const override {
    return reference_->plan(graph, layout);
  }
  std::unique_ptr<Program> compile(Graph graph, std::shared_ptr<Store> store, const PlanOptions& options,
                                   std::shared_ptr<Workspace> workspace) override {
    check(scale_ != 0, "vkCreateComputePipelines failed");
    Graph scaled;
    Values inputs;
    for (Value input : graph.inputs())
      inputs.push_back(
          scaled.input(graph.info(input).name, graph.info(input).type.shape, graph.info(input).type.dtype));
    auto next = inputs.begin();
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
      const Node& node = graph.nodes()[i];
      Attributes attributes = node.attributes;
      if (!rounded_alone_ || is_half(node.output_types[0].dtype)) attributes.set("scale", scale_);
      const auto end = next + static_cast<std::ptrdiff_t>(node.inputs.size());
      scaled.mark_output(scaled.add(*node.op, Values(next, end), attributes)[0], graph.info(graph.outputs()[i]).name);
      next = end;
    }
    return reference_->compile(scaled, store, options, workspace);
  }

 private:
  DeviceFacts facts_;
  double scale_;
  bool rounded_alone_;  ///< other products are right
  std::unique_ptr<Backend> reference_ = make_reference_backend();
};

}  // namespace

TEST_CASE("products of 16-bit operands go to matrix cores, in blocks that fill the device", "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  CHECK(candidates(facts, 1024, 1024, 1024).front() == "matrix128");
  CHECK(candidates(facts, 4096, 4096, 1024).front() == "matrix128");
  CHECK(candidates(facts, 256, 256, 4096).front() == "matrix64_split");
  CHECK(candidates(facts, 64, 64, 64).front() == "matrix64");
  facts.matrix_shapes.push_back({16, 16, 16, DType::bf16});
  CHECK(candidates(facts, 4096, 4096, 1024, DType::bf16, DType::bf16).front() == "matrix128");
}

TEST_CASE("small products and CPU devices only have the choice of matrix cores", "[matrix_cores]") {
  const auto cpu = device_with_matrix_cores(DeviceKind::cpu);
  for (const auto& names :
       {candidates(device_with_matrix_cores(), 63, 1024, 1024), candidates(device_with_matrix_cores(), 1024, 1024, 63),
        candidates(cpu, 1024, 1024, 1024)}) {
    CHECK(offered(names));
    CHECK_FALSE(names.front().starts_with("matrix"));
  }
}

TEST_CASE("matrix cores are not for other operands, nor where their products don't fit", "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  CHECK_FALSE(offered(candidates(facts, 1024, 1024, 1024, DType::f32, DType::f32)));
  CHECK_FALSE(offered(candidates(facts, 1024, 1024, 1024, DType::f32, DType::f16)));
  CHECK_FALSE(offered(candidates(facts, 1024, 1024, 1024, DType::bf16, DType::bf16)));
  facts.matrix_shapes = {{64, 64, 64}, {24, 16, 16}};
  CHECK_FALSE(offered(candidates(facts, 1024, 1024, 1024)));
  facts = device_with_matrix_cores();
  facts.full_subgroups = false;
  CHECK_FALSE(offered(candidates(facts, 1024, 1024, 1024)));
  facts = device_with_matrix_cores();
  facts.shared_memory = 16384;  // too little for the strips of four shares of 64 x 64
  CHECK(candidates(facts, 4096, 4096, 1024).front() == "matrix128x64");
}

TEST_CASE("where lanes share registers, matrix cores get narrow subgroups and wait for a measurement",
          "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  facts.min_subgroup_size = 8;
  facts.matrix_shapes = {{8, 8, 16}};
  const auto layout = matrix_layout(matrix64, facts, DType::f16);
  REQUIRE(layout);
  CHECK(layout->subgroup_size == 8);
  CHECK(layout->invocations() == 256);
  const auto names = candidates(facts, 1024, 1024, 1024);
  CHECK(offered(names));
  CHECK_FALSE(names.front().starts_with("matrix"));
  facts = device_with_matrix_cores();
  facts.max_subgroup_size = 64;  // every lane has its own registers
  CHECK(matrix_layout(matrix64, facts, DType::f16)->subgroup_size == 32);
}

TEST_CASE("attention of 16-bit values goes to matrix cores where heads and rows fit", "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  facts.shared_memory = 49152;
  for (bool backward : {false, true}) {
    CHECK(attention_candidates_of(facts, 64, backward).front() == "matrix");
    CHECK(offered(attention_candidates_of(facts, 128, backward)) != backward);
    CHECK_FALSE(offered(attention_candidates_of(facts, 160, backward)));
    CHECK(offered(attention_candidates_of(facts, 24, backward)));  // by 8, not by 16
    CHECK_FALSE(offered(attention_candidates_of(facts, 36, backward)));
    CHECK_FALSE(offered(attention_candidates_of(facts, 64, backward, DType::f32)));
    CHECK_FALSE(offered(attention_candidates_of(facts, 64, backward, DType::bf16)));
    CHECK_FALSE(offered(attention_candidates_of(facts, 64, backward, DType::f16, 4)));
    const auto on_cpu = attention_candidates_of(device_with_matrix_cores(DeviceKind::cpu), 64, backward);
    CHECK(offered(on_cpu));
    CHECK_FALSE(on_cpu.front().starts_with("matrix"));
    DeviceFacts intel = facts;
    intel.min_subgroup_size = 8;
    CHECK_FALSE(offered(attention_candidates_of(intel, 64, backward)));
  }
}

TEST_CASE("products of whole workgroups are offered where the device has them in that size", "[matrix_cores]") {
  const auto offered_blocks = [](const DeviceFacts& facts, int64_t m = 1024, DType type = DType::f16) {
    const auto names = candidates(facts, m, 1024, 1024, type, type);
    return std::ranges::count_if(names, [](std::string_view name) { return name.starts_with("matrix_workgroup"); });
  };
  DeviceFacts facts = device_with_matrix_cores();
  facts.matrix_shapes.push_back({16, 16, 16, DType::bf16});
  CHECK(offered_blocks(facts) == 0);
  facts.workgroup_matrices = {
      .granularities = {{{32, 32, 16}, 256}, {{32, 16, 16}, 128}, {{256, 16, 16, DType::bf16}, 128}},
      .tensor_addressing = true,
      .per_element = true,
      .max_dimension = 256,
      .kernels = {DType::f16, DType::bf16}};
  CHECK(offered_blocks(facts) == 3);
  CHECK(offered_blocks(facts, 3) == 3);
  CHECK(offered_blocks(facts, 1024, DType::f32) == 0);
  CHECK(offered_blocks(facts, 1024, DType::bf16) == 0);  // not in blocks of so many rows
  facts.workgroup_matrices.granularities.back().shape.m = 32;
  CHECK(offered_blocks(facts, 1024, DType::bf16) == 2);
  const auto without = [&](const auto& change) {
    DeviceFacts other = facts;
    change(other, other.workgroup_matrices);
    return offered_blocks(other);
  };
  CHECK(without([](auto&, auto& matrices) { matrices.max_dimension = 64; }) == 0);
  CHECK(without([](auto&, auto& matrices) { matrices.granularities[0].shape.m = 256; }) == 2);
  CHECK(without([](auto&, auto& matrices) { matrices.granularities[1].shape.n = 128; }) == 2);
  CHECK(without([](auto&, auto& matrices) { matrices.granularities[0].shape.k = 128; }) == 2);
  CHECK(without([](auto&, auto& matrices) { matrices.tensor_addressing = false; }) == 0);
  CHECK(without([](auto&, auto& matrices) { matrices.per_element = false; }) == 0);
  CHECK(without([](auto&, auto& matrices) { matrices.kernels.clear(); }) == 0);
  const auto rounded = [&] {
    return std::ranges::count(candidates(facts, 64, 64, 64, DType::f16, DType::f16, DType::f16), "matrix_workgroup128");
  };
  CHECK(rounded() == 0);
  facts.workgroup_matrices.f16_sums = true;
  CHECK(rounded() == 1);
  CHECK(without([](auto& other, auto& matrices) { matrices.reserved_shared = other.shared_memory + 1; }) == 0);
  CHECK(without([](auto& other, auto&) { other.max_workgroup_size = 128; }) == 2);
  CHECK(without([](auto& other, auto&) {
          other.matrix_check = [](DType, std::string_view kernel) { return !kernel.starts_with("matrix_workgroup"); };
        }) == 0);

  // The second product would begin within 16 bytes.
  Graph graph;
  matmul(graph, graph.input("a", {2, 3, 5}, DType::f16), graph.input("b", {2, 5, 16}, DType::f16));
  const Node& node = graph.nodes().front();
  CHECK(std::ranges::count(node.op->candidates(node, facts), "matrix_workgroup128") == 0);
}

TEST_CASE("whole workgroups take whole blocks that fill half of the device", "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  facts.workgroup_matrices = {.granularities = {{{32, 16, 16}, 128}},
                              .tensor_addressing = true,
                              .per_element = true,
                              .max_dimension = 256,
                              .kernels = {DType::f16}};
  const auto first = [&](int64_t m, int64_t n, int64_t k) { return candidates(facts, m, n, k).front(); };
  facts.matrix_check = [](DType, std::string_view kernel) { return kernel != "matrix_workgroup128"; };
  CHECK(first(1024, 512, 1024) == "matrix_workgroup128_4");  // of cores that nobody counted, 64
  facts.cores = 128;
  CHECK(first(1024, 1024, 1024) == "matrix_workgroup128_4");
  CHECK(first(1024, 1024 + 64, 1024) == "matrix_workgroup128x64_4");
  CHECK(first(1024, 512, 1024) == "matrix_workgroup128x64_4");
  CHECK_FALSE(first(1024, 1024 + 8, 1024).starts_with("matrix_workgroup"));
  CHECK_FALSE(first(1024, 1024, 1024 + 8).starts_with("matrix_workgroup"));
  CHECK_FALSE(first(512, 512, 1024).starts_with("matrix_workgroup"));
}

TEST_CASE("a transposed operand A has blocks of its own", "[matrix_cores]") {
  const DeviceFacts facts = device_with_matrix_cores();
  Graph graph;
  matmul(graph, graph.input("a", {4096, 1024}, DType::f16), graph.input("b", {4096, 4096}, DType::f16),
         {.transpose_a = true});
  const Node& node = graph.nodes().front();
  CHECK(node.op->candidates(node, facts).front() == "matrix128x64");
}

TEST_CASE("matrix cores are tried when an f16 product first asks, and left alone when wrong", "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  int asked = 0;
  facts.matrix_check = [&](DType, std::string_view) { return ++asked, false; };
  candidates(facts, 1024, 1024, 1024, DType::f32, DType::f32);
  CHECK(asked == 0);
  CHECK_FALSE(offered(candidates(facts, 1024, 1024, 1024)));
  CHECK(asked > 0);
}

TEST_CASE("blocks that come out wrong are left alone, and the next best go first", "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  facts.matrix_check = [](DType, std::string_view kernel) { return kernel != "matrix128"; };
  const auto names = candidates(facts, 4096, 4096, 1024);
  CHECK(names.front() == "matrix128x64");
  CHECK(std::ranges::count(names, "matrix128") == 0);
  facts.matrix_check = [](DType, std::string_view kernel) { return kernel == "matrix64"; };
  CHECK(candidates(facts, 4096, 4096, 1024).front() == "matrix64");
}

TEST_CASE("attention has a check of its own", "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  facts.matrix_check = [](DType, std::string_view kernel) { return kernel != "attention"; };
  CHECK(offered(candidates(facts, 1024, 1024, 1024)));
  for (const bool backward : {false, true}) CHECK_FALSE(offered(attention_candidates_of(facts, 64, backward)));
}

TEST_CASE("a device is held to the products on matrix cores that another one offers", "[matrix_cores]") {
  DeviceFacts other = device_with_matrix_cores();
  other.matrix_shapes = {{16, 16, 16}, {8, 8, 16}};
  CHECK(device_with_matrix_cores().within(other).matrix_shapes == std::vector<MatrixShape>{{16, 16, 16}});
  other.matrix_shapes.clear();
  CHECK_FALSE(offered(candidates(device_with_matrix_cores().within(other), 1024, 1024, 1024)));
}

TEST_CASE("workgroups have no more subgroups than the device allows", "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  facts.max_workgroup_size = 1024;
  CHECK(facts.largest_group(512) == 512);
  facts.max_workgroup_subgroups = 14;
  CHECK(facts.largest_group(512) == 512);  // no size is asked for
  facts.max_subgroup_size = 64;
  CHECK(facts.largest_group(512) == 256);
  facts.max_workgroup_subgroups = 3;
  CHECK_FALSE(offered(candidates(facts, 1024, 1024, 1024)));
  CHECK_FALSE(offered(attention_candidates_of(facts, 64)));
}

TEST_CASE("each of the ranges of K that are summed side by side has some of it", "[matrix_cores]") {
  for (const DeviceKind kind : {DeviceKind::discrete, DeviceKind::cpu})
    for (const int64_t tiles : {1, 2, 5, 16, 63})
      for (int64_t k = 64; k < 9000; ++k) {
        const MatmulProblem p{.m = 64, .n = 64 * tiles, .k = k};
        const SplitRanges ranges = split_ranges(p, device_with_matrix_cores(kind), {.rows = 64, .columns = 64});
        const bool all = ranges.count >= 2 && ranges.length % 16 == 0 && (ranges.count - 1) * ranges.length < k &&
                         ranges.count * ranges.length >= k;
        if (!all) FAIL(k << " in " << ranges.count << " ranges of " << ranges.length << ", " << tiles << " tiles");
      }
}

TEST_CASE("K is cut into ranges only where workgroups are missing", "[matrix_cores]") {
  DeviceFacts facts = device_with_matrix_cores();
  const auto splits = [&](int64_t m, int64_t n, DType type) {
    return std::ranges::count_if(candidates(facts, m, n, 4096, type, type),
                                 [](std::string_view name) { return name.ends_with("64_split"); });
  };
  CHECK(splits(8 * 64, 16 * 64, DType::f16) == 2);
  CHECK(splits(8 * 64, 16 * 64, DType::f32) == 1);
  CHECK(splits(8 * 64, 16 * 64 + 1, DType::f16) == 0);
  CHECK(splits(4096, 151936, DType::f32) == 0);
}

TEST_CASE("the check of matrix cores tells right from wrong", "[matrix_cores]") {
  WrongBackend right(1), wrong(1.01), failing(0), badly_rounded(1.05, true);
  for (const DType type : {DType::f16, DType::bf16})
    CHECK(matrix_cores_fault(badly_rounded, type, "matrix64").find("a^T b, rounded is ") != std::string::npos);
  CHECK(matrix_cores_fault(right, DType::f16, "matrix64").empty());
  CHECK(matrix_cores_fault(wrong, DType::bf16, "matrix64").starts_with("element 0 of a product a b is "));
  CHECK(matrix_cores_fault(failing, DType::f16, "matrix64") == "vkCreateComputePipelines failed");
  CHECK(matrix_cores_fault(right, DType::f16, "matrix128").empty());
  CHECK(matrix_cores_fault(wrong, DType::f16, "matrix128").starts_with("element 0 of a product a b is "));
}

TEST_CASE("a device's matrix cores are tried on the device, for as long as it is open", "[matrix_cores][device]") {
  std::vector<std::string> notes;
  auto backend = make_backend("", {.as_gpu = true, .note = [&](const std::string& line) { notes.push_back(line); }});
  const DeviceFacts facts = backend->facts();
  REQUIRE(facts.matrix_check);
  const bool right = facts.matrix_check(DType::f16, "matrix64");
  CHECK(facts.matrix_check(DType::f16, "matrix64") == right);
  CHECK(notes.size() == (right ? 0 : 1));
  CHECK(facts.matrix_check(DType::f16, "matrix_workgroup128"));
  backend.reset();
  CHECK_FALSE(facts.matrix_check(DType::f16, "matrix64"));
}

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
std::vector<float> logits_of_prompts(Backend& backend, const Model& model, const DeviceFacts* device,
                                     int64_t rows = 1) {
  const GeneratorShape shape{.rows = rows, .capacity = 256, .left_padded = rows > 1};
  const GenerationPlan plan = plan_generation(model, shape, parameter_blocks(model.parameters, 1u << 30));
  const std::shared_ptr<Store> store = backend.make_store(plan.layout);
  write_constants(*store, model);
  initialize(*store, model.parameters, 7);
  const auto program = backend.compile(build_generation(model, plan.shape, 128, device), store);
  std::vector<int32_t> last, first(static_cast<size_t>(rows)), mask(static_cast<size_t>(rows) * 256, 1);
  for (int32_t r = 0; r < static_cast<int32_t>(rows); ++r) last.push_back(128 * r + 127);
  program->write("last", last);
  std::vector<float> logits;
  for (const int32_t position : {0, 128}) {
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
          "[matrix_cores]") {
  const DeviceFacts facts = device_with_matrix_cores();
  const auto reference = make_backend("reference");
  for (const DType weights : {DType::f16, DType::q8_0, DType::q4_0}) {
    const Model model = stored_as(weights, one_layer("llama"));
    const double difference =
        largest_difference(logits_of_prompts(*reference, model, nullptr), logits_of_prompts(*reference, model, &facts));
    CHECK(difference > 0);
    CHECK(difference < 2e-3);

    const auto casts = [&](int64_t positions, const DeviceFacts& device) {
      const Graph graph = build_generation(model, {.capacity = 64}, positions, &device);
      int64_t count = 0;
      for (const Node& node : graph.nodes()) {
        count += node.op->name == "cast";
        if (is_matmul(node) && is_half(node.input_types[0].dtype)) CHECK(offered(node.op->candidates(node, device)));
      }
      return count;
    };
    // Of the attention's queries and cache, and of weights where these are blocks: all other rows are written rounded.
    CHECK(casts(64, facts) == (is_blocks(weights) ? 6 : 2));
    CHECK(casts(1, facts) == 0);
    CHECK(casts(64, device_with_matrix_cores(DeviceKind::cpu)) == 0);
  }
}

TEST_CASE("a prompt's attention goes to matrix cores, by whatever rules keys are seen", "[matrix_cores]") {
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
  for (const nlohmann::json& config : {one_layer("llama"), shared_keys, window, caps, gpt2})
    for (const DType type : {DType::f16, DType::bf16})
      for (const int64_t rows : {1, 2}) {
        CAPTURE(config.dump(), name_of(type), rows);
        const Model model = stored_as(type, config);
        const Graph graph =
            build_generation(model, {.rows = rows, .capacity = 256, .left_padded = rows > 1}, 128, &facts);
        for (const Node& node : graph.nodes())
          if (is_attention(node)) CHECK(node.op->candidates(node, facts).front() == "matrix");
        const double difference = largest_difference(logits_of_prompts(*reference, model, nullptr, rows),
                                                     logits_of_prompts(*reference, model, &facts, rows));
        CHECK(difference > 0);
        CHECK(difference < (type == DType::f16 ? 2e-3 : 2e-2));
      }
}

TEST_CASE("a prompt's attention stays as it is where rounding the cache would cost more than it saves",
          "[matrix_cores]") {
  const DeviceFacts facts = device_with_matrix_cores();
  const auto type = [&](const char* key, const nlohmann::json& value, int64_t positions, int64_t capacity) {
    nlohmann::json config = one_layer("llama");
    if (*key) config[key] = value;
    const Graph graph = build_generation(stored_as(DType::f16, config), {.capacity = capacity}, positions, &facts);
    for (const Node& node : graph.nodes())
      if (is_attention(node)) return node.input_types[0].dtype;
    return DType::i32;
  };
  CHECK(type("", {}, 64, 64) == DType::f16);
  CHECK(type("", {}, 64, 256) == DType::f32);
  CHECK(type("num_key_value_heads", 1, 64, 256) == DType::f16);  // four heads have each key
  CHECK(type("", {}, 512, 4096) == DType::f16);
  CHECK(type("head_dim", 12, 64, 64) == DType::f32);
}

TEST_CASE("prompts on a device's matrix cores", "[matrix_cores][device]") {
  const auto backend = make_backend("", {.as_gpu = true, .note = [](const std::string&) {}});
  if (!backend->facts().has_matrix_cores(DType::f16)) return;
  nlohmann::json config = one_layer("mistral");
  config["sliding_window"] = 120;
  const Model model = stored_as(DType::q4_0, config);
  for (const int64_t rows : {1, 2}) {
    const auto right = logits_of_prompts(*make_backend("reference"), model, &backend->facts(), rows);
    CHECK(largest_difference(right, logits_of_prompts(*backend, model, &backend->facts(), rows)) < 1e-3);
  }
}
