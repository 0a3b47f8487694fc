// Models whose layers several devices share: who gets what, how graphs are cut, and that nothing else changes.

#include "runtime/split/split_backend.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "models/generation/prepared_search.h"
#include "models/training/trainer.h"
#include "runtime/split/layer_parts.h"
#include "runtime/split/stages.h"
#include "shaders/cache_write/cache_write.h"
#include "shaders/elementwise/elementwise.h"
#include "tests/file_helpers.h"
#include "tests/generator_helpers.h"
#include "tests/program_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

using Ids = std::vector<int32_t>;

StoreLayout layout_of(const std::vector<StoreLayout::Part>& parts) {
  StoreLayout layout;
  layout.add_block("parameters.0", parts, BlockMemory::weights);
  return layout;
}

/// Each is told to have layers.
std::unique_ptr<Backend> two_devices(const std::string& device) {
  const auto has_layers = [](const std::string& line) {
    INFO(line);
    CHECK(line.find("no layers") == line.npos);
  };
  return make_backend(device + ',' + device, {.shares = {1, 1}, .note_layers = has_layers});
}
std::unique_ptr<Backend> two_references() { return two_devices("reference"); }

/// What two beams and an answer of each make of prompts of unlike lengths.
std::vector<std::vector<Hypothesis>> written(Backend& backend, const std::string& name) {
  const Model model = model_of(fixture_config(name));
  GenerationConfig config{.max_new_tokens = 5, .num_beams = 2};
  config.decoder_start_token_id = 0;
  PreparedSearch prepared = prepare_search(model, config, {{5, 17, 3}, {9, 4, 11, 2, 6}});
  Generator generator(backend, model, prepared.shape);
  load_parameters(generator.store(), model.parameters, fixtures / name);
  run_search(generator, prepared);
  return prepared.search->results();
}

std::vector<float> logits(Backend& backend, const std::string& name) {
  LoadedGenerator loaded(backend, name, {.capacity = 16, .source_positions = 0});
  std::vector<float> all = loaded.generator.prefill(Ids{5, 17, 3, 9, 8});
  for (const int32_t token : {4, 11}) {
    const std::vector<float> next = loaded.generator.decode(token);
    all.insert(all.end(), next.begin(), next.end());
  }
  return all;
}

}  // namespace

TEST_CASE("the layer of a tensor is told by its name", "[split]") {
  CHECK(layer_name_of("model.layers.12.mlp.experts.3.up_proj.weight") == LayerName{"model.layers.", 12});
  CHECK(layer_name_of("cache.3") == LayerName{"cache.", 3});
  CHECK(layer_name_of("cache.3, row 0") == LayerName{"cache.", 3});
  CHECK_FALSE(layer_name_of("model.embed_tokens.weight"));
  CHECK_FALSE(layer_name_of("lm_head.2nd.weight"));
}

TEST_CASE("devices are told apart by commas outside parentheses", "[split]") {
  CHECK(devices_of("0,1") == std::vector<std::string>{"0", "1"});
  CHECK(devices_of("llvmpipe (LLVM 15, 256 bits),Arc") ==
        std::vector<std::string>{"llvmpipe (LLVM 15, 256 bits)", "Arc"});
  CHECK(devices_of("").size() == 1);
}

TEST_CASE("devices get layers by their shares", "[split]") {
  std::vector<StoreLayout::Part> parts{{"embed", {{4, 8}}}};
  for (int layer = 0; layer < 12; ++layer) {
    parts.push_back({fmt::format("layers.{}.w", layer), {{8, 8}}});
    parts.push_back({fmt::format("layers.{}.b", layer), {{8}}});
  }
  parts.push_back({"head", {{4, 8}}});
  parts.push_back({"norm", {{8}}});
  const StoreLayout layout = layout_of(parts);
  const LayerParts even(layout, std::vector<double>{1, 1}), third(layout, std::vector<double>{1, 2});
  CHECK(even.describe(0) == "layers.0 to 5");
  CHECK(even.describe(1) == "layers.6 to 11");
  CHECK(third.describe(0) == "layers.0 to 3");
  CHECK(third.of("embed") == 0);
  CHECK(third.of("head") == 1);
  CHECK(third.of("norm") == LayerParts::everywhere);
  CHECK(third.of("layers.4.b") == 1);
  CHECK(third.of("cache.3.key") == 0);
  CHECK(third.of("cache.4, row 1") == 1);
  CHECK(third.of("nobody's") == 0);
}

TEST_CASE("a graph is cut where its tensors' device changes", "[split]") {
  Graph graph;
  const Value x = graph.input("x", {8});
  const auto weights = [&](const char* name) { return graph.persistent(name, {8}); };
  const Value first = add(graph, scale(graph, x, 2), weights("a"));
  const Value second = scale(graph, add(graph, first, weights("b")), 3);
  graph.mark_output(second, "between");
  graph.mark_output(add(graph, add(graph, second, weights("a")), x), "y");
  const auto part_of = [](const std::string& name) { return name == "b" ? 1 : 0; };
  const std::vector<Stage> stages = cut_into_stages(graph, part_of);
  REQUIRE(stages.size() == 3);
  CHECK(stages[0].part == 0);
  CHECK(stages[1].part == 1);
  CHECK(stages[2].part == 0);
  CHECK(stages[0].graph.nodes().size() == 2);
  CHECK(stages[1].graph.has_output("between"));
  REQUIRE(stages[2].taken.size() == 1);
  CHECK(stages[2].taken[0].from == 1);
  CHECK(stages[2].graph.has_output("y"));

  const auto apart = [](const std::string& name) { return name == "x1" ? 1 : 0; };
  Graph mixed;
  add(mixed, mixed.persistent("x0", {8}), mixed.persistent("x1", {8}));
  mixed.mark_output(Value{2}, "y");
  CHECK_THAT(error_of([&] { cut_into_stages(mixed, apart); }), ContainsSubstring("'x0' and 'x1'"));
}

TEST_CASE("a model that two devices share writes what it writes on one", "[split]") {
  // Tied and untied heads, windows, experts, states, latent rows, caches that layers share, an encoder beside.
  for (const char* name : {"gpt2", "gemma3", "qwen3_moe", "nemotron_h", "deepseek_v3", "gemma4_small", "t5", "bart"}) {
    INFO(name);
    const auto one = make_reference_backend(), two = two_references();
    const auto expected = written(*one, name), shared = written(*two, name);
    REQUIRE(shared.size() == expected.size());
    for (size_t i = 0; i < shared.size(); ++i) CHECK(shared[i][0].ids == expected[i][0].ids);
    if (std::string_view(name) != "t5" && std::string_view(name) != "bart")
      CHECK(largest_difference(logits(*two, name), logits(*one, name)) < 1e-5);
  }
}

TEST_CASE("plans and weights in host memory are cut as programs are", "[split]") {
  const auto two = two_references();
  for (const char* name : {"nemotron_h", "gemma4_small", "gpt2"}) {
    INFO(name);
    Model model = model_of(fixture_config(name));
    const auto by_name = [](const ParameterSpec& parameter) { return parameter.name == "transformer.wpe.weight"; };
    if (const auto table = std::ranges::find_if(model.parameters, by_name); table != model.parameters.end())
      table->in_host = true;  // its block stands behind all layers
    Generator generator(*two, model, {.capacity = 16});
    CHECK_NOTHROW(generator.prepare(4));
    const GenerationPlan plan = plan_generation(model, {.capacity = 16}, generator.store().layout());
    CHECK(two->plan(build_generation(model, plan.shape, 1), generator.store().layout()).arena_blocks.size() == 2);
  }
}

TEST_CASE("caches are read where they are", "[split]") {
  Graph graph;
  const Value cache = graph.persistent("cache.0", {1, 4, 8}, Role::cache);
  const Value filled =
      cache_write(graph, cache, {graph.input("x", {1, 1, 8}), 0}, graph.input("position", {1}, DType::i32));
  const Value middle = add(graph, scale(graph, filled, 2), graph.persistent("b", {1, 4, 8}));
  graph.mark_output(add(graph, filled, middle), "y");
  const std::vector<Stage> stages = cut_into_stages(graph, [](const std::string& name) { return name == "b" ? 1 : 0; });
  REQUIRE(stages.size() == 3);
  CHECK(stages[2].taken.size() == 1);  // the sum, not the cache
  CHECK(stages[2].graph.persistents().size() == 1);
}

TEST_CASE("on a Vulkan device a cut changes no bit", "[split][device][one_driver]") {
  const auto one = make_backend(""), two = two_devices(one->facts().name);
  CHECK(logits(*two, "gpt2") == logits(*one, "gpt2"));
}

TEST_CASE("what several devices can't do is refused", "[split]") {
  CHECK_THAT(error_of([] { make_backend("reference,reference", {.shares = {1}}); }), ContainsSubstring("1 shares"));
  CHECK_THAT(error_of([] { make_backend("reference,", {}); }), ContainsSubstring("between its commas"));
  CHECK_THAT(error_of([] { make_backend("reference,reference", {.profile = true}); }), ContainsSubstring("profile"));
  const auto two = two_references();
  const Model model = model_of(fixture_config("gpt2"));
  CHECK_THAT(error_of([&] { Trainer(*two, model, {}, {.rows = 1, .positions = 4}); }),
             ContainsSubstring("takes one device"));
  CHECK_FALSE(two->joins_programs());
}
